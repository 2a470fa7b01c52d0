"""What gateway and learner tell each other; how frames are read is `test_frames.py`'s."""

import pytest
from pydantic import ValidationError

from attract.schema.frames import decode_from_learner, encode
from attract.schema.learner import FROM_LEARNER, TO_LEARNER, Counters, Published, Ready, Shutdown, Train

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
