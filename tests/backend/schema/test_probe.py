import pytest
from pydantic import ValidationError

from attract.schema.probe import MAX_TRIED, ProbeChoice, ProbePlay, ProbeVerified


def test_the_first_choice_is_the_likeliest_of_each_part():
    parts = {"press": 0, "score": 0, "end": 0, "restart": 0}
    assert ProbeChoice().model_dump() == parts | {"max_seconds": 120, "alive": False, "reached": False}


def test_no_score_and_no_end_are_choices_but_a_restart_there_always_is():
    assert ProbeChoice(score=None, end=None).end is None
    with pytest.raises(ValidationError, match="restart"):
        ProbeChoice.model_validate({"restart": None})


def test_a_long_loop_keeps_to_a_bound():
    play = ProbePlay(
        choice=ProbeChoice(),
        steps=0,
        frames=0,
        episodes=0,
        return_mean=None,
        standard_error=None,
        length_mean=None,
        ended=0,
        paid_steps=0,
        problems=[],
    )
    assert len(ProbeVerified(play=play, tried=[play] * MAX_TRIED, open=[], seconds=60.0).tried) == MAX_TRIED
    with pytest.raises(ValidationError, match="tried"):
        ProbeVerified(play=play, tried=[play] * (MAX_TRIED + 1), open=[], seconds=60.0)
