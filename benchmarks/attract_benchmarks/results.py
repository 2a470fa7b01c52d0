"""`attract results`: trains every task of a suite, a baseline beside it, and writes the page of results."""

import dataclasses
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, pstdev
from typing import Any, Literal

from attract.commands.destination import check_writable, writing
from attract.errors import ConfigurationError
from attract.processes.exit_codes import DONE, GOAL_MISSED
from attract_benchmarks.harness.command_line import attract, json_of
from attract_benchmarks.harness.machine import describe_code, describe_machine
from attract_benchmarks.harness.page_returns import played_returns
from attract_benchmarks.learning.pages import RANDOM, plan_pages
from attract_benchmarks.learning.plan import Run, plan_runs
from attract_benchmarks.learning.record import Finding, Record, Row
from attract_benchmarks.learning.suite import SUITE_DIR, module_of, plan_suite
from attract_benchmarks.learning.table import render

MAX_SECONDS = 3 * 3600.0
"""No run is begun after this; another call goes on with those left."""
OPPONENT_GAMES = 200
Suite = Literal["bundled", "defaults", "pages"]
BASELINE_PACKAGES = ("stable_baselines3", "gymnasium")


@dataclass(frozen=True)
class ResultsOptions:
    """Arguments of the command line."""

    out: Path
    runs_dir: Path
    suite: Suite = "bundled"
    only: str | None = None
    seed: int | None = None
    scale: float = 1.0
    reward_scale: float | None = None
    """Reward scale for the suite `defaults` alone; None: all of its factors."""


def make_results(order: ResultsOptions, say: Callable[[str], None]) -> int:
    """Do the runs that are not recorded yet and write the page after each; 0.

    Raises:
        ConfigurationError: for a task there is not, or when the baseline's packages or the games are missing.
        AttractError: when a run fails; those before it are kept.
    """
    planned = _planned(order)
    record = Record(order.out.with_suffix(".json"))
    check_writable(order.out)
    open_runs = [run for run in planned if record.get(run) is None]
    _check_baseline(open_runs)
    shown = _shown(order, record)
    began = time.monotonic()
    code = describe_code()
    for number, run in enumerate(open_runs, start=1):
        if time.monotonic() - began > MAX_SECONDS:
            say(f"three hours are over with {len(open_runs) - number + 1} runs left: call again to go on")
            break
        say(f"{number}/{len(open_runs)} {run.key}: {run.steps:,} steps")
        row = dataclasses.replace(_row(run, order.runs_dir), code=code)
        record.put(run, row, describe_machine())
        say(f"  {row.return_mean:.2f} +- {row.standard_error:.2f} after {row.wall_seconds:.0f} s")
        _write(order.out, render(record, shown, scale=order.scale))
    _write(order.out, render(record, shown, scale=order.scale))
    say(f"wrote {order.out}")
    return 0


def _planned(order: ResultsOptions) -> list[Run]:
    if order.suite == "defaults":
        return plan_suite(
            only=order.only, seed=order.seed, reward_scale=order.reward_scale, scale=order.scale
        )
    if order.reward_scale is not None:
        raise ConfigurationError(
            "the bundled games are trained with their own rewards",
            setting="--reward-scale",
            fix="add --suite defaults",
        )
    plan = plan_pages if order.suite == "pages" else plan_runs
    return plan(only=order.only, seed=order.seed, scale=order.scale)


def _shown(order: ResultsOptions, record: Record) -> list[Run]:
    """Every run of the suite asked for, done now or earlier, and of another one if any is done."""
    suites: dict[Suite, list[Run]] = {
        "bundled": plan_runs(scale=order.scale),
        "pages": plan_pages(scale=order.scale),
    }
    if SUITE_DIR.is_dir():
        suites["defaults"] = plan_suite(scale=order.scale)
    if order.suite == "defaults" and order.reward_scale is not None:
        known = {run.key for run in suites["defaults"]}
        extra = plan_suite(reward_scale=order.reward_scale, scale=order.scale)
        suites["defaults"] += [run for run in extra if run.key not in known]
    return [
        run
        for suite, runs in suites.items()
        if suite == order.suite or any(record.get(kind) is not None for kind in runs)
        for run in runs
    ]


def _row(run: Run, runs_dir: Path) -> Row:
    if run.baseline is not None:
        return _baseline_row(run)
    return _random_row(run) if run.variant == RANDOM else _own_row(run, runs_dir)


def _random_row(run: Run) -> Row:
    """The row of random play in the evaluation's episodes."""
    began = time.monotonic()
    played = played_returns(run.game, run.episodes)
    return Row(
        steps=run.steps,
        flags=list(run.flags),
        agent_steps=0,
        wall_seconds=time.monotonic() - began,
        steps_per_second=0.0,
        return_mean=mean(played),
        return_std=pstdev(played),
        episodes=len(played),
    )


def _own_row(run: Run, runs_dir: Path) -> Row:
    run_id = f"results-{run.key}"
    game = run.game if run.reward_scale == 1.0 else str(module_of(run, runs_dir / "scaled-games"))
    trained = attract(
        "train", game, "--headless", "--force", "--run-id", run_id, "--seed", str(run.seed),
        "--total-steps", str(run.steps), *run.flags, "--json",
        runs_dir=runs_dir, accepted=(DONE, GOAL_MISSED),
    )  # fmt: skip
    return Row(
        steps=run.steps,
        flags=list(run.flags),
        agent_steps=trained["agent_steps"],
        wall_seconds=trained["wall_seconds"],
        steps_per_second=trained["steps_per_second"],
        findings=[
            Finding(finding["finding_id"], finding["first_agent_steps"], finding["setting"])
            for finding in trained.get("findings", [])
        ],
        **_judged(run, run_id, trained, runs_dir),
    )


def _judged(run: Run, run_id: str, trained: dict[str, Any], runs_dir: Path) -> dict[str, Any]:
    """Mean and deviation of the evaluation's returns in the game's own rewards, or the share won."""
    if run.opponent is not None:
        policy = Path(trained["export"]) / "policy.onnx"
        command = [sys.executable, "-m", "attract.vector.score", run.opponent, str(policy)]
        played = json_of([*command, "--games", str(OPPONENT_GAMES), "--sampled"])
        won = played["won"]
        deviation = (won * (1 - won)) ** 0.5
        return {"return_mean": won, "return_std": deviation, "episodes": played["episodes"]}
    played = attract("eval", run_id, "--episodes", str(run.episodes), "--json", runs_dir=runs_dir)
    return {
        "return_mean": played["return_mean"] / run.reward_scale,
        "return_std": played["return_std"] / run.reward_scale,
        "episodes": played["episodes"],
    }


def _baseline_row(run: Run) -> Row:
    assert run.baseline is not None
    order = dataclasses.asdict(run.baseline) | {
        "steps": run.steps, "seed": run.seed, "episodes": run.episodes,
    }  # fmt: skip
    values = json_of([sys.executable, "-m", "attract_benchmarks.baselines.zoo"], json.dumps(order))
    return Row(steps=run.steps, flags=list(run.flags), **values)


def _check_baseline(runs: list[Run]) -> None:
    if not any(run.baseline is not None for run in runs):
        return
    missing = [name for name in BASELINE_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the baseline's packages are not installed: {', '.join(missing)}",
            setting="attract results",
            fix="pip install 'attract-rl[results]'",
        )


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
