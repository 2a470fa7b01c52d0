"""The section of the page of results about games that live in a page."""

from collections.abc import Sequence

from attract_benchmarks.learning.pages import PAGE_TASKS, RANDOM, TASK_PREFIX
from attract_benchmarks.learning.plan import Run, Task, Variant
from attract_benchmarks.learning.record import Record
from attract_benchmarks.learning.table_cells import returns, verdict

INTRODUCTION = """## Games that live in a page

Made by `attract results --suite pages`: the bundled games of `web/page-games`, unchanged but for their
adapters, trained with the defaults in two workers and judged as above, each episode in a fresh page. Random
play is of the same episodes: the same starts, other actions. Steps bound each run, so that what else the
machine does changes no return."""


def render_pages(record: Record, runs: Sequence[Run]) -> str:
    """The section, from what is recorded of `runs`; empty without a run of these games."""
    lines = [
        _line(record, task, variant, [run for run in runs if run.task == TASK_PREFIX + task.game])
        for task in PAGE_TASKS
        for variant in task.variants
        if any(run.task == TASK_PREFIX + task.game for run in runs)
    ]
    if not lines:
        return ""
    header = [
        "| Game | Steps | Episodes | Random play | Return per seed | Bar, every seed | Met |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n\n".join([INTRODUCTION, "\n".join(header + lines)])


def _line(record: Record, task: Task, variant: Variant, mine: Sequence[Run]) -> str:
    trained = [run for run in mine if run.variant == variant.name]
    rows = [record.get(run) for run in trained]
    cells = [
        task.title,
        f"{trained[0].steps:,}",
        f"{task.episodes}",
        returns([record.get(run) for run in mine if run.variant == RANDOM]),
        returns(rows),
        f">= {variant.target:g}",
        verdict(variant, rows),
    ]
    return "| " + " | ".join(cells) + " |"
