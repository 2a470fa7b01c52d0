"""Runs of the index for tests, and runs on the disk."""

from pathlib import Path
from typing import Any

from attract.curriculum.window import RETURN
from attract.runs.archive import VIEW
from attract.runs.directory import RunDirectory
from attract.runs.indexed_run import IndexedRun
from attract.runs.metrics import MetricsStore, UpdateRow
from attract.schema.api import RunSummary
from attract.schema.run_list import RunLabels
from attract.settings.run import RunSettings


def summary(run_id: str, **changes: Any) -> RunSummary:
    """A finished run of ten updates."""
    values: dict[str, Any] = {
        "run_id": run_id, "game": "snake", "title": "Snake", "state": "finished",
        "created": "2026-11-20T10:00:00+00:00", "seed": 1, "policy_version": 10, "agent_steps": 1000,
        "collected_steps": 1000, "updates": 10, "episodes": 5, "elapsed_seconds": 7.0,
        "steps_per_second": 100.0, "episode_return_mean": 4.0, "goal": None, "total_steps": 2000,
    }  # fmt: skip
    return RunSummary.model_validate({**values, **changes})


def indexed(run_id: str, *, labels: RunLabels | None = None, **changes: Any) -> IndexedRun:
    """A run; names of `IndexedRun` go there, all others into its summary."""
    own = {name: changes.pop(name) for name in list(changes) if name in IndexedRun.model_fields}
    return IndexedRun(summary=summary(run_id, **changes), labels=labels or RunLabels(), **own)


def run_on_disk(runs_dir: Path, run_id: str, returns: list[float] = [1.0, 3.0, 2.0], **changes: Any) -> Path:  # noqa: B006
    """A run's folder with an update for each of `returns`; `settings` is nested, without the defaults."""
    settings = RunSettings.from_mapping(changes.pop("settings", {})).model_dump(mode="json")
    evaluation = changes.pop("evaluation", None)
    directory = RunDirectory.create(runs_dir, run_id)
    about = summary(run_id, **{"updates": len(returns), "seed": settings["seed"], **changes})
    directory.write_config(about.game, settings)
    store = MetricsStore(directory.metrics_path)
    for update, value in enumerate(returns):
        row = UpdateRow(update, 100 * update, 100 * update, float(update), update, "", "", {RETURN: value})
        store.commit_update(row, {})
    store.put_fact(VIEW, {**about.model_dump(mode="json"), "settings": settings, "evaluation": evaluation})
    store.close()
    directory.close()
    return directory.path
