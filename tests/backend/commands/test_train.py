"""What `attract train` prints before, during and after a run, and its exit code."""

import dataclasses
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typing_extensions import override

from attract.commands.narrator import Narrator
from attract.commands.train_display import Display, create_display
from attract.commands.training import (
    _print_result,  # pyright: ignore[reportPrivateUsage]
    exit_code,
    train_answer,
)
from attract.diagnosis.verdict import Measured, judge
from attract.run.progress import RunResult
from attract.schema.api import BeginningView, EvaluationView, GameReport, RunState, RunView
from attract.schema.game import GameReference
from attract.settings.run import RunSettings
from known_runs import run_view
from socket_fleet import DESCRIPTION


def narrated(display: Display, link: str = "link", *, due: float = 1e9, **more: bool) -> Narrator:
    return Narrator(display, RunSettings(), lambda: link, **{"has_own": False} | more, due=due)


def _run(state: RunState, error: str | None = None) -> RunView:
    return run_view(state=state, error=error)


def test_a_pause_is_told_once_with_its_reason_and_so_is_its_end() -> None:
    out = io.StringIO()
    narrator = narrated(create_display(Console(file=out, width=120), "a"))
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
        narrator.heard(view)
    assert out.getvalue().splitlines() == [
        full,
        "continuing",
        "paused: resume it on the dashboard",
        "continuing",
    ]


