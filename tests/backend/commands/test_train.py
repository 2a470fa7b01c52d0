import io

import pytest
from rich.console import Console

from attract.commands.train import _Plan, _Standing, exit_code  # pyright: ignore[reportPrivateUsage]
from attract.commands.train_display import create_display
from attract.run.progress import RunResult
from attract.schema.api import RunState, RunView
from attract.schema.game import GameReference
from socket_fleet import DESCRIPTION


def _run(state: RunState, error: str | None = None) -> RunView:
    return RunView(
        run_id="r",
        game="cartpole",
        state=state,
        created="2026-01-01T00:00:00Z",
        seed=0,
        policy_version=0,
        agent_steps=0,
        collected_steps=0,
        updates=0,
        episodes=0,
        elapsed_seconds=0.0,
        steps_per_second=0.0,
        episode_return_mean=None,
        goal=None,
        total_steps=None,
        error=error,
    )


def test_a_pause_is_told_once_with_its_reason_and_so_is_its_end() -> None:
    out = io.StringIO()
    standing = _Standing(create_display(Console(file=out, width=120), "a"))
    full = "paused until the disk takes writes again: No space left on device"
    for view in (
        _run("starting"),
        _run("running"),
        _run("paused", full),
        _run("paused", full),
        _run("running"),
        _run("running"),
        _run("paused"),
        _run("evaluating"),
        _run("finished"),
    ):
        standing.tell(view)
    assert out.getvalue().splitlines() == [
        full,
        "going on",
        "paused: it goes on when it is resumed on the dashboard",
        "going on",
    ]


def test_S5_P10_what_was_derived_is_told_once_when_the_game_is_known() -> None:
    out = io.StringIO()
    plan = _Plan(create_display(Console(file=out, width=200), "a"), verbose=True)
    plan.tell(_run("starting"))
    assert out.getvalue() == ""
    reference = GameReference(name="counting", sha256="a" * 64, url="games/x.js")
    known = _run("running").model_copy(
        update={"description": DESCRIPTION, "game_reference": reference, "settings": {}}
    )
    plan.tell(known)
    plan.tell(known)
    told = out.getvalue().splitlines()
    assert [line.split(":")[0] for line in told] == [
        "training",
        "batch",
        "minibatches",
        "learner",
        "schedules",
        "room for up to 8 workers",
    ]


def _result(state: RunState, *, goal_reached: bool = False, refused: bool = False) -> RunResult:
    return RunResult(
        run_id="r",
        state=state,
        agent_steps=1,
        updates=1,
        policy_version=1,
        wall_seconds=1.0,
        steps_per_second=1.0,
        episode_return_mean=None,
        goal_reached=goal_reached,
        export=None,
        refused=refused,
    )


@pytest.mark.parametrize(
    ("result", "goal", "stopped_by", "code"),
    [
        (_result("finished"), None, None, 0),
        (_result("finished", goal_reached=True), 9.0, None, 0),
        (_result("finished"), 9.0, None, 3),
        (_result("stopped"), None, None, 0),
        (_result("stopped"), 9.0, 130, 130),
        (_result("stopped"), None, 143, 143),
        (_result("stopped"), None, 141, 141),
        # Done before the signal came.
        (_result("finished", goal_reached=True), 9.0, 130, 0),
        (_result("failed"), 9.0, None, 1),
        (_result("failed"), None, 130, 1),
        (_result("failed", refused=True), None, None, 2),
    ],
)
def test_how_a_run_s_end_is_told_to_the_shell(
    result: RunResult, goal: float | None, stopped_by: int | None, code: int
) -> None:
    assert exit_code(result, goal, stopped_by) == code
