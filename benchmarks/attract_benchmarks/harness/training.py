"""A real `attract train` as a child process, and its record of every update."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attract.processes.exit_codes import DONE, GOAL_MISSED
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore
from attract.settings.file import settings_text
from attract_benchmarks.harness.command_line import attract

EVERY_UPDATE = 1_000_000
"""More points than a run has updates: nothing is averaged."""
COLLECTED = "time/collected_steps"


@dataclass(frozen=True)
class Update:
    """One committed update."""

    seconds: float
    """Since the run's first lease."""
    collected_steps: int
    """Rule T4: what comparisons with others count."""
    values: Mapping[str, float]
    """Its metrics by name."""


@dataclass(frozen=True)
class Training:
    """A run that ended in good order."""

    result: Mapping[str, Any]
    """The object that `attract train --json` printed."""
    updates: Sequence[Update]

    def steady_rate(self, skipped: int) -> float:
        """Collected steps per second after the first `skipped` updates.

        Raises: RuntimeError: when there are none after them.
        """
        return steady_rate([(update.seconds, update.collected_steps) for update in self.updates], skipped)

    def mean(self, name: str, skipped: int) -> float:
        """The mean of a metric over the updates after the first `skipped`; 0 where none has it."""
        values = [update.values[name] for update in self.updates[skipped:] if name in update.values]
        return sum(values) / len(values) if values else 0.0


def steady_rate(marks: Sequence[tuple[float, int]], skipped: int) -> float:
    """Steps per second from mark number `skipped` to the last.

    Args:
        marks: (seconds, steps so far) after each update, in order.
        skipped: updates that are left out, those in which programs are loaded and caches filled.

    Raises: RuntimeError: when fewer than two marks are left.
    """
    if len(marks) < skipped + 2:
        raise RuntimeError(f"expected at least {skipped + 2} updates, got {len(marks)}")
    (began, before), (ended, after) = marks[skipped], marks[-1]
    return (after - before) / (ended - began)


def train(game: str, *, seed: int, settings: Mapping[str, Any], metrics: Sequence[str] = ()) -> Training:
    """Train headless in a temporary folder, and wait for the end.

    Args:
        game: as for `attract train`.
        seed: the run's.
        settings: nested, as in a file for `--config`.
        metrics: names that `Update.values` shall have.

    Raises: AttractError: when the run fails.
    """
    with tempfile.TemporaryDirectory(prefix="attract-bench-", ignore_cleanup_errors=True) as folder:
        runs_dir = Path(folder)
        config = runs_dir / "settings.yaml"
        config.write_text(settings_text(settings), encoding="utf-8")
        result = attract(
            "train", game, "--headless", "--seed", str(seed), "--config", str(config), "--json",
            runs_dir=runs_dir, accepted=(DONE, GOAL_MISSED),
        )  # fmt: skip
        directory = RunDirectory.view(runs_dir, result["run_id"])
        return Training(result, _updates(directory.metrics_path, result["run_id"], metrics))


def _updates(path: Path, run_id: str, metrics: Sequence[str]) -> list[Update]:
    store = MetricsStore(path)
    try:
        view = store.query(run_id, [COLLECTED, *metrics], max_points=EVERY_UPDATE)
    finally:
        store.close()
    values: dict[float, dict[str, float]] = {}
    seconds = dict(zip(view.agent_steps, view.seconds, strict=True))
    for series in view.series:
        for steps, value in zip(view.steps_of(series.name), series.values, strict=True):
            values.setdefault(steps, {})[series.name] = value
    return [
        Update(seconds[steps], int(found[COLLECTED]), found)
        for steps, found in sorted(values.items())
        if COLLECTED in found
    ]
