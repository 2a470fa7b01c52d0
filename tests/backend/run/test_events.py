"""Events of a run as pages hear them."""

import asyncio
import json
import random
import zlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import StreamingResponse

from attract.run import event_stream, events
from attract.run.event_stream import GATHER_SECONDS, EventPacker, stream_events
from attract.run.events import EventHub, format_event
from attract.runs.metrics import Event, MetricsStore
from attract.server.compression import CompressionMiddleware


def test_an_event_is_written_as_the_standard_says():
    assert format_event(Event(7, "status", '{"a":1}')) == 'id: 7\nevent: status\ndata: {"a":1}\n\n'
    assert format_event(Event(0, "fleet", "x\ny")) == "event: fleet\ndata: x\ndata: y\n\n"


async def test_a_page_that_does_not_read_is_cut_off_to_come_back_later():
    hub = EventHub()
    with hub.listen("r") as listening:
        for number in range(events.MAX_WAITING + 1):
            hub.publish("r", Event(number + 1, "metrics", "{}"))
        taken = [await listening.next(1.0) for _ in range(events.MAX_WAITING)]
    assert taken[-1] is None
    assert [event.id for event in taken[:-1] if event is not None] == list(range(2, events.MAX_WAITING + 1))


RECORDED_ROW: dict[str, Any] = json.loads(Path(__file__).with_name("recorded_row.json").read_text())
"""One update of a training of Lander, as the server keeps it."""
UPDATES_PER_SECOND = 6
MAX_BYTES = 150_000_000


async def take(stream: AsyncGenerator[str], count: int) -> list[str]:
    return [await anext(stream) for _ in range(count)]


def row(update: int, values: Mapping[str, float | None], event_id: int = 0) -> Event:
    body = {"update": update, "agent_steps": 10 * update, "seconds": update / 4, "values": values}
    return Event(event_id, "metrics", json.dumps(body))


def parsed(text: str) -> list[tuple[int, str, Any]]:
    """Id, kind and body of each event; id 0: it has none."""
    found: list[tuple[int, str, Any]] = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in fields:
            found.append((int(fields.get("id", 0)), fields["event"], json.loads(fields["data"])))
    return found


def packed(packer: EventPacker, *events: Event) -> list[tuple[int, str, Any]]:
    for event in events:
        packer.add(event)
    return parsed(packer.pack())


def test_rows_of_one_write_are_one_event_under_names_that_go_once():
    packer = EventPacker()
    first = packed(packer, row(1, {"a": 1.5, "b": 2.0}, 7), row(2, {"b": 3.0, "a": 0.123456789}, 8))
    assert first == [
        (0, "metric_names", {"names": ["a", "b"]}),
        (8, "metrics", {"rows": [[1, 10, 0.25, 1.5, 2], [2, 20, 0.5, 0.123457, 3]]}),
    ]
    assert packed(packer, row(3, {"a": 1e-9, "b": 1.0}, 9)) == [
        (9, "metrics", {"rows": [[3, 30, 0.75, 1e-9, 1]]})
    ]


def test_a_new_metric_changes_the_names_and_no_column_moves():
    packer = EventPacker()
    packed(packer, row(1, {"a": 1.0, "b": 2.0}))
    assert packed(packer, row(2, {"b": 5.0}), row(3, {"b": None, "c": float("inf"), "a": 4.0})) == [
        (0, "metric_names", {"names": ["a", "b", "c"]}),
        (0, "metrics", {"rows": [[2, 20, 0.5, None, 5], [3, 30, 0.75, 4]]}),
    ]


def test_every_digit_of_steps_and_the_milliseconds_of_a_long_run_arrive():
    body = {"update": 9_999_999, "agent_steps": 2**53 - 1, "seconds": 604_800.123, "values": {}}
    (_, (_, _, sent)) = [(0, (0, "", {})), *packed(EventPacker(), Event(0, "metrics", json.dumps(body)))]
    assert sent == {"rows": [[9_999_999, 2**53 - 1, 604_800.123]]}


def test_only_the_newest_of_what_replaces_itself_is_sent_and_everything_else_in_order():
    kinds = ("policy", "report", "status", "policy", "report", "log", "status", "lesson")
    events = [Event(number + 1, kind, str(number)) for number, kind in enumerate(kinds)]
    assert packed(EventPacker(), *events) == [
        (0, "report", 1),
        (0, "policy", 3),
        (0, "report", 4),
        (0, "log", 5),
        (0, "status", 6),
        (8, "lesson", 7),
    ]


