"""Frames hold one message each; whatever is not exactly a message is refused with a reason."""

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attract.errors import ProtocolError
from attract.schema import frames, learner
from attract.schema import messages as m

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
        ({"error": b"bytes"}, "policy_ack.error: got bytes of length 5; Input should be a valid string"),
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
