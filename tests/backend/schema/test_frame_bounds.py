"""What a frame holds is counted before it is parsed; every message of ours stays far below the limits."""

import time
import tracemalloc
from typing import Any

import ormsgpack
import pytest

from attract.errors import ProtocolError
from attract.schema.frames import (
    MAX_CONTAINERS,
    MAX_ITEMS,
    MAX_NAMES,
    check_names,
    check_size,
    decode_from_browser,
)
from attract.schema.messages import FROM_BROWSER

EPISODE = {
    "instance_id": 8191,
    "episode": 70_000,
    "step": 0,
    "returns": [0.5],
    "length_steps": 1000,
    "length_ticks": 4000,
    "end_reason": "terminated",
    "metrics": {f"metric {i}": 0.5 for i in range(10)},
    "reward_terms": {},
    "lesson_id": None,
}


def names(count: int, value: Any = 0) -> dict[str, Any]:
    return {f"{i:x}": value for i in range(count)}


@pytest.mark.parametrize(
    ("held", "says"),
    [
        (names(500_000), "a map of 500000 names"),
        ({"metrics": [names(MAX_NAMES + 1)]}, "a map of 1025 names"),
        ([[]] * (MAX_ITEMS + 1), "524289 names and items"),
        ([[0] * 1000] * 600, "names and items"),
        ([{"a": 1.5, "b": None, "text": "x" * 40, "data": b"y" * 300}] * 65_000, "names and items"),
        ([[]] * MAX_CONTAINERS, "65537 maps and lists"),
    ],
)
def test_too_many_names_items_maps_and_lists_are_refused(held: Any, says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as caught:
        check_size(ormsgpack.packb(held))
    assert (caught.value.code, caught.value.close_code) == ("malformed", 4005)


@pytest.mark.parametrize("value", [0, -1, 200, -200, 70_000, 1 << 40, -(1 << 40), 1.5, None, True, "x" * 31])
def test_values_of_every_size_are_counted_past(value: Any) -> None:
    check_size(ormsgpack.packb([value] * 500 + [names(MAX_NAMES)]))
    with pytest.raises(ProtocolError, match="a map of 1025 names"):
        check_size(ormsgpack.packb([value] * 500 + [names(MAX_NAMES + 1)]))


@pytest.mark.parametrize("length", [32, 255, 256, 70_000])
def test_what_long_strings_and_bytes_hold_is_not_taken_for_names(length: int) -> None:
    inside = b"\xdf\xff\xff\xff\xff" * (length // 5 + 1)  # a map of 2^32 - 1 names, were it one
    check_size(ormsgpack.packb([inside[:length], "\u07ff" * (length // 2), {"a": 1}]))
    with pytest.raises(ProtocolError, match="a map of 1025 names"):
        check_size(ormsgpack.packb([inside[:length], "é" * (length // 2), names(MAX_NAMES + 1)]))


def test_thousands_of_games_may_end_at_once() -> None:
    check_size(ormsgpack.packb({"type": "observe", "outcome": {"episodes": [EPISODE] * 8192}}))


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_a_frame_that_breaks_off_is_left_to_the_parser(cut: int) -> None:
    check_size(ormsgpack.packb({"a": [b"x" * 300, names(20)]})[:-cut])
    check_size(b"\xdf\x00")
    check_size(b"\xc1" * 10)


def test_names_are_counted_in_nested_maps_and_not_in_lists() -> None:
    check_names(
        {
            "a": {"b": names(MAX_NAMES - 2)},
        }
    )
    check_names({"a": [names(MAX_NAMES)] * 5})
    for nested in ({"a": {"b": names(MAX_NAMES - 1)}}, names(600, {}) | {"b": names(600)}):
        with pytest.raises(ProtocolError, match="more than 1024 names"):
            check_names(nested)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "block", "packed": names(500_000)},
        {"type": "block", "episodes": {"metrics": names(500_000)}},
        {"type": "block", "observation": {name: names(1000) for name in names(500)}},
        {"type": "block", "observation": {name: names(1) for name in names(1000)}},
        {"type": "block", "observation": names(1000, {})},
        {"type": "evaluation_result", "episodes": [names(1000)] * 130},
        {"type": "observe", "outcome": {"episodes": [names(1000)] * 130}},
        {"type": "game_described", "description": {"keys": names(500, [{}] * 200)}},
        {"type": "game_checked", "findings": [names(600)] * 200},
    ],
)
def test_a_frame_of_names_costs_little_time_and_memory(message: dict[str, Any]) -> None:
    frame = ormsgpack.packb(message)
    tracemalloc.start()
    try:
        before = time.process_time()
        with pytest.raises(ProtocolError):
            decode_from_browser(frame)
        seconds = time.process_time() - before
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 32 * 2**20
    assert seconds < 1.0, "seconds of the frames that this was found with, without tracing: 2 to 5"


def test_every_list_stops_at_its_first_problem() -> None:
    endless: list[str] = []
    looked_at: set[int] = set()

    def look(schema: Any, path: str) -> None:
        if isinstance(schema, dict):
            if id(schema) in looked_at:
                return
            looked_at.add(id(schema))
            if schema.get("type") == "list":
                items = schema.get("items_schema", {}).get("type", "any")
                is_short = schema.get("max_length", 1 << 30) <= 256 and items in ("int", "float")
                if not schema.get("fail_fast") and not is_short:
                    endless.append(path)
            for key, value in schema.items():
                look(value, f"{path}.{schema.get('schema_ref', schema.get('cls', key))}.{key}")
        elif isinstance(schema, list | tuple):
            for item in schema:
                look(item, path)

    look(FROM_BROWSER.core_schema, "")
    assert not endless
