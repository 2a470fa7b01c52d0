"""The study on disk: it outlives the process that searched."""

from pathlib import Path

from attract.tuning.search import NEAR_TRIALS, Search, SearchTrial
from attract.tuning.space import SPACE_DATA, Choice, Range

SPACE = {
    "ppo.gamma": Choice((0.9, 0.99)),
    "policy.hidden_sizes": Choice(([64, 64], [64])),
    "ppo.gae_lambda": Choice((None, 0.9)),
    "ppo.learning_rate": Range(1e-4, 1e-2, log=True, whole=False),
    "ppo.n_epochs": Range(1, 8, log=False, whole=True),
}
DEFAULTS = {
    "ppo.gamma": 0.99,
    "policy.hidden_sizes": [64, 64],
    "ppo.gae_lambda": None,
    "ppo.learning_rate": 1e-3,
    "ppo.n_epochs": 4,
}


def begun(folder: Path) -> Search:
    search = Search(folder)
    default = SearchTrial(
        number=0, state="finished", settings=DEFAULTS, score=1.0, seconds=2.0, agent_steps=100,
        took_seconds=3.0, rungs={25: 0.5, 50: None},
    )  # fmt: skip
    search.add_default(SPACE, default)
    return search


def finish(search: Search, trial: SearchTrial, score: float | None) -> None:
    trial.state, trial.score, trial.seconds = "finished", score, 1.0
    search.finish(trial)


def test_values_are_of_the_space_and_the_defaults_are_the_first(tmp_path: Path):
    search = begun(tmp_path)
    for _ in range(12):
        trial = search.ask(SPACE)
        assert all(domain.holds(trial.settings[name]) for name, domain in SPACE.items()), trial.settings
        finish(search, trial, trial.settings["ppo.gamma"])
    trials = search.trials()
    assert [trial.number for trial in trials] == list(range(13))
    assert trials[0].settings == DEFAULTS
    assert trials[0].rungs == {25: 0.5, 50: None}


def test_what_ended_is_there_when_the_study_is_opened_again(tmp_path: Path):
    search = begun(tmp_path)
    pruned, failed, scoreless = (search.ask(SPACE) for _ in range(3))
    pruned.state, pruned.score, pruned.rungs = "pruned", -1.0, {25: -1.0}
    failed.state, failed.error = "failed", "it broke"
    search.finish(pruned)
    search.finish(failed)
    finish(search, scoreless, None)
    again = Search(tmp_path).trials()
    assert [(trial.state, trial.score, trial.error) for trial in again] == [
        ("finished", 1.0, None),
        ("pruned", -1.0, None),
        ("failed", None, "it broke"),
        ("finished", None, None),
    ]
    assert again[1].rungs == {25: -1.0}


def test_what_a_killed_tuner_left_running_is_tried_again_once(tmp_path: Path):
    lost = begun(tmp_path).ask(SPACE)
    again = Search(tmp_path)
    assert [trial.number for trial in again.trials()] == [0]
    tried = [again.ask(SPACE) for _ in range(2 * NEAR_TRIALS)]
    for trial in tried:
        finish(again, trial, 1.0)
    assert [trial.settings for trial in tried].count(lost.settings) == 1


def test_the_first_trials_differ_from_the_defaults_in_some_settings(tmp_path: Path):
    search = begun(tmp_path)
    for _ in range(NEAR_TRIALS):
        values = search.ask(SPACE).settings
        # A third of five settings are two.
        assert sum(values[name] != DEFAULTS[name] for name in SPACE) in (1, 2)
    assert sum(search.ask(SPACE).settings[name] != DEFAULTS[name] for name in SPACE) > 2


def test_a_study_that_is_opened_again_does_not_draw_the_same_again(tmp_path: Path):
    first = begun(tmp_path)
    one = first.ask(SPACE)
    finish(first, one, 1.0)
    second = Search(tmp_path).ask(SPACE)
    assert second.settings["ppo.learning_rate"] != one.settings["ppo.learning_rate"]


def test_the_sampler_learns_which_values_score(tmp_path: Path):
    search = begun(tmp_path)
    for _ in range(40):
        trial = search.ask(SPACE)
        finish(search, trial, 100.0 * (trial.settings["ppo.gamma"] == 0.9))
    late = [trial.settings["ppo.gamma"] for trial in search.trials()[21:]]
    assert late.count(0.9) >= 15


def test_facts_and_spaces_are_kept(tmp_path: Path):
    search = Search(tmp_path)
    assert search.fact("space") is None
    search.keep("space", SPACE_DATA.dump_python(SPACE, mode="json"))
    assert SPACE_DATA.validate_python(Search(tmp_path).fact("space")) == SPACE


def test_the_front_is_what_nothing_dominates_and_has_both_of_equals(tmp_path: Path):
    search = begun(tmp_path)
    # The defaults have score 1 in 2 seconds.
    for score, seconds in ((2.0, 3.0), (1.0, 2.5), (0.5, 1.0), (2.0, 3.5), (2.0, 3.0), (None, 0.1)):
        trial = search.ask(SPACE)
        trial.state, trial.score, trial.seconds = "finished", score, seconds
        search.finish(trial)
    assert search.front() == {0, 1, 3, 5}
