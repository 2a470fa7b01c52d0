"""Frames hold one message each, counted before it is parsed; what the gateway's children say in them."""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from attract.errors import ProtocolError
from attract.schema import frames, learner
from attract.schema import messages as m
from attract.schema.frames import (
    MAX_CONTAINERS,
    MAX_ITEMS,
    MAX_NAMES,
    check_names,
    check_size,
    decode_from_browser,
    decode_from_inference,
    decode_from_learner,
    decode_to_inference,
    encode,
)
from attract.schema.inference import (
    BeginInference,
    ForwardedFrame,
    Frame,
    ObserveRefused,
    ServedLease,
    ServeLeases,
)
from attract.schema.learner import FROM_LEARNER, TO_LEARNER, Counters, Published, Ready, Shutdown, Train
from attract.schema.messages import FROM_BROWSER
from blocks import SEED, train_lease
from fake_worker import counting_description

ACK = {"type": "policy_ack", "run_id": "r", "policy_id": "main", "policy_version": 1, "create_ms": 3.5}
CLOSE = {
    "type": "rollout_close",
    "run_id": "r",
    "lease_id": 1,
    "num_blocks": 1,
    "slot_id": {"dtype": "int32", "shape": [1], "data": bytes(4)},
    "bootstrap_value": {"dtype": "float32", "shape": [1], "data": bytes(4)},
    "play_seconds": 1,
    "inference_seconds": 1,
    "game_seconds": 1,
    "wait_seconds": 1,
}


def refusal(data: bytes) -> str:
    with pytest.raises(ProtocolError) as caught:
        frames.decode_from_browser(data)
    assert (caught.value.code, caught.value.close_code) == ("malformed", 4005)
    assert len(str(caught.value)) < 1000, "a refusal travels in a frame and stays readable"
    return str(caught.value)


@pytest.mark.parametrize("name", ["play_seconds", "inference_seconds", "game_seconds", "wait_seconds"])
@pytest.mark.parametrize("value", [-1.0, 1.7e308, float("inf"), float("nan")])
def test_hostile_04_seconds_that_cannot_be_are_refused(name: str, value: float):
    assert name in refusal(ormsgpack.packb(CLOSE | {name: value}))


def test_defaults_are_written_out():
    assert ormsgpack.unpackb(frames.encode(m.HostStatus(run_id=None, num_workers=2))) == {
        "type": "host_status",
        "run_id": None,
        "num_workers": 2,
        "hidden": False,
    }


def test_whole_numbers_are_taken_for_floats():
    # MessagePack in JavaScript writes 3.0 as the integer 3
    message = frames.decode_from_browser(ormsgpack.packb(ACK | {"create_ms": 3}))
    assert isinstance(message, m.PolicyAck)
    assert message.create_ms == 3.0
    assert isinstance(message.create_ms, float)


def test_each_direction_refuses_the_others_messages():
    goodbye = frames.encode(m.Goodbye())
    assert frames.decode_from_browser(goodbye) == m.Goodbye()
    with pytest.raises(ProtocolError, match="Input tag 'goodbye'"):
        frames.decode_to_browser(goodbye)


def test_bytes_are_copied_out_of_the_frame_once_and_no_more():
    frame = bytearray(frames.encode(m.Policy(run_id="r", policy_version=1, onnx=b"model")))
    message = frames.decode_to_browser(memoryview(frame))
    frame[:] = bytes(len(frame))
    assert isinstance(message, m.Policy)
    assert message.onnx == b"model", "a message must not change when its frame's buffer is used again"
    plain = {"type": "policy", "run_id": "r", "policy_version": 1, "onnx": bytes(1000)}
    validated = m.TO_BROWSER.validate_python(plain, strict=True)
    assert isinstance(validated, m.Policy)
    assert validated.onnx is plain["onnx"], "validation must not copy"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"policy_version": "1"}, "policy_ack.policy_version: got '1'; Input should be a valid integer"),
        ({"policy_version": 1.0}, "policy_ack.policy_version: got 1.0; Input should be a valid integer"),
        ({"policy_version": -1}, "policy_ack.policy_version: got -1; Input should be greater than or equal"),
        ({"policy_version": True}, "policy_ack.policy_version: got True; Input should be a valid integer"),
        ({"create_ms": float("nan")}, "policy_ack.create_ms: got nan; Input should be a finite number"),
        ({"create_ms": float("inf")}, "policy_ack.create_ms: got inf; Input should be a finite number"),
        ({"run_id": "x" * 121}, "policy_ack.run_id: got 'xxx"),
        ({"surprise": 1}, "policy_ack.surprise: got 1; Extra inputs are not permitted"),
        ({"type": "no_such"}, "Input tag 'no_such'"),
        ({"run_id": b"bytes"}, "policy_ack.run_id: got bytes of length 5; Input should be a valid string"),
    ],
)
def test_a_wrong_field_is_named_with_what_came_and_what_would_be_right(change: dict, says: str):
    assert says in refusal(ormsgpack.packb(ACK | change))


