"""The results as a page of Markdown."""

from collections.abc import Sequence
from statistics import median

from attract_benchmarks.learning.pages_table import render_pages
from attract_benchmarks.learning.plan import SCHEDULES, SCHEDULES_NAME, TASKS, Run, Task, Variant
from attract_benchmarks.learning.record import Record, Row
from attract_benchmarks.learning.suite_table import render_suite
from attract_benchmarks.learning.table_cells import MISSING, returns, states, verdict

NO_TWIN = "no twin"

INTRODUCTION = """# What training gives

Made by `attract results`: every row is a real training in headless Chromium on this machine, judged by
evaluation episodes in the browser, each played to its end, with the likeliest action; +- is the standard
error of their mean. Stable-Baselines3's PPO is trained beside it on the Gymnasium environment of the same
rules, for as many steps, with the settings of RL Baselines3 Zoo and one thread, and judged there by the same
episodes: its environment draws what our game draws, from the start to the noise of the engines."""

SECONDS = """Seconds are of training alone, beside whatever else the machine
did, and of Stable-Baselines3 those of its one thread: speeds are compared by `attract bench --peers`."""

SCALED = """**Only {share:.3g} of each task's steps were trained: this tried the command out and says nothing
about learning.**"""

SCHEDULES_INTRODUCTION = """## Schedules

CartPole again, with equal steps under each schedule: how fast they are collected and trained on, and what the
policy is worth after them."""


def render(record: Record, runs: Sequence[Run], *, scale: float = 1.0) -> str:
    """The whole page, from the record of `runs`; parts that are not done yet are named as missing."""
    parts = [INTRODUCTION]
    if record.machine:
        parts.append(f"Machine: {record.machine}. {SECONDS}")
    parts.append(states(record, runs))
    if scale != 1.0:
        parts.append(SCALED.format(share=scale))
    parts += [_tasks_table(record, runs), _schedules_table(record, runs)]
    parts += [render_suite(record, runs), render_pages(record, runs)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tasks_table(record: Record, runs: Sequence[Run]) -> str:
    lines = [
        "| Task | Policy | Steps | Seconds, median | Episodes | Return per seed | Bar, every seed "
        "| Met | SB3's return per seed | SB3's CPU seconds, median |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for task in TASKS:
        for variant in task.variants:
            mine = _of(runs, task.game, variant.name)
            if mine:
                lines.append(_task_line(record, task, variant, mine, _of(runs, task.game, "sb3")))
    return "\n".join(lines) if len(lines) > 2 else ""


def _task_line(
    record: Record, task: Task, variant: Variant, mine: Sequence[Run], baselines: Sequence[Run]
) -> str:
    rows = [record.get(run) for run in mine]
    done = [row for row in rows if row is not None]
    sign = ">=" if variant.target_is == "at least" else "<="
    cells = [
        task.title,
        variant.policy,
        f"{mine[0].steps:,}" if task.goal is None else f"to {task.goal:g}, at most {mine[0].steps:,}",
        _seconds(done),
        f"{task.episodes}",
        returns(rows),
        f"{sign} {variant.target:g}",
        verdict(variant, rows),
    ]
    if baselines:
        baseline_rows = [record.get(run) for run in baselines]
        cells += [returns(baseline_rows), _seconds([row for row in baseline_rows if row is not None])]
    else:
        cells += [NO_TWIN, ""]
    return "| " + " | ".join(cells) + " |"


def _schedules_table(record: Record, runs: Sequence[Run]) -> str:
    lines = [
        SCHEDULES_INTRODUCTION,
        "",
        "| Schedule | Steps | Steps/s, median | Against `sync` | Return per seed |",
        "|---|---|---|---|---|",
    ]
    base: float | None = None
    header = len(lines)
    for variant in SCHEDULES.variants:
        mine = _of(runs, SCHEDULES_NAME, variant.name)
        if not mine:
            continue
        rows = [record.get(run) for run in mine]
        speeds = [row.steps_per_second for row in rows if row is not None]
        speed = median(speeds) if speeds else None
        if variant.name == "sync":
            base = speed
        ratio = "" if speed is None or base is None else f"{speed / base:.2f}"
        shown = MISSING if speed is None else f"{speed:,.0f}"
        cells = [f"`{variant.name}`", f"{mine[0].steps:,}", shown, ratio, returns(rows)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > header else ""


def _of(runs: Sequence[Run], task: str, variant: str) -> list[Run]:
    return [run for run in runs if (run.task, run.variant) == (task, variant)]


def _seconds(rows: Sequence[Row]) -> str:
    return f"{median([row.wall_seconds for row in rows]):.0f}" if rows else MISSING
