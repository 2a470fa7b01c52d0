"""What is told of a study while it runs and when it ends."""

import io

from rich.console import Console

from attract.commands.tune_display import StudyDisplay, result_lines, study_table
from attract.schema.studies import StudyConfirmation, StudyTrial, StudyView


def trial(number: int, state: str = "finished", **more: object) -> StudyTrial:
    values: dict[str, object] = {"ppo.gamma": 0.9, "policy.hidden_sizes": [64, 64], "ppo.gae_lambda": None}
    return StudyTrial.model_validate(
        {"number": number, "state": state, "settings": values, "score": 1.5, "seconds": 2.0, **more}
    )


def view(**more: object) -> StudyView:
    whole: dict[str, object] = {
        "study": "s",
        "game": "snake",
        "state": "searching",
        "total_steps": 100,
        "num_trials": 8,
        "parallel": 1,
        "elapsed_seconds": 65.0,
    }
    return StudyView.model_validate(whole | more)


def lines_of(*views: StudyView) -> list[str]:
    output = io.StringIO()
    with StudyDisplay(Console(file=output, width=200)) as display:
        for view in views:
            display.changed(view)
    return output.getvalue().splitlines()


ROW = StudyConfirmation(
    trial=1, seeds=[1, 2], scores=[3.0, 4.0], seconds=[5.0, 6.0], verdict="better", chance=0.05
)


def test_each_trial_is_told_once_when_it_ends():
    running = view(trials=[trial(0), trial(1, "running")])
    lines = lines_of(
        view(), view(trials=[trial(0)]), running, running, view(trials=[trial(0), trial(1, "pruned")])
    )
    assert lines == [
        "trial 0  finished  score 1.5  2.0 s  0 steps  the defaults",
        "trial 1  pruned  score 1.5  2.0 s  0 steps  gamma=0.9 hidden_sizes=64,64 gae_lambda=none",
    ]


def test_a_study_that_goes_on_does_not_tell_again_what_is_known():
    known = view(trials=[trial(0), trial(1)])
    assert lines_of(
        known, view(trials=[trial(0), trial(1), trial(2, "failed", score=None, seconds=None)])
    ) == [
        "study s: 2 trials are done already",
        "trial 2  failed  score -  -  0 steps  gamma=0.9 hidden_sizes=64,64 gae_lambda=none",
    ]


def test_the_table_has_what_runs_the_best_first_and_always_the_defaults():
    many = [trial(number, score=float(number)) for number in range(30)]
    output = io.StringIO()
    Console(file=output, width=160).print(study_table(view(trials=[*many, trial(30, "running")])))
    text = output.getvalue()
    rows = [line.split()[0] for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert text.index("running") < text.index(" 29 ")
    assert rows
    assert "the defaults" in text
    assert "30 finished of 8; 1:05" in text


def test_the_end_says_what_came_of_it():
    won = view(state="finished", confirmations=[ROW], winner=1, file="g.train.yaml")
    assert result_lines(won) == [
        "trial 1: 2 fresh seeds, score 3.5, 5.5 s: better (chance 0.05)",
        "trial 1 wins; its settings: g.train.yaml",
    ]
    several = view(state="finished", trials=[trial(0), trial(1)])
    assert result_lines(several) == ["no trial beats the defaults: nothing is written"]


def test_a_study_that_tried_nothing_does_not_say_that_the_defaults_are_as_good():
    (line,) = result_lines(view(state="finished", trials=[trial(0)]))
    assert "no time for a trial besides the defaults" in line and "--minutes" in line
    stopped = view(state="stopped", trials=[trial(0)], command="attract tune snake")
    assert result_lines(stopped) == ["stopped after 1 trials; to continue: attract tune snake"]
    assert result_lines(view(state="failed", error="no \x1b[31m")) == ["error: no \\x1b[31m"]
