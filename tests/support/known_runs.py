"""Runs as tests know them: on the disk and in the index, as views and facts, and what a core remembers."""

import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attract.collection.core import CollectionCore
from attract.curriculum.controller import CurriculumController
from attract.curriculum.window import RETURN
from attract.diagnosis.sign import RunFacts
from attract.run.collection_effects import HANDLERS
from attract.run.core_state import CoreState, Handler
from attract.run.progress import RunProgress
from attract.runs.archive import VIEW
from attract.runs.directory import RunDirectory
from attract.runs.indexed_run import IndexedRun
from attract.runs.metrics import MetricsStore, UpdateRow
from attract.schema.api import RunSummary, RunView
from attract.schema.game import GameDescription
from attract.schema.run_list import RunLabels
from attract.settings.run import RunSettings
from driven_core import small_config
from fake_worker import counting_game

ACTIONS = {
    "discrete": {"kind": "discrete", "n": 3},
    "continuous": {"kind": "box", "shape": [1], "low": -1.0, "high": 1.0},
}


def run_facts(
    settings: Mapping[str, Any] | None = None,
    *,
    action: str = "discrete",
    num_numbers: int = 33,
    max_steps: int | None = None,
    num_cores: int = 2,
    starts_untrained: bool = True,
    **game: Any,
) -> RunFacts:
    """Facts of a run whose game takes `action` and observes one vector.

    Args:
        settings: of the run, nested; defaults beneath.
        action: a key of `ACTIONS`.
        num_numbers: of the observation; from 33 on they have no names.
        max_steps: the game's time limit.
        num_cores: of the machine.
        starts_untrained: whether the first policy was random.
        game: further fields of its description.
    """
    described = {
        "id": "Counting-v1",
        "tick_seconds": 0.1,
        "seconds_per_step": 0.1,
        "ticks_per_step": 1,
        "max_seconds": None if max_steps is None else max_steps / 10,
        "max_steps": max_steps,
        "observation": {"kind": "box", "shape": [num_numbers]},
        "action": ACTIONS[action],
    }
    return RunFacts(
        RunSettings.from_mapping(settings or {}),
        GameDescription.model_validate({**described, **game}),
        num_cores=num_cores,
        starts_untrained=starts_untrained,
    )


def run_view(**changes: Any) -> RunView:
    """A run of CartPole after three updates, still training; `changes` are fields that differ."""
    values: dict[str, Any] = {
        "run_id": "cartpole-1",
        "game": "cartpole",
        "state": "running",
        "created": "2026-01-01T00:00:00Z",
        "seed": 0,
        "policy_version": 3,
        "agent_steps": 20_000,
        "collected_steps": 21_000,
        "updates": 3,
        "episodes": 40,
        "elapsed_seconds": 10.0,
        "steps_per_second": 2000.0,
        "episode_return_mean": 123.456,
        "goal": None,
        "total_steps": None,
    }
    return RunView.model_validate({**values, **changes})


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


def run_state(
    collection: CollectionCore | None = None,
    /,
    *,
    handlers: Mapping[type[Any], Handler] = HANDLERS,
    **settings: Any,
) -> CoreState:
    """The state of a run that has just begun; `collection`: None: one without workers."""
    run_settings = RunSettings.from_mapping(settings)
    controller = CurriculumController(run_settings)
    state = CoreState(
        run_settings,
        collection or CollectionCore(small_config()),
        controller,
        RunProgress("run-1", "2026-01-01", run_settings, counting_game(), controller, 0.0),
    )
    state.handlers = handlers
    return state


@contextmanager
def read_only_folder() -> Generator[Path]:
    """A folder that the block cannot write once it has called `chmod` on it, also where tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="read only?#"))
    folder.chmod(0o755)
    user = os.geteuid()
    try:
        yield folder
    finally:
        os.seteuid(user)
        folder.chmod(0o755)
        shutil.rmtree(folder)