def test_who_is_cut_off_amid_a_write_gets_all_of_it_again():
    # Ids in order of the kinds, not of the writes: the newest stands last, the others have none.
    events = [Event(5, "report", "1"), row(1, {"a": 1.0}, 6), Event(0, "log", "2")]
    assert [event_id for event_id, _, _ in packed(EventPacker(), *events)] == [0, 0, 0, 6]


def test_a_fleet_is_sent_whole_then_as_changes_and_not_at_all_where_nothing_changed():
    def fleet(speed: float, seen: float) -> Event:
        worker = {"worker_index": 0, "worker_id": 3, "episodes": 4, "last_seen_seconds": seen}
        host = {"host_id": "h", "hidden": False, "workers": [worker]}
        return Event(0, "fleet", json.dumps({"steps_per_second": speed, "hosts": [host]}))

    packer = EventPacker()
    assert [kind for _, kind, _ in packed(packer, fleet(1.0, 0.1))] == ["fleet"]
    assert packed(packer, fleet(1.0, 0.2)) == []
    # Two of one write: the newer counts.
    assert packed(packer, fleet(5.0, 0.3), fleet(2.0, 0.4)) == [
        (0, "fleet_changes", {"totals": {"steps_per_second": 2.0}, "hosts": [], "gone": []})
    ]
    # Whoever comes later knows nothing yet.
    assert [kind for _, kind, _ in packed(EventPacker(), fleet(2.0, 0.5))] == ["fleet"]


async def test_a_page_that_was_away_gets_what_it_missed_and_then_what_happens(tmp_path: Path):
    store, hub = MetricsStore(tmp_path / "metrics.db"), EventHub()
    kept = [store.add_event("report", json.dumps(n)) for n in range(4)]

    def first() -> Event:
        return Event(store.last_event_id(), "status", '"now"')

    stream = stream_events(hub, "r", first, lambda: store.events_after(kept[1].id))
    texts = await take(stream, 2)
    assert texts[0] == "retry: 1000\n\n"
    assert parsed(texts[1]) == [(0, "report", 2), (0, "report", 3), (4, "status", "now")]
    hub.publish("r", kept[3])  # told of before the page listened: not again
    hub.publish("other", Event(9, "report", "8"))
    hub.publish("r", Event(0, "log", "5"))
    hub.publish("r", store.add_event("report", "4"))
    assert parsed((await take(stream, 1))[0]) == [(0, "log", 5), (5, "report", 4)]
    await stream.aclose()
    store.close()


async def test_what_happens_while_a_page_comes_back_is_sent_once():
    hub, kept = EventHub(), [row(1, {"a": 1.0}, 1)]
    stream = stream_events(hub, "r", lambda: Event(1, "status", "{}"), lambda: list(kept))
    assert await take(stream, 1) == ["retry: 1000\n\n"]
    # The page reads slowly: it has asked where the run stands, not yet what it missed.
    kept.append(row(2, {"a": 2.0}, 2))
    hub.publish("r", kept[-1])
    events = [event for text in await take(stream, 2) for event in parsed(text)]
    rows = [values for _, kind, body in events if kind == "metrics" for values in body["rows"]]
    assert [values[0] for values in rows] == [1, 2]
    assert events[-1][0] == 2
    await stream.aclose()


async def test_a_busy_run_writes_four_times_a_second_and_loses_no_row():
    hub = EventHub()
    stream = stream_events(hub, "r", lambda: Event(0, "status", "{}"), list)
    await take(stream, 2)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    rows: list[int] = []
    writes = published = 0

    async def publish() -> None:
        nonlocal published
        while True:
            published += 1
            hub.publish("r", row(published, {"a": 1.0}))
            await asyncio.sleep(0.01)

    publishing = asyncio.create_task(publish())
    while writes < 5:
        (text,) = await take(stream, 1)
        writes += 1
        rows += [body[0] for _, kind, event in parsed(text) if kind == "metrics" for body in event["rows"]]
    assert loop.time() - begun >= 5 * GATHER_SECONDS * 0.95
    assert rows == list(range(1, len(rows) + 1))
    assert len(rows) > 10
    publishing.cancel()
    await stream.aclose()


async def test_an_event_of_a_quiet_run_does_not_wait():
    hub = EventHub()
    stream = stream_events(hub, "r", lambda: Event(0, "status", "{}"), list)
    await take(stream, 2)
    await asyncio.sleep(GATHER_SECONDS)
    hub.publish("r", Event(0, "log", "1"))
    begun = asyncio.get_running_loop().time()
    await take(stream, 1)
    assert asyncio.get_running_loop().time() - begun < GATHER_SECONDS / 2
    await stream.aclose()


