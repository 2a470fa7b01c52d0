import asyncio
import json
from pathlib import Path

import pytest

from attract.run import events
from attract.run.events import EventHub, format_event, stream_events
from attract.runs.metrics import Event, MetricsStore


async def take(stream: object, count: int) -> list[str]:
    return [await anext(stream) for _ in range(count)]  # type: ignore[call-overload]


def test_an_event_is_written_as_the_standard_says():
    assert format_event(Event(7, "status", '{"a":1}')) == 'id: 7\nevent: status\ndata: {"a":1}\n\n'
    assert format_event(Event(0, "fleet", "x\ny")) == "event: fleet\ndata: x\ndata: y\n\n"


async def test_a_page_that_was_away_hears_what_it_missed_and_then_what_happens(tmp_path: Path):
    store, hub = MetricsStore(tmp_path / "metrics.db"), EventHub()
    kept = [store.add_event("metrics", json.dumps(n)) for n in range(4)]

    def first() -> Event:
        return Event(store.last_event_id(), "status", '"now"')

    stream = stream_events(hub, "r", first, lambda: store.events_after(kept[1].id))
    texts = await take(stream, 4)
    assert texts[0] == "retry: 1000\n\n"
    assert [text.splitlines()[0] for text in texts[1:]] == ["id: 3", "id: 4", "id: 4"]
    assert 'data: "now"' in texts[3]
    hub.publish("r", kept[3])  # told of before the page listened: not again
    hub.publish("other", Event(9, "metrics", "other"))
    hub.publish("r", Event(0, "fleet", "{}"))
    hub.publish("r", store.add_event("metrics", "4"))
    assert [text.splitlines()[0] for text in await take(stream, 2)] == ["event: fleet", "id: 5"]
    await stream.aclose()  # type: ignore[attr-defined]
    store.close()


async def test_a_page_that_does_not_read_is_cut_off_to_come_back_later():
    hub = EventHub()
    with hub.listen("r") as listening:
        for number in range(events.MAX_WAITING + 1):
            hub.publish("r", Event(number + 1, "metrics", "{}"))
        taken = [await listening.next(1.0) for _ in range(events.MAX_WAITING)]
    assert taken[-1] is None
    assert [event.id for event in taken[:-1] if event is not None] == list(range(2, events.MAX_WAITING + 1))


async def test_closing_the_hub_ends_every_stream():
    hub = EventHub()
    stream = stream_events(hub, "r", lambda: Event(0, "status", "{}"), list)
    await take(stream, 2)
    hub.close()
    assert [text async for text in stream] == []


async def test_a_stream_opened_after_the_hub_was_closed_ends_at_once():
    hub = EventHub()
    hub.close()
    stream = stream_events(hub, "r", lambda: Event(1, "status", "{}"), list)
    async with asyncio.timeout(5):
        texts = [text async for text in stream]
    assert [text.splitlines()[0] for text in texts] == ["retry: 1000", "id: 1"]


async def test_a_stream_ends_when_who_listens_may_no_longer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "RECHECK_SECONDS", 0.0)
    hub, answers = EventHub(), [True, True, False]
    stream = stream_events(
        hub, "r", lambda: Event(0, "status", "{}"), list, is_granted=lambda: answers.pop(0)
    )
    await take(stream, 2)
    for _ in range(3):
        hub.publish("r", Event(0, "fleet", "{}"))
    # A run that is busy never falls silent: it is asked between its events.
    assert len([text async for text in stream]) == 2
