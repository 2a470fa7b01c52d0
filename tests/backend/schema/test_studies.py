"""What is kept of a study is what JSON and a browser can hold."""

import pytest
from pydantic import ValidationError

from attract.schema.studies import StudyTrial


def trial(**changes: object) -> StudyTrial:
    return StudyTrial.model_validate({"number": 1, "state": "finished", "settings": {}} | changes)


def test_settings_keep_their_kinds_when_they_are_read_again():
    settings = {"a": None, "b": True, "c": 1, "d": 1.5, "e": "relu", "f": [64, 64]}
    again = StudyTrial.model_validate_json(trial(settings=settings).model_dump_json())
    assert [(value, type(value)) for value in again.settings.values()] == [
        (value, type(value)) for value in settings.values()
    ]


@pytest.mark.parametrize(
    "changes",
    [{"score": float("nan")}, {"seconds": float("inf")}, {"number": -1}, {"luck": 1}, {"state": "won"}],
)
def test_what_it_cannot_hold_is_refused(changes: dict[str, object]):
    with pytest.raises(ValidationError):
        trial(**changes)