async def test_closing_the_hub_ends_every_stream_after_what_waits():
    hub = EventHub()
    stream = stream_events(hub, "r", lambda: Event(0, "status", "{}"), list)
    await take(stream, 2)
    hub.publish("r", Event(0, "log", "1"))
    hub.close()
    assert [parsed(text) async for text in stream] == [[(0, "log", 1)]]


async def test_a_stream_opened_after_the_hub_was_closed_ends_at_once():
    hub = EventHub()
    hub.close()
    stream = stream_events(hub, "r", lambda: Event(1, "status", "{}"), list)
    async with asyncio.timeout(5):
        texts = [text async for text in stream]
    assert [text.splitlines()[0] for text in texts] == ["retry: 1000", "id: 1"]


async def test_a_stream_ends_when_who_listens_may_no_longer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(event_stream, "RECHECK_SECONDS", 0.0)
    hub, answers = EventHub(), [True, True, False]
    stream = stream_events(
        hub, "r", lambda: Event(0, "status", "{}"), list, is_granted=lambda: answers.pop(0)
    )
    await take(stream, 2)
    # A run that is busy never falls silent: it is asked between its events.
    for _ in range(2):
        hub.publish("r", Event(0, "log", "1"))
        await take(stream, 1)
    hub.publish("r", Event(0, "log", "1"))
    assert [text async for text in stream] == []


async def _recorded_stream(seconds: int, seed: int) -> AsyncGenerator[str]:
    """What a page is sent in that time: a recorded row again and again, every digit drawn anew."""
    rng, packer, update = random.Random(seed), EventPacker(), 0
    for quarter in range(4 * seconds):
        while update * 4 < quarter * UPDATES_PER_SECOND:
            update += 1
            values = {name: value * rng.uniform(0.9, 1.1) for name, value in RECORDED_ROW["values"].items()}
            body = {
                "update": 100_000 + update,
                "agent_steps": 4096 * (100_000 + update),
                "seconds": 20_000 + update / UPDATES_PER_SECOND + rng.uniform(0, 0.1),
                "values": values,
            }
            packer.add(Event(2 * update, "metrics", json.dumps(body)))
            url = f"api/runs/lander-20261127-001122-abcd/policy/{100_000 + update}.onnx"
            policy = {"policy_version": update, "agent_steps": body["agent_steps"], "urls": {"main": url}}
            packer.add(Event(2 * update + 1, "policy", json.dumps(policy)))
        if quarter % 4 == 0:
            packer.add(Event(0, "fleet", json.dumps(_playing_fleet(2, update, rng))))
        yield packer.pack()


def _playing_fleet(num_workers: int, update: int, rng: random.Random) -> dict[str, Any]:
    workers = [
        {
            "worker_id": index,
            "host_id": "0123456789abcdef",
            "worker_index": index,
            "state": "playing",
            "num_instances": 32,
            "lease_id": 2 * update + index,
            "policy_version": update,
            "steps_per_second": rng.uniform(9_000, 11_000),
            "collected_steps": 4096 * update,
            "episodes": 7 * update,
            "last_seen_seconds": rng.uniform(0, 0.5),
            "identity": f"0123456789abcdef@127.0.0.1/{index}",
            "left_out": None,
            "deflates": False,
        }
        for index in range(num_workers)
    ]
    host = {"host_id": "0123456789abcdef", "tier": "local", "hidden": False, "workers": workers}
    return {"hosts": [host], "steps_per_second": rng.uniform(18_000, 22_000), "leases_open": 2}


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_twelve_hours_of_a_fast_run_are_at_most_150_megabytes(encoding: str):
    seconds = 300
    response = StreamingResponse(_recorded_stream(seconds, 1), media_type="text/event-stream")
    transport = httpx.ASGITransport(CompressionMiddleware(response))
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://here") as client,
        client.stream("GET", "/", headers={"accept-encoding": encoding}) as answer,
    ):
        sent = b"".join([part async for part in answer.aiter_raw()])
    text = zlib.decompress(sent, 16 + zlib.MAX_WBITS) if encoding == "gzip" else sent
    rows = [row for _, kind, body in parsed(text.decode()) if kind == "metrics" for row in body["rows"]]
    assert len(rows) == UPDATES_PER_SECOND * seconds - UPDATES_PER_SECOND // 4
    assert {len(row) for row in rows} == {3 + len(RECORDED_ROW["values"])}
    total = len(sent) * 12 * 3600 / seconds
    print(f"{encoding}: {total / 1e6:.0f} MB in 12 hours, {len(sent) / len(rows):.0f} bytes an update")
    if encoding == "gzip":
        assert total <= MAX_BYTES
