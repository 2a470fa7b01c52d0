import pytest
from pydantic import ValidationError

from attract.schema.answers import ErrorAnswer

ANSWER = {
    "error": "there is no run 'x'",
    "code": "unknown-run",
    "setting": None,
    "fix": "attract runs",
    "exit_code": 2,
}


def test_an_error_has_a_code_a_fix_and_an_exit_code_and_nothing_else():
    assert ErrorAnswer.model_validate(ANSWER).model_dump() == ANSWER
    for change in ({"code": ""}, {"exit_code": -1}, {"traceback": "..."}):
        with pytest.raises(ValidationError):
            ErrorAnswer.model_validate(ANSWER | change)
