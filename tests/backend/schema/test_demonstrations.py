import pytest
from pydantic import ValidationError

from attract.schema.demonstrations import Demonstration

ONE = {
    "id": "one",
    "game_id": "Count-v1",
    "seed": {"low": 2**32 - 1, "high": 0},
    "episode": 0,
    "actions": [[1, None], [[0.5, -1.0], [1, 0]]],
    "returns": [1.5, 0],
    "num_steps": 2,
    "ended": False,
    "created_at": "2026-11-23T00:00:00+00:00",
}


def test_what_is_written_is_read_again_with_kinds_of_actions_as_they_were():
    one = Demonstration.model_validate(ONE)
    assert Demonstration.model_validate_json(one.model_dump_json()) == one
    assert one.actions == [[1, None], [[0.5, -1.0], [1, 0]]] and one.player == "human"


@pytest.mark.parametrize(
    "changed", [{"version": 2}, {"returns": []}, {"seed": {"low": 2**32, "high": 0}}, {"x": 1}]
)
def test_what_is_of_another_form_is_refused(changed: dict[str, object]):
    with pytest.raises(ValidationError):
        Demonstration.model_validate({**ONE, **changed})
