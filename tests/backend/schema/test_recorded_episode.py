"""A recorded episode's fields: a stranger's file is bounded before it is used."""

import pytest
from pydantic import ValidationError

from attract.schema.recorded_episode import RecordedEpisode

HASH = "0123456789abcdef" * 4
EPISODE = {
    "game_id": "CartPole-v1",
    "game_sha256": HASH,
    "seed": {"low": 1, "high": 2},
    "instance": 0,
    "episode": 3,
    "seats": [{"player": "random"}],
    "seconds_per_step": 0.02,
    "actions": {"dtype": "uint8", "shape": [3, 1], "deflated": False, "data": "AQAB"},
    "marks": {"interval": 50, "hashes": "0123abcd"},
    "returns": [3.0],
    "num_steps": 3,
    "num_ticks": 3,
    "end_reason": "terminated",
}


def test_game_time_and_return_are_those_of_the_whole_episode():
    episode = RecordedEpisode.model_validate({**EPISODE, "returns": [3.0], "num_steps": 3})
    assert episode.seconds == pytest.approx(0.06)
    assert episode.mean_return == 3.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "demonstration"),
        ("version", 3),
        ("id", "../../x"),
        ("game_sha256", "../x"),
        ("seats", []),
        ("returns", [float("nan")]),
        ("num_steps", 1 << 21),
        ("end_reason", "gone"),
        ("marks", {"interval": 0, "hashes": ""}),
        ("marks", {"interval": 1, "hashes": "xyz"}),
        ("actions", {"dtype": "int64", "shape": [1, 1], "deflated": False, "data": ""}),
        ("actions", {"dtype": "uint8", "shape": [1], "deflated": False, "data": ""}),
        ("actions", {"dtype": "uint8", "shape": [1, 1], "deflated": False, "data": "<script>"}),
        ("another", 1),
    ],
)
def test_a_field_out_of_bounds_is_refused_by_its_name(field: str, value: object):
    with pytest.raises(ValidationError, match=field):
        RecordedEpisode.model_validate({**EPISODE, field: value})
