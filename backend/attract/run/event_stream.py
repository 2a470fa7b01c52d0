"""A run's events as one page gets them: a few writes a second, metrics as arrays, the fleet as changes."""

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

from attract.run.events import EventHub, format_event
from attract.run.fleet_changes import fleet_changes
from attract.runs.metrics import Event
from attract.schema.metrics import MetricNames

KEEP_ALIVE_SECONDS = 15.0
RECHECK_SECONDS = 60.0
"""How often it is asked whether who listens still may; a silent stream asks up to one keep-alive later."""
GATHER_SECONDS = 0.25
"""Time between two writes at least: a page draws no more often."""
NEWEST_ONLY = frozenset({"status", "policy", "lesson"})
"""Kinds whose newest event says all that those before it said."""


class EventPacker:
    """Packs what one page is to hear into few events; owned by its stream.

    Metrics are rows of numbers; their names are sent before them. The fleet is sent whole at first, then as
    changes. Of `status`, `policy` and `lesson` only the newest is sent.
    """

    def __init__(self) -> None:
        self._columns: dict[str, int] = {}
        """Metric name to its place in a row, in the order in which they were sent."""
        self._num_sent = 0
        self._fleet: dict[str, Any] | None = None
        """As the page knows it."""
        self._waiting: list[Event] = []

    def add(self, event: Event) -> None:
        """Take an event for the next `pack`."""
        self._waiting.append(event)

    def pack(self) -> str:
        """Everything added since the last call, as text/event-stream; empty: nothing changed.

        The last event has the newest id. A page that is cut off in the middle gets all of it again.
        """
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return ""
        newest = {event.kind: event for event in waiting}
        metrics = [json.loads(event.data) for event in waiting if event.kind == "metrics"]
        packed = [
            *self._packed_metrics(metrics),
            *self._packed_fleet(newest.get("fleet")),
            *(event for event in waiting if _is_sent_as_it_is(event, newest)),
        ]
        last_id = max(event.id for event in waiting)
        texts = [Event(0, event.kind, event.data) for event in packed]
        if texts:
            texts[-1] = Event(last_id, texts[-1].kind, texts[-1].data)
        return "".join(format_event(event) for event in texts)

    def _packed_metrics(self, rows: list[dict[str, Any]]) -> Iterable[Event]:
        if not rows:
            return
        for row in rows:
            for name in row["values"]:
                self._columns.setdefault(name, len(self._columns))
        if len(self._columns) > self._num_sent:
            self._num_sent = len(self._columns)
            yield Event(0, "metric_names", MetricNames(names=list(self._columns)).model_dump_json())
        yield Event(0, "metrics", f'{{"rows":[{",".join(self._row_text(row) for row in rows)}]}}')

    def _row_text(self, row: dict[str, Any]) -> str:
        values = ["null"] * len(self._columns)
        for name, value in row["values"].items():
            if value is not None and math.isfinite(value):
                values[self._columns[name]] = f"{value:.6g}"
        while values and values[-1] == "null":
            values.pop()
        head = (str(row["update"]), str(row["agent_steps"]), f"{row['seconds']:.10g}")
        return f"[{','.join((*head, *values))}]"

    def _packed_fleet(self, event: Event | None) -> Iterable[Event]:
        if event is None:
            return
        before, now = self._fleet, json.loads(event.data)
        self._fleet = now
        changes = None if before is None else fleet_changes(before, now)
        if changes is None:
            yield event
        elif changes.totals or changes.hosts or changes.gone:
            yield Event(0, "fleet_changes", changes.model_dump_json())


def _is_sent_as_it_is(event: Event, newest: dict[str, Event]) -> bool:
    if event.kind in NEWEST_ONLY:
        return event is newest[event.kind]
    return event.kind not in ("metrics", "fleet")


async def stream_events(
    hub: EventHub,
    run_id: str,
    first: Callable[[], Event],
    missed: Callable[[], list[Event]],
    entry: str | None = None,
    is_granted: Callable[[], bool] = lambda: True,
) -> AsyncGenerator[str]:
    """First what was missed and where the run stands, then what happens; comments keep it open.

    `first` and `missed` are asked once the hub listens, so that nothing falls between them. `entry`: id of
    the session that listens; the stream ends with it. `is_granted`: whether the listener may still
    listen; checked about every minute, since a session can expire or be ended by another server unnoticed.
    """
    loop = asyncio.get_running_loop()
    asked = loop.time()
    packer = EventPacker()
    with hub.listen(run_id, entry) as listening:
        # A past run's database is read: not on the event loop.
        now = await asyncio.to_thread(first)
        yield "retry: 1000\n\n"
        # What happened since `first` waits in the hub too.
        for event in (*(event for event in await asyncio.to_thread(missed) if event.id <= now.id), now):
            packer.add(event)
        written = loop.time()
        yield packer.pack()
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
            while event is not None:
                if event.id == 0 or event.id > now.id:
                    packer.add(event)
                try:
                    event = await listening.next(written + GATHER_SECONDS - loop.time())
                except TimeoutError:
                    break
            if text := packer.pack():
                written = loop.time()
                yield text
            if event is None:
                return
