"""What the index has of one run: its last numbers, its labels, a sparkline and its settings."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, cast

from attract.curriculum.window import RETURN
from attract.runs.archive import UNFINISHED
from attract.runs.metrics import MetricsStore
from attract.schema.api import RunSummary
from attract.schema.base import FiniteModel, Text
from attract.schema.run_list import RunLabels, SettingValue
from attract.settings.run import RunSettings

MAX_POINTS: Final = 60
"""Points of a sparkline."""
MAX_SETTING: Final = 200
"""Characters of a setting in the list; a longer one is cut."""
MAX_METRICS: Final = 200
"""Metrics of one run in the index."""
MAX_SETTINGS: Final = 500
"""Settings of one run in the index."""


class IndexedRun(FiniteModel):
    """One run in the index. All of it is read from the run's folder."""

    summary: RunSummary
    labels: RunLabels = RunLabels()
    is_deleted: bool = False
    """It is in the trash."""
    preset: Text | None = None
    return_best: float | None = None
    return_eval: float | None = None
    sparkline: list[float] = []
    settings: dict[str, SettingValue] = {}
    """By path, those that differ from the defaults of all runs, and those that this version does not know."""
    metrics: dict[str, float] = {}
    """By name, the last value of each metric."""

    @property
    def progress(self) -> float | None:
        """Share of the steps that the run is to make, in [0, 1]; None: it has no limit."""
        total = self.summary.total_steps
        return None if not total else min(1.0, self.summary.agent_steps / total)

    @property
    def speed(self) -> float:
        """Agent steps per second: those now, and of a run that is over the mean over all of it."""
        now, seconds = self.summary.steps_per_second, self.summary.elapsed_seconds
        if self.summary.state in UNFINISHED or seconds <= 0:
            return now
        return self.summary.agent_steps / seconds


def flat_settings(nested: Mapping[str, Any]) -> dict[str, SettingValue]:
    """Nested settings by path; lists and mappings as texts, an unset section as its path with None."""
    return dict(islice(_flat(nested, ""), MAX_SETTINGS))


def _flat(nested: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, SettingValue]]:
    for name, value in nested.items():
        path = f"{prefix}{name}"[:120] or "unnamed"
        # Names of parameters are the game's own: they are no settings.
        if isinstance(value, Mapping) and path != "parameters":
            yield from _flat(cast("Mapping[str, Any]", value), f"{path}.")
        else:
            yield path, setting_of(value)


def setting_of(value: Any) -> SettingValue:
    """A setting as one value: a list of plain values with commas, anything else that nests as JSON."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if all(isinstance(item, int | float | str) for item in items):
            return ",".join(str(item) for item in items)[:MAX_SETTING]
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text[:MAX_SETTING]


DEFAULTS: Final[Mapping[str, SettingValue]] = flat_settings(RunSettings().model_dump(mode="json"))
"""The default of each setting, by path."""


def changed_settings(nested: Mapping[str, Any]) -> dict[str, SettingValue]:
    """By path, the settings that are not as in `DEFAULTS`, or are unknown there."""
    flat = flat_settings(nested)
    return {path: value for path, value in flat.items() if path not in DEFAULTS or DEFAULTS[path] != value}


def setting_value(run: IndexedRun, path: str) -> SettingValue:
    """A setting of a run; one that a run of an earlier version did not have has its default."""
    return run.settings[path] if path in run.settings else DEFAULTS.get(path)


def indexed_run(
    summary: RunSummary, view: Mapping[str, Any], labels: RunLabels, store: MetricsStore | None
) -> IndexedRun:
    """One run for the index.

    Args:
        summary: its last numbers.
        view: how it stood last, as its database keeps it; unchecked beyond `summary`.
        labels: of its folder.
        store: its database, for the sparkline and the metrics.

    Raises: FileError: the database is damaged. ValidationError: numbers in it are not finite.
    """
    settings = view.get("settings")
    settings = cast("dict[str, Any]", settings) if isinstance(settings, dict) else {}
    evaluation = view.get("evaluation")
    evaluated = (
        cast("dict[str, Any]", evaluation).get("return_mean") if isinstance(evaluation, dict) else None
    )
    values: list[float] = []
    best: float | None = None
    metrics: dict[str, float] = {}
    if store is not None:
        series = store.curve(RETURN, MAX_POINTS)
        values, best = series.values, max(series.high or series.values, default=None)
        metrics = store.last_values(MAX_METRICS)
    preset = settings.get("preset")
    return IndexedRun(
        summary=summary,
        labels=labels,
        preset=preset[:120] if isinstance(preset, str) else None,
        return_best=best,
        return_eval=evaluated if isinstance(evaluated, int | float) else None,
        sparkline=[float(f"{value:.5g}") for value in values],
        settings=changed_settings(settings),
        metrics=metrics,
    )
