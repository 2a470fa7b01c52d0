"""Which version is marked as the best while only training returns say so."""

from types import SimpleNamespace
from typing import Any

import pytest

from attract.run.evaluation import Evaluator
from attract.runs.metrics import UpdateRow


def row(policy_version: int) -> UpdateRow:
    return UpdateRow(
        update=policy_version,
        agent_steps=100 * policy_version,
        collected_steps=100 * policy_version,
        seconds=1.0,
        policy_version=policy_version,
        checkpoint="",
        weights_sha256="",
        values={"train/entropy": 1.0},
    )


@pytest.mark.parametrize(
    ("returns", "best"),
    [
        ([1.0, 3.0, 2.0], 1),
        # A duel: what one wins the other loses, so that only the newest is a choice.
        ([0.0, 0.0, 0.0], 2),
        ([5.0, 5.0, 4.0], 1),
    ],
)
async def test_the_newest_version_of_the_highest_return_is_marked(returns: list[float], best: int) -> None:
    marked: list[int] = []

    async def mark_best(version: int) -> None:
        marked.append(version)

    goal = SimpleNamespace(return_mean=None)
    progress: Any = SimpleNamespace(goal=goal)
    record: Any = SimpleNamespace(mark_best=mark_best)
    evaluator = Evaluator(progress, record, lambda *_: None, lambda _: None, keep=True)
    for version, value in enumerate(returns, start=1):
        goal.return_mean = value
        await evaluator.mark_best_by_return(row(version))
    # A return was played by the version before the one that was made of it.
    assert marked[-1] == best
