"""`attract results`: trains every task for the table of results, a rival beside it, and writes the table."""

import dataclasses
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attract.commands.exit_codes import DONE, GOAL_MISSED
from attract.errors import ConfigurationError
from attract.results.child import attract, json_of
from attract.results.machine import describe_machine
from attract.results.plan import EVALUATION_EPISODES, Run, plan_runs
from attract.results.record import Record, Row
from attract.results.table import render

MOST_SECONDS = 3 * 3600.0
"""No run is begun after this; another call goes on with those left."""
RIVAL_PACKAGES = ("stable_baselines3", "gymnasium")


@dataclass(frozen=True)
class ResultsOrder:
    """What the command line was asked for."""

    out: Path
    runs_dir: Path
    only: str | None = None
    seed: int | None = None
    scale: float = 1.0


def make_results(order: ResultsOrder, say: Callable[[str], None]) -> int:
    """Do the runs that are not recorded yet and write the table after each; 0.

    Raises:
        ConfigurationError: for a task there is not, or when the rival's packages are missing.
        AttractError: when a run fails; those before it are kept.
    """
    planned = plan_runs(only=order.only, seed=order.seed, scale=order.scale)
    record = Record(order.out.with_suffix(".json"))
    open_runs = [run for run in planned if record.get(run) is None]
    _check_rival(open_runs)
    # The page shows all seeds of what was asked for, also those of earlier calls.
    shown = plan_runs(scale=order.scale)
    began = time.monotonic()
    for number, run in enumerate(open_runs, start=1):
        if time.monotonic() - began > MOST_SECONDS:
            say(f"three hours are over with {len(open_runs) - number + 1} runs left: call again to go on")
            break
        say(f"{number}/{len(open_runs)} {run.key}: {run.steps:,} steps")
        row = _rival_row(run) if run.rival is not None else _own_row(run, order.runs_dir)
        record.put(run, row, describe_machine())
        say(f"  {row.return_mean:.2f} +- {row.return_std:.2f} after {row.wall_seconds:.0f} s")
        _write(order.out, render(record, shown, scale=order.scale))
    _write(order.out, render(record, shown, scale=order.scale))
    say(f"wrote {order.out}")
    return 0


def _own_row(run: Run, runs_dir: Path) -> Row:
    run_id = f"results-{run.key}"
    trained = attract(
        "train", run.game, "--headless", "--force", "--run-id", run_id, "--seed", str(run.seed),
        "--total-steps", str(run.steps), *run.flags, "--json",
        runs_dir=runs_dir, accepted=(DONE, GOAL_MISSED),
    )  # fmt: skip
    judged = attract("eval", run_id, "--episodes", str(EVALUATION_EPISODES), "--json", runs_dir=runs_dir)
    return Row(
        steps=run.steps,
        flags=list(run.flags),
        agent_steps=trained["agent_steps"],
        wall_seconds=trained["wall_seconds"],
        return_mean=judged["return_mean"],
        return_std=judged["return_std"],
        episodes=judged["episodes"],
        steps_per_second=trained["steps_per_second"],
    )


def _rival_row(run: Run) -> Row:
    assert run.rival is not None
    order = dataclasses.asdict(run.rival) | {
        "steps": run.steps, "seed": run.seed, "episodes": EVALUATION_EPISODES,
    }  # fmt: skip
    values = json_of([sys.executable, "-m", "attract.results.rival"], json.dumps(order))
    return Row(steps=run.steps, flags=list(run.flags), **values)


def _check_rival(runs: list[Run]) -> None:
    if not any(run.rival is not None for run in runs):
        return
    missing = [name for name in RIVAL_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the rival's packages are not installed: {', '.join(missing)}",
            setting="attract results",
            fix="pip install 'attract[results]'",
        )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
