"""Server-sent events of a run: kept in its database so that a page that was away hears what it missed."""

import asyncio
from dataclasses import dataclass

from attract.run.effects import Kind
from attract.runs.metrics import Event
from attract.schema.base import WireModel

MAX_WAITING = 500
"""Events that wait for one slow page; more, and it is cut off to come back with `Last-Event-ID`."""


@dataclass(frozen=True, eq=False)
class _Listener:
    run_id: str
    entry: str | None
    queue: asyncio.Queue[Event | None]

    def end(self) -> None:
        """Nothing more comes, whatever waits."""
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(None)


class EventHub:
    """Hands events to every page that listens; owned by the run service, used on the event loop alone."""

    def __init__(self) -> None:
        self._listeners: set[_Listener] = set()
        self._is_closed = False

    def publish(self, run_id: str, event: Event) -> None:
        """Give `event` to all who listen to the run. Id 0: of the moment, never asked for again."""
        for listener in list(self._listeners):
            if listener.run_id != run_id:
                continue
            if listener.queue.full():
                self._end(listener)
            else:
                listener.queue.put_nowait(event)

    def listen(self, run_id: str, entry: str | None = None) -> "Listening":
        """From now on, every event of the run; `entry`: id of the session that listens."""
        listener = _Listener(run_id, entry, asyncio.Queue(MAX_WAITING))
        if self._is_closed:
            listener.end()
        return Listening(self._listeners, listener)

    def end_entry(self, entry: str) -> None:
        """End the streams of a session that is ended."""
        for listener in list(self._listeners):
            if listener.entry == entry:
                self._end(listener)

    def close(self) -> None:
        """End every stream, and each that is opened later, so that shutting down waits for none.

        A page whose stream ended asks for another within a second, while the server still takes requests.
        """
        self._is_closed = True
        for listener in list(self._listeners):
            self._end(listener)

    def _end(self, listener: _Listener) -> None:
        self._listeners.discard(listener)
        listener.end()


class Listening:
    """One page's place in the hub; a context manager."""

    def __init__(self, listeners: set[_Listener], listener: _Listener) -> None:
        self._listeners = listeners
        self._listener = listener

    def __enter__(self) -> "Listening":
        self._listeners.add(self._listener)
        return self

    def __exit__(self, *_exception: object) -> None:
        self._listeners.discard(self._listener)

    async def next(self, seconds: float) -> Event | None:
        """The next event; None at the end of the stream.

        Raises: TimeoutError: when there was none for that long.
        """
        async with asyncio.timeout(seconds):
            return await self._listener.queue.get()


def format_event(event: Event) -> str:
    """One event as text/event-stream."""
    lines = "".join(f"data: {line}\n" for line in event.data.splitlines() or [""])
    number = f"id: {event.id}\n" if event.id else ""
    return f"{number}event: {event.kind}\n{lines}\n"


def event_of(kind: Kind, body: WireModel, event_id: int = 0) -> Event:
    """An event that is not kept."""
    return Event(event_id, kind, body.model_dump_json())
