"""A recorded episode's fields: a stranger's file is bounded before it is used."""

import pytest
from pydantic import ValidationError

from attract.schema.recorded_episode import RecordedEpisode
from recorded_episodes import EPISODE


def test_game_time_and_return_are_those_of_the_whole_episode():
    episode = RecordedEpisode.model_validate(EPISODE)
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
