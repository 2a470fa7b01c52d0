"""Server-sent events of a run: kept in its database so that a page that was away hears what it missed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from attract.run.effects import Kind
from attract.runs.metrics import Event
from attract.schema.base import WireModel

KEEP_ALIVE_SECONDS = 15.0
RECHECK_SECONDS = 60.0
"""How often it is asked whether who listens still may; a silent stream asks up to one keep-alive later."""
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


async def stream_events(
    hub: EventHub,
    run_id: str,
    first: Callable[[], Event],
    missed: Callable[[], list[Event]],
    entry: str | None = None,
    is_granted: Callable[[], bool] = lambda: True,
) -> AsyncIterator[str]:
    """First where the run stands, then what was missed, then what happens; comments keep it open.

    `first` and `missed` are asked once the hub listens, so that nothing falls between them. `entry`: id of
    the session that listens; the stream ends with it. `is_granted`: whether the listener may still
    listen; checked about every minute, since a session can expire or be ended by another server unnoticed.
    """
    loop = asyncio.get_running_loop()
    asked = loop.time()
    with hub.listen(run_id, entry) as listening:
        now = first()
        yield "retry: 1000\n\n"
        for event in missed():
            yield format_event(event)
        yield format_event(now)
        while True:
            if loop.time() - asked >= RECHECK_SECONDS:
                asked = loop.time()
                if not is_granted():
                    return
            try:
                event = await listening.next(KEEP_ALIVE_SECONDS)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if event is None:
                return
            if event.id == 0 or event.id > now.id:
                yield format_event(event)


def event_of(kind: Kind, body: WireModel, event_id: int = 0) -> Event:
    """An event that is not kept."""
    return Event(event_id, kind, body.model_dump_json())