def test_S5_P10_what_was_derived_is_told_once_when_the_game_is_known() -> None:
    out = io.StringIO()
    narrator = narrated(create_display(Console(file=out, width=200), "a"), verbose=True)
    alone: Any = {"last_left_seconds": None, "has_workers": False}
    narrator.looked(_run("starting"), 0.0, **alone)
    assert out.getvalue() == ""
    reference = GameReference(name="counting", sha256="a" * 64, url="games/x.js")
    known = _run("running").model_copy(update={"description": DESCRIPTION, "game_reference": reference})
    narrator.looked(known, 0.0, **alone)
    narrator.looked(known, 0.0, **alone)
    printed = out.getvalue().splitlines()
    assert [line.split(":")[0] for line in printed] == [
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


def test_the_end_says_what_the_return_is_beside_random_play() -> None:
    trained, random = Measured(936.0, 8.0, 100), Measured(1142.0, 9.0, 57)
    verdict = judge(trained, random, num_agents=1)
    result = dataclasses.replace(_result("finished"), episode_return_mean=936.0, verdict=verdict)
    lines = _printed(result, None, Path("runs")).splitlines()
    assert "return 936, random play 1,142: not better than random play" in lines
    printed = train_answer(result, None).model_dump()
    assert [printed[name] for name in ("return", "standard_error", "return_episodes")] == [936.0, 8.0, 100]
    names = ("random_return", "random_standard_error", "random_episodes")
    assert [printed[name] for name in names] == [1142.0, 9.0, 57]
    assert printed["learned"] is False
    # It is no failure: how a run ended is one thing, what came of it another.
    assert exit_code(result, None) == 0
    unknown = train_answer(_result("finished"), None)
    assert (unknown.learned, unknown.return_episodes) == (None, None)
    assert unknown.learned_reason == "no episode ended: train longer, or end episodes earlier"


def test_an_end_that_training_episodes_leave_open_names_the_evaluation_that_decides(tmp_path: Path) -> None:
    decides = "training episodes lag behind the final policy; an evaluation decides: attract eval r"
    random = Measured(-500.0, 1.0, 100)

    def lines(trained: Measured | None, **fields: Any) -> list[str]:
        verdict = judge(trained, random, num_agents=1)
        result = dataclasses.replace(_result("finished"), export=str(tmp_path), verdict=verdict)
        return _printed(dataclasses.replace(result, **fields), None, Path("runs")).splitlines()

    for trained in (Measured(-499.0, 1.0, 100), Measured(-400.0, 1.0, 19), None):
        assert lines(trained).count(decides) == 1
    # What is already decided, and what has no policy to evaluate.
    assert decides not in lines(Measured(-400.0, 1.0, 100))
    assert decides not in lines(Measured(-499.0, 1.0, 100), goal_reached=True)
    assert decides not in lines(None, export=None)


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


def _printed(result: RunResult, goal: float | None, runs_dir: Path) -> str:
    out = io.StringIO()
    started = _run("starting").model_copy(update={"goal": goal, "settings": {"collection": {"seats": []}}})
    _print_result(Console(file=out, width=40), result, started, runs_dir)
    return out.getvalue()


def test_the_end_names_its_evaluation_and_the_next_three_commands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ATTRACT_RUNS_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    evaluation = EvaluationView(
        policy_version=7,
        episodes=100,
        return_mean=496.1,
        return_std=30.0,
        length_mean=496.1,
        deterministic=True,
    )
    result = dataclasses.replace(
        _result("finished", goal_reached=True), evaluation=evaluation, export=str(tmp_path / "export")
    )
    printed = _printed(result, 475.0, Path("runs"))
    # 30 / sqrt(100) = 3
    assert "evaluated: v7, return 496.1 +- 3 (standard error) over 100 episodes" in printed
    lines = [line.split("#")[0].strip() for line in printed.split("next:\n")[1].splitlines()]
    assert lines == [
        "attract eval latest",
        "attract export latest --out policy --format js",
        "attract serve",
    ]
    # Each command finds the run where it was kept.
    elsewhere = _printed(result, 475.0, tmp_path / "my runs").split("next:\n")[1].splitlines()
    assert [line.count(f"--runs-dir '{tmp_path}/my runs'") for line in elsewhere] == [1, 1, 1]
    assert "next:" not in _printed(_result("failed"), None, Path("runs"))


def test_whether_the_goal_is_reached_is_null_without_a_goal() -> None:
    reached = _result("finished", goal_reached=True)
    assert train_answer(reached, 9.0).goal_reached is True
    assert train_answer(_result("finished"), 9.0).goal_reached is False
    assert train_answer(_result("finished"), None).goal_reached is None


def test_a_run_that_failed_before_its_first_update_says_why_alone() -> None:
    failed = dataclasses.replace(_result("failed"), agent_steps=0, updates=0, error="another action space")
    assert _printed(failed, None, Path("runs")) == "error: another action space\n"
    later = dataclasses.replace(failed, updates=1)
    assert _printed(later, None, Path("runs")).startswith("failed: 0 steps in 1 updates, ")


class Said(Display):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    @override
    def updated(self, run: RunView, values: Mapping[str, float]) -> None: ...

    @override
    def refreshed(self, run: RunView) -> None: ...

    @override
    def say(self, text: str) -> None:
        self.lines.append(text)

    @override
    def reported(self, report: GameReport) -> None: ...


def run(waiting_seconds: float | None, state: RunState = "running") -> RunView:
    return run_view(state=state, waiting_seconds=waiting_seconds)


def test_scale_03_it_says_once_since_when_nobody_plays_with_the_link_and_when_they_are_back() -> None:
    said = Said()
    narrator = narrated(said, "http://a/join.html#token=x")
    narrator.looked(run(None), 0.0, last_left_seconds=None, has_workers=False)
    for seconds in (5.2, 6.0, 90.0):
        narrator.looked(run(seconds), 0.0, last_left_seconds=seconds, has_workers=False)
    assert said.lines == [
        "waiting for workers: the last one left 5 s ago\n"
        "  join: http://a/join.html#token=x\n"
        "  or: attract join 'http://a/join.html#token=x'"
    ]
    narrator.looked(run(None), 0.0, last_left_seconds=None, has_workers=True)
    assert said.lines[1:] == ["workers joined after 1:30"]


def test_scale_03_a_browser_of_its_own_has_time_to_start() -> None:
    said = Said()
    narrator = narrated(said, has_own=True)
    narrator.looked(run(12.0, "starting"), 0.0, last_left_seconds=None, has_workers=False)
    assert said.lines == []
    narrator.looked(run(30.1, "starting"), 0.0, last_left_seconds=None, has_workers=False)
    assert said.lines[0].startswith("waiting for workers: none has joined yet")


def test_scale_03_a_run_that_is_over_waits_for_nobody() -> None:
    said = Said()
    narrator = narrated(said)
    narrator.looked(run(7.0), 0.0, last_left_seconds=7.0, has_workers=False)
    narrator.looked(run(None, "finished"), 0.0, last_left_seconds=None, has_workers=False)
    assert len(said.lines) == 1


def test_scale_03_nobody_is_there_where_a_run_is_stopped_before_anybody_came() -> None:
    said = Said()
    narrator = narrated(said)
    narrator.looked(run(464.0), 0.0, last_left_seconds=None, has_workers=False)
    narrator.looked(run(None), 0.0, last_left_seconds=None, has_workers=False)
    assert len(said.lines) == 1


def test_before_the_first_update_there_is_a_line_at_least_every_ten_seconds() -> None:
    said = Said()
    narrator = narrated(said, due=105.0)
    joined: Any = {"last_left_seconds": None, "has_workers": True}
    warming = run(None).model_copy(
        update={"beginning": BeginningView(stage="warmup", seconds=4.0, steps=100, total_steps=2048)}
    )
    for tenth in range(300):
        narrator.looked(warming, 100.0 + tenth / 10, **joined)
    assert len(said.lines) == 3, "at 5, 15 and 25 s"
    narrator.looked(run(None), 300.0, **joined)
    assert len(said.lines) == 3, "nothing after the first update"
    narrator.looked(warming.model_copy(update={"waiting_seconds": 7.0}), 400.0, **joined)
    assert [line.split(":")[0] for line in said.lines[3:]] == ["waiting for workers"]
