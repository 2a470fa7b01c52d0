"""A run back at a version before experience that turned out to be false (rule C10)."""

import contextlib
from pathlib import Path

from attract.errors import CheckpointError
from attract.runs.archive import VIEW
from attract.runs.checkpoint_document import read_counters
from attract.runs.directory import RunDirectory, find_run
from attract.runs.metrics import MetricsStore
from attract.schema.learner import Counters


def roll_back(runs_dir: Path, run_id: str, version: int) -> tuple[str, int]:
    """Set aside every version of a run after `version`, and what was counted of them.

    Returns: the run, which `latest` does not name, and the version that is its newest now.
    Raises: ConfigurationError: when there is no such run, it has no version, or it is active.
    """
    directory = RunDirectory.open_locked(runs_dir, find_run(runs_dir, run_id))
    try:
        newest = directory.roll_back(version)
        _forget_later(directory, newest)
        return directory.run_id, newest
    finally:
        directory.close()


def _forget_later(directory: RunDirectory, version: int) -> None:
    """Have the run's numbers end with `version`; of a damaged one they stay until the run goes on."""
    try:
        counters = read_counters(directory.checkpoints / str(version))
    except CheckpointError:
        return
    with contextlib.closing(MetricsStore(directory.metrics_path)) as store:
        store.rewind(counters.updates)
        view = store.fact(VIEW)
        if not isinstance(view, dict):
            return
        rows = store.rows()
        counted = counters.model_dump(include=view.keys() & Counters.model_fields.keys())
        mean = rows[-1][2].get("rollout/ep_rew_mean") if rows else None
        store.put_fact(
            VIEW,
            {
                **view,
                **counted,
                "policy_version": version,
                "elapsed_seconds": store.last_seconds(),
                "episode_return_mean": mean,
                "evaluation": None,
                # Its checkpoint has that of its time.
                "ladder": [],
            },
        )
