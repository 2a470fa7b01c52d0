"""What `attract tune` refuses, how many trials it runs at once, the file it writes, and its display."""

import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from attract.commands import tune
from attract.commands.tune import TuneOptions, file_of, parallel_of, tune_game, yaml_of
from attract.commands.tune_display import StudyDisplay, result_lines, study_table
from attract.errors import ConfigurationError
from attract.runs.studies import locked_study, study_folder
from attract.schema.studies import StudyConfirmation, StudyTrial, StudyView
from attract.settings.given import Layer, join_layers
from attract.settings.run import RunSettings, ServerSettings


async def tuned(folder: Path, **options: Any) -> int:
    settings = join_layers(Layer({}))
    return await tune_game("snake", settings, TuneOptions(**options), ServerSettings(runs_dir=folder))


def test_as_many_trials_as_have_cores_for_their_workers_and_learner():
    two = RunSettings()
    assert [parallel_of(TuneOptions(), two, cores) for cores in (1, 2, 3, 6, 16)] == [1, 1, 1, 2, 5]
    assert parallel_of(TuneOptions(parallel=7), two, 2) == 7


def test_the_winners_file_lies_beside_a_game_of_ones_own(tmp_path: Path):
    assert file_of(str(tmp_path / "g.ts"), None) == tmp_path / "g.train.yaml"
    assert file_of(str(tmp_path / "g.page.ts"), None) == tmp_path / "g.page.train.yaml"
    assert file_of("snake", None) is None
    assert file_of("snake", Path("o.yaml")) == Path("o.yaml")


async def test_a_file_that_is_there_is_not_lost(tmp_path: Path):
    out = tmp_path / "o.yaml"
    out.write_text("ppo: {gamma: 0.9}\n")
    with pytest.raises(ConfigurationError, match="already exists") as refused:
        await tuned(tmp_path, out=out)
    assert "--force" in str(refused.value)
    assert out.read_text() == "ppo: {gamma: 0.9}\n"


def test_one_that_the_study_wrote_itself_may_be_written_again(tmp_path: Path):
    out = tmp_path / "o.yaml"
    for path in (out, tmp_path / tune.WINNER):
        path.write_text("a: 1\n")
    tune._check_target(out, tmp_path, force=False)
    out.write_text("a: 2\n")
    with pytest.raises(ConfigurationError):
        tune._check_target(out, tmp_path, force=False)
    tune._check_target(out, tmp_path, force=True)


async def test_a_study_that_another_process_works_at_is_refused(tmp_path: Path):
    refused = pytest.raises(ConfigurationError, match="another process")
    with locked_study(study_folder(tmp_path, "snake")), refused:
        await tuned(tmp_path)


def test_the_file_says_what_it_was_measured_by_and_is_read_as_settings():
    rows = [
        StudyConfirmation(trial=0, seeds=[1, 2], scores=[1.0, 2.0], seconds=[10.0, 11.0]),
        StudyConfirmation(trial=3, seeds=[1, 2], scores=[4.0, 5.0], seconds=[5.0, 6.0]),
    ]
    view = StudyView(
        study="s",
        game="snake",
        state="finished",
        total_steps=1000,
        num_trials=1,
        parallel=1,
        elapsed_seconds=1.0,
        trials=[StudyTrial(number=3, state="finished", settings={})],
        confirmations=rows,
        winner=3,
    )
    text = yaml_of(view, {"ppo": {"gamma": 0.9}, "policy": {"hidden_sizes": [64]}})
    assert "Mean return with these settings, 2 fresh seeds: 4.5, 5.5 s." in text
    assert "Mean return without them, 2 fresh seeds: 1.5, 10.5 s." in text
    assert RunSettings.from_mapping(yaml.safe_load(text)).ppo.gamma == 0.9


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