def test_a_missing_field_is_named():
    assert "policy_ack.create_ms: got nothing; Field required" in refusal(
        ormsgpack.packb({key: value for key, value in ACK.items() if key != "create_ms"})
    )


@pytest.mark.parametrize(
    ("tensor", "says"),
    [
        ({"dtype": "float64", "shape": [1], "data": bytes(8)}, "rollout_close.slot_id.dtype: got 'float64'"),
        ({"dtype": "int32", "shape": [-1], "data": bytes(4)}, "rollout_close.slot_id.shape.0: got -1"),
        ({"dtype": "int32", "shape": [1] * 7, "data": bytes(4)}, "rollout_close.slot_id.shape: got list"),
        ({"dtype": "int32", "shape": [1], "data": "text"}, "rollout_close.slot_id.data: got 'text'"),
        ({"dtype": "int32", "shape": [1]}, "rollout_close.slot_id.data: got nothing"),
        ([0, 0], "rollout_close.slot_id: got list of length 2"),
    ],
)
def test_a_tensor_that_is_none_is_refused(tensor: object, says: str):
    assert says in refusal(ormsgpack.packb(CLOSE | {"slot_id": tensor}))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",  # an array that claims 4 billion elements
        b"\xdf\xff\xff\xff\xff",  # a map that claims 4 billion entries
        b"\xc6\xff\xff\xff\xff",  # 4 GiB of bytes, none of which follow
        b"\x91" * 5000 + b"\x01",  # nested deeper than any parser's stack
        ormsgpack.packb([1, 2, 3]),
        ormsgpack.packb("hello"),
        b"\x81\x01\x02",  # a key that is no string
        frames.encode(m.Goodbye())[:-1],
        ormsgpack.packb({f"key{i}": i for i in range(100_000)}),
        b"\x81\xa4type" + b"\x91" * 900 + b"\x01",
        ormsgpack.packb(ACK | {"error": [[[[[]]]]] * 1000}),
        ormsgpack.packb({"type": "evaluation_result", "episodes": [0] * 200_000}),
    ],
)
def test_no_bytes_whatsoever_get_past_as_anything_but_a_refusal(data: bytes):
    refusal(data)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_random_bytes_are_refused(data: bytes):
    refusal(data)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_frame_is_refused_or_still_a_message(data: st.DataObject):
    frame = bytearray(ormsgpack.packb(CLOSE))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        message = frames.decode_from_browser(bytes(frame))
    except ProtocolError:
        return
    assert isinstance(message, m.RolloutClose)


