"""What the index takes from a run: settings by path, the sparkline, the best and the last return."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from attract.curriculum.window import RETURN
from attract.runs.indexed_run import (
    DEFAULTS,
    MAX_POINTS,
    MAX_SETTING,
    MAX_SETTINGS,
    IndexedRun,
    changed_settings,
    flat_settings,
    indexed_run,
    setting_of,
)
from attract.runs.metrics import MetricsStore
from attract.schema.run_list import RunLabels
from attract.settings.run import RunSettings
from known_runs import run_on_disk, summary


def test_settings_are_flat_and_the_defaults_are_no_change():
    assert flat_settings({"a": {"b": {"c": 1}, "d": [1, 2]}, "e": None, "parameters": {"size": 3}}) == {
        "a.b.c": 1, "a.d": "1,2", "e": None, "parameters": '{"size": 3}',
    }  # fmt: skip
    assert changed_settings(RunSettings().model_dump(mode="json")) == {}
    given = RunSettings.from_mapping({"ppo": {"gamma": 0.5}, "preset": "memory"}).model_dump(mode="json")
    changed = changed_settings(given)
    assert (changed["ppo.gamma"], changed["preset"]) == (0.5, "memory")
    assert changed_settings({"of": {"another": "version"}}) == {"of.another": "version"}
    assert "ppo.learning_rate" in DEFAULTS


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([64, 64], "64,64"),
        ([], ""),
        ([{"a": 1}], '[{"a": 1}]'),
        (True, True),
        (None, None),
        ("x" * 999, "x" * MAX_SETTING),
    ],
)
def test_a_setting_is_one_value(value: Any, shown: Any):
    assert setting_of(value) == shown


def test_hostile_settings_of_any_number_and_name_are_bounded():
    flat = flat_settings({"": {"": 1}, **{f"s{n}": n for n in range(2000)}, "x" * 500: 1})
    assert len(flat) == MAX_SETTINGS
    assert all(1 <= len(path) <= 120 for path in flat)
    assert list(flat_settings({"x" * 500: 1})) == ["x" * 120]


def of_disk(path: Path, view: dict[str, Any]) -> IndexedRun:
    with contextlib.closing(MetricsStore(path / "metrics.db")) as store:
        return indexed_run(summary("a"), view, RunLabels(), store)


def test_the_sparkline_is_the_mean_return_and_the_best_is_the_largest_update(tmp_path: Path):
    # 240 updates are four to a point; one update is far above its neighbours.
    returns = [float(update) for update in range(240)]
    returns[101] = 999.0
    run = of_disk(
        run_on_disk(tmp_path, "a", returns),
        {"evaluation": {"return_mean": 7.5}, "settings": {"preset": "memory"}},
    )
    assert len(run.sparkline) == MAX_POINTS
    # (0 + 1 + 2 + 3) / 4, and (236 + 237 + 238 + 239) / 4.
    assert (run.sparkline[0], run.sparkline[-1]) == (1.5, 237.5)
    assert (run.return_best, run.return_eval, run.preset) == (999.0, 7.5, "memory")
    assert run.metrics == {RETURN: 239.0}


def test_a_run_without_updates_has_no_sparkline(tmp_path: Path):
    run = of_disk(run_on_disk(tmp_path, "a", []), {})
    assert (run.sparkline, run.return_best, run.return_eval, run.settings) == ([], None, None, {})


def test_progress_is_the_share_of_the_steps_and_none_without_a_limit():
    shares = [
        IndexedRun(summary=summary("a", agent_steps=steps, total_steps=total)).progress
        for steps, total in ((500, 2000), (3000, 2000), (5, None), (5, 0))
    ]
    assert shares == [0.25, 1.0, None, None]


def test_hostile_numbers_that_json_does_not_have_are_refused():
    with pytest.raises(ValidationError):
        summary("a", episode_return_mean=float("nan"))
    with pytest.raises(ValidationError):
        indexed_run(summary("a"), {"settings": {"x": float("inf")}}, RunLabels(), None)
