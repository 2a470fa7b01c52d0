"""What gateway and inference process tell each other."""

from typing import Any

import pytest
from pydantic import ValidationError

from attract.schema.frames import decode_from_inference, decode_to_inference, encode
from attract.schema.inference import (
    BeginInference,
    ForwardedFrame,
    Frame,
    ObserveRefused,
    ServedLease,
    ServeLeases,
)
from blocks import SEED, train_lease
from fake_worker import counting_description

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