def test_learner_frames_go_both_ways():
    shutdown = learner.Shutdown()
    assert frames.decode_to_learner(frames.encode(shutdown)) == shutdown
    failed = learner.Failed(text="out of memory", stack="...")
    assert frames.decode_from_learner(frames.encode(failed)) == failed
    with pytest.raises(ProtocolError):
        frames.decode_to_learner(frames.encode(failed))
    metrics = learner.Published(
        batch_id=1,
        policy_version=1,
        onnx={},
        checkpoint="checkpoints/1",
        weights_sha256="",
        metrics={"train/explained_variance": float("nan")},
        rejected=[learner.RejectedRow(row=1, largest_difference=0.5)],
    )
    assert frames.decode_from_learner(frames.encode(metrics)).rejected[0].row == 1  # pyright: ignore


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
        (lambda: names(500_000), "a map of 500000 names"),
        (lambda: {"metrics": [names(MAX_NAMES + 1)]}, "a map of 1025 names"),
        (lambda: [[]] * (MAX_ITEMS + 1), "524289 names and items"),
        (lambda: [[0] * 1000] * 600, "names and items"),
        (lambda: [{"a": 1.5, "b": None, "text": "x" * 40, "data": b"y" * 300}] * 65_000, "names and items"),
        (lambda: [[]] * MAX_CONTAINERS, "65537 maps and lists"),
    ],
)
def test_too_many_names_items_maps_and_lists_are_refused(held: Callable[[], Any], says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as caught:
        check_size(ormsgpack.packb(held()))
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


TRAIN = {
    "type": "train",
    "batch_id": 1,
    "rows": [2, 3],
    "verify_rows": [3],
    "verify": "sample",
    "counters": {},
}


def test_T4_counters_begin_at_nothing_and_never_fall_below():
    assert set(Counters().model_dump().values()) == {0}
    with pytest.raises(ValidationError, match="agent_steps"):
        Counters(agent_steps=-1)


def test_an_order_to_train_says_whom_to_verify():
    train = TO_LEARNER.validate_python(TRAIN)
    assert isinstance(train, Train)
    assert (train.rows, train.verify_rows, train.federated_rounds) == ([2, 3], [3], [])
    with pytest.raises(ValidationError, match="verify"):
        TO_LEARNER.validate_python(TRAIN | {"verify": "none"})


def test_neither_side_takes_its_own_words():
    with pytest.raises(ValidationError, match="tag"):
        FROM_LEARNER.validate_python(TRAIN)
    with pytest.raises(ValidationError, match="tag"):
        TO_LEARNER.validate_python({"type": "stalled", "reason": None})
    assert isinstance(TO_LEARNER.validate_python({"type": "shutdown"}), Shutdown)


def test_a_versions_numbers_and_models_survive_the_journey():
    # The learner is our own: what it computed may be infinite, and is shown as it is.
    published = Published(
        batch_id=None,
        policy_version=0,
        onnx={"main": b"\x00\xff"},
        checkpoint="checkpoints/0",
        weights_sha256="ab",
        metrics={"train/loss": float("inf")},
    )
    assert decode_from_learner(encode(published)) == published


def test_a_version_is_a_number_of_31_bits():
    ready = {
        "needs_warmup": True,
        "onnx": {},
        "weights_sha256": "",
        "num_parameters": 1,
        "device": "cpu",
        "counters": Counters(),
    }
    assert Ready(policy_version=2**31 - 1, **ready).notes == []
    with pytest.raises(ValidationError, match="policy_version"):
        Ready(policy_version=2**31, **ready)


BEGIN: dict[str, Any] = {
    "run_id": "run-1",
    "description": counting_description(),
    "seed": SEED,
    "horizon": 4,
    "num_groups": 2,
    "state_size": 0,
    "max_columns": 8,
    "device": "cpu",
    "num_threads": 0,
    "inbound_path": "in",
    "outbound_path": "out",
}


def test_a_frame_lies_in_the_ring_or_here():
    assert Frame(start=8, length=4).data is None
    said = ForwardedFrame(worker_id=1, to_worker=False, frame=Frame(data=b"\x00"))
    assert decode_from_inference(encode(said)) == said


def test_leases_and_the_beginning_survive_the_journey():
    for message in (
        BeginInference(**BEGIN),
        ServeLeases(leases=[ServedLease(worker_id=1, instance_ids=[4, 5], lease=train_lease(2))]),
    ):
        assert decode_to_inference(encode(message)) == message


@pytest.mark.parametrize(
    "change", [{"horizon": 0}, {"num_groups": 0}, {"num_groups": 65}, {"max_columns": 0}, {"device": "tpu"}]
)
def test_I2_a_beginning_that_cannot_be_played_is_refused(change: dict[str, Any]):
    with pytest.raises(ValidationError, match=next(iter(change))):
        BeginInference(**BEGIN | change)


def test_a_refusal_names_what_is_wrong_and_what_would_be_right():
    refused = ObserveRefused(worker_id=0, reason="observe.step: 9 after 3", fix="one more")
    assert decode_from_inference(encode(refused)) == refused
    with pytest.raises(ValidationError, match="fix"):
        ObserveRefused.model_validate({"worker_id": 0, "reason": "r"})
