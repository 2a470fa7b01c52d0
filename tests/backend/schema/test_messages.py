"""Limits of what travels on a websocket, message by message; frames as such are `test_frames.py`'s."""

from typing import Any

import pytest
from pydantic import ValidationError

from attract.schema.messages import (
    FROM_BROWSER,
    TO_BROWSER,
    Assignment,
    EpisodeColumns,
    Hello,
    Lease,
    ParameterDistribution,
    RolloutClose,
    Seat,
    Seed,
    Tensor,
)

HELLO: dict[str, Any] = {
    "type": "hello",
    "protocol_version": 5,
    "build": "b",
    "role": "worker",
    "host_id": "0" * 32,
    "worker_index": 0,
    "worker_key": "f" * 32,
}
LEASE: dict[str, Any] = {
    "type": "lease",
    "run_id": "run-1",
    "lease_id": 1,
    "purpose": "train",
    "seats": [{}],
    "game_sha256": "ab" * 32,
    "seed": {"low": 0, "high": 0},
    "num_segments": 1,
}


def test_a_message_is_told_by_its_type():
    assert isinstance(FROM_BROWSER.validate_python(HELLO), Hello)
    assert isinstance(TO_BROWSER.validate_python(LEASE), Lease)
    for adapter, message in ((TO_BROWSER, HELLO), (FROM_BROWSER, LEASE)):
        with pytest.raises(ValidationError, match="tag"):
            adapter.validate_python(message)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"host_id": "0" * 31}, "host_id"),
        ({"host_id": "G" * 32}, "host_id"),
        ({"worker_key": "../" + "0" * 29}, "worker_key"),
        ({"worker_index": 1024}, "worker_index"),
        ({"max_workers": -1}, "max_workers"),
        ({"token": "t" * 201}, "token"),
        ({"role": "admin"}, "role"),
        ({"device": {"hardware_concurrency": 4097}}, "hardware_concurrency"),
    ],
)
def test_hostile_04_a_hello_out_of_its_limits_is_refused(change: dict[str, Any], field: str):
    with pytest.raises(ValidationError, match=field):
        FROM_BROWSER.validate_python(HELLO | change)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seats": []}, "seats"),
        ({"num_segments": 65_537}, "num_segments"),
        ({"purpose": "record"}, "purpose"),
        ({"group_sizes": [0]}, "group_sizes"),
        ({"seats": [{"policy_version": 2**31}]}, "policy_version"),
    ],
)
def test_a_lease_out_of_its_limits_is_refused(change: dict[str, Any], field: str):
    with pytest.raises(ValidationError, match=field):
        TO_BROWSER.validate_python(LEASE | change)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "float64", "shape": [1], "data": b""},
        {"dtype": "uint8", "shape": [-1], "data": b""},
        {"dtype": "uint8", "shape": [2**24 + 1], "data": b""},
        {"dtype": "uint8", "shape": [1] * 7, "data": b""},
    ],
)
def test_a_tensor_of_no_shape_or_dtype_is_refused(wrong: dict[str, Any]):
    with pytest.raises(ValidationError):
        Tensor.model_validate(wrong)


def test_an_empty_lease_says_nothing_of_what_it_leaves_out():
    lease = Lease.model_validate(LEASE)
    assert (lease.episodes, lease.group_sizes, lease.replays, lease.desync_steps) == ([], [], [], 0)
    assert lease.seats == [Seat(policy_id="main", policy_version=0, deterministic=False, learns=True)]
    assert lease.seed == Seed(low=0, high=0)


def test_no_episode_is_an_episode_in_no_column():
    assert all(not column for column in EpisodeColumns().model_dump().values())


def test_a_distribution_has_numbers_and_they_are_finite():
    assert ParameterDistribution(values=[1.0]).kind == "constant"
    for wrong in ([], [0.0] * 65, [float("inf")]):
        with pytest.raises(ValidationError, match="values"):
            ParameterDistribution(values=wrong)


@pytest.mark.parametrize("seconds", [-0.001, 1.1e9, float("nan")])
def test_hostile_04_a_rollouts_seconds_are_a_stretch_of_time(seconds: float):
    numbers = dict.fromkeys(("play_seconds", "inference_seconds", "game_seconds", "wait_seconds"), 1.0)
    tensor = Tensor(dtype="int32", shape=[0], data=b"")
    close = RolloutClose(
        run_id="run-1", lease_id=1, num_blocks=0, slot_id=tensor, bootstrap_value=tensor, **numbers
    )
    for name in numbers:
        with pytest.raises(ValidationError, match=name):
            RolloutClose.model_validate(close.model_dump() | {name: seconds})


def test_a_host_without_a_run_is_told_so_by_none():
    nothing = Assignment(run_id=None, game=None, num_workers=0)
    assert TO_BROWSER.validate_python(nothing.model_dump()) == nothing
    assert nothing.silence_seconds == 5.0
