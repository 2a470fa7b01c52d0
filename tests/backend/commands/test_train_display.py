"""What the terminal says, read back as a user would."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from attract.commands.train_display import (
    LiveDisplay,
    PlainDisplay,
    check_text,
    create_display,
    duration,
    finding_text,
    lesson_text,
    log_text,
    report_text,
)
from attract.run.notifications import SHOWN_NOTES
from attract.schema.api import CheckFinding, Finding, GameReport, LessonView, LogLine, RunView
from known_runs import run_view


def _plain(*views: RunView, values: dict[str, float] | None = None) -> list[str]:
    """What a pipe is told of these updates, in order."""
    out = io.StringIO()
    display = create_display(Console(file=out, width=40), "http://x")
    assert isinstance(display, PlainDisplay)
    with display:
        for view in views:
            display.updated(view, values or {})
            display.refreshed(view)
    return out.getvalue().splitlines()


def test_a_plain_line_tells_of_an_update_when_not_on_a_terminal() -> None:
    values = {"time/update_seconds": 0.0123, "fleet/steps_per_second": 2000.0}
    assert _plain(run_view(total_steps=40_000, steps_per_second=0.0), values=values) == [
        "update 3  20000 steps  2000 steps/s  10.0 s  return 123.5  10 s left  learner 12 ms"
    ]


def test_between_two_plain_lines_pass_five_seconds_or_a_sixtieth_and_the_last_update_is_told() -> None:
    seconds = [0.1, 1.0, 5.0, 5.2, 9.0, 10.3, 600.0, 606.0, 609.9, 610.1, 611.0, 611.5]
    lines = _plain(*(run_view(updates=place, elapsed_seconds=at) for place, at in enumerate(seconds)))
    # 610.1 - 600 is less than 610.1 / 60 = 10.17, 611 - 600 is more than 611 / 60 = 10.18.
    printed = [seconds[int(line.split()[1])] for line in lines]
    assert printed == [0.1, 5.2, 10.3, 600.0, 611.0, 611.5]


def test_the_first_return_is_told_at_once_and_before_it_that_no_episode_has_ended() -> None:
    views = [
        run_view(updates=place, elapsed_seconds=place / 10, episode_return_mean=mean)
        for place, mean in enumerate([None, None, 7.0, 8.0, 9.0])
    ]
    lines = _plain(*views)
    assert [line.split()[1] for line in lines] == ["0", "2", "4"]
    assert "no episode has ended yet" in lines[0] and "return 7" in lines[1]


def test_the_panel_tells_speed_time_return_and_where_the_time_goes() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120, color_system=None)
    with create_display(console, "http://127.0.0.1:8000/") as display:
        assert isinstance(display, LiveDisplay)
        display.updated(
            run_view(goal=475.0),
            {
                "fleet/game_fraction": 0.25,
                "fleet/inference_fraction": 0.5,
                "fleet/wait_fraction": 0.125,
                "time/update_seconds": 0.02,
            },
        )
    text = out.getvalue()
    for words in (
        "return 123.5 of 475",
        "steps/s 2,000",
        "elapsed 0:10",
        "game 25 %, policy 50 %, waiting 12 %, learner 20 ms an update",
        "http://127.0.0.1:8000/",
    ):
        assert words in text


LINK = "dashboard: http://127.0.0.1:8000/#token=" + "s5NOtnkAxKxZeWujTpcO-srzHeo779vHWfSpm8rbsuw"


def _on_terminal(width: int, *views: RunView, values: dict[str, float], said: str = "") -> list[str]:
    """The lines that a terminal of this width gets, without what moves the cursor."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None)
    with create_display(console, "http://127.0.0.1:8000") as display:
        for view in views:
            display.updated(view, values)
        if said:
            display.say(said)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", out.getvalue()).splitlines()


@pytest.mark.parametrize("width", [50, 60, 80, 120])
def test_no_line_of_the_panel_is_cut_or_runs_into_another_at_any_width(width: int) -> None:
    values = {
        "fleet/game_fraction": 0.25,
        "fleet/inference_fraction": 0.5,
        "fleet/wait_fraction": 0.125,
        "time/update_seconds": 0.02,
    }
    lines = _on_terminal(width, run_view(goal=475.0, total_steps=50_000), values=values)
    panel = [line for line in lines if line.startswith("│")]
    assert {len(line) for line in panel} == {width} and {line[-1] for line in panel} == {"│"}
    bars = [line for line in panel if "━" in line]
    assert bars and all(set(line) <= set("│ ━╸╺") for line in bars)
    text = " ".join(line.strip("│ ") for line in panel)
    assert "time: game 25 %, policy 50 %, waiting 12 %, learner 20 ms an update" in text
    # No figure is torn from its name.
    assert re.search(r"return 123\.5 of 475 +steps/s 2,000 +elapsed 0:10 +remaining 0:15", text)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_link_is_left_to_the_terminal_to_wrap_and_the_panel_below_it_is_not(width: int) -> None:
    lines = _on_terminal(width, run_view(total_steps=50_000), values={}, said=LINK)
    assert LINK in lines
    assert all(len(line) <= width for line in lines if line != LINK)


def test_remaining_time_is_left_out_where_it_is_unknown() -> None:
    for view in (run_view(goal=475.0), run_view(total_steps=50_000, state="evaluating")):
        assert not any("remaining" in line for line in _on_terminal(80, view, values={}))


@pytest.mark.parametrize(
    ("run", "seconds"),
    [
        # 30,000 steps are left, at 2,000 a second.
        ({"agent_steps": 20_000, "total_steps": 50_000, "elapsed_seconds": 10}, 15),
        ({"agent_steps": 60_000, "total_steps": 50_000, "elapsed_seconds": 10}, 0),
        ({"agent_steps": 20_000, "elapsed_seconds": 10}, None),
        ({"agent_steps": 0, "total_steps": 50_000, "elapsed_seconds": 10}, None),
        (
            {"agent_steps": 20_000, "total_steps": 50_000, "elapsed_seconds": 10, "state": "evaluating"},
            None,
        ),
    ],
)
def test_remaining_time_is_that_of_the_mean_speed(run: dict[str, Any], seconds: float | None) -> None:
    assert run_view(**run).remaining_seconds == seconds


@pytest.mark.parametrize(
    ("run", "share"),
    [
        ({"goal": 400, "episode_return_mean": 100}, 0.25),
        ({"goal": 400, "episode_return_mean": 800}, 1),
        ({"goal": 400, "episode_return_mean": -100}, 0),
        ({"goal": 400, "episode_return_mean": None}, 0),
        # Towards a goal below zero there is no scale.
        ({"goal": -100, "episode_return_mean": -300}, None),
        ({"goal": -100, "episode_return_mean": -50}, 1),
        ({"agent_steps": 3_000, "total_steps": 12_000}, 0.25),
        ({"goal": 400, "episode_return_mean": 100, "agent_steps": 6_000, "total_steps": 12_000}, 0.25),
        ({}, None),
    ],
)
def test_progress_is_towards_the_goal_or_the_last_step(run: dict[str, Any], share: float | None) -> None:
    assert run_view(**run).progress_share == share


def test_durations_read_like_a_clock() -> None:
    assert [duration(seconds) for seconds in (0.4, 61, 3723)] == ["0:00", "1:01", "1:02:03"]


def test_a_report_names_text_place_seed_and_stack() -> None:
    report = GameReport(
        kind="throw",
        name="TypeError",
        text="x is undefined",
        stack="at update (game.ts:3:1)",
        worker_index=1,
        slot_id=70,
        tick=1000,
        seed="00000000000000ff",
        step_values='action 1 ("right"), observation [0.5, NaN]',
    )
    assert report_text(report) == (
        "the game failed (throw): TypeError: x is undefined\n"
        "  worker 1, slot 70, tick 1000, seed 00000000000000ff\n"
        '  action 1 ("right"), observation [0.5, NaN]\n'
        "at update (game.ts:3:1)"
    )


def test_a_report_that_comes_again_is_one_line_and_a_stack_is_told_once() -> None:
    out = io.StringIO()
    report = GameReport(
        kind="throw", name="TypeError", text="update() threw: TypeError: x", stack="at u (g.ts:3)"
    )
    with create_display(Console(file=out, width=200), "a") as display:
        display.reported(report)
        display.reported(report.model_copy(update={"count": 2}))
        crash = {"kind": "crash", "text": "the game failed 10 times, the last time with: x"}
        display.reported(report.model_copy(update=crash))
    assert out.getvalue().splitlines() == [
        "the game failed (throw): update() threw: TypeError: x",
        "at u (g.ts:3)",
        "the game failed (throw): update() threw: TypeError: x (2 times so far)",
        "a worker crashed: the game failed 10 times, the last time with: x",
    ]


@pytest.mark.parametrize("kind", SHOWN_NOTES)
def test_a_note_of_the_server_is_not_told_as_a_failure_of_the_game(kind: str):
    note = GameReport(kind=kind, name="Note", text="10.0.0.1 is left out", stack=None)
    assert "the game failed" not in report_text(note)
    assert "10.0.0.1 is left out" in report_text(note)


def test_a_finding_reads_like_a_compiler_s() -> None:
    finding = CheckFinding(
        id="random",
        severity="error",
        text="the game calls Math.random() (once in all)",
        fix="draw from `random` of start()",
        file="g/catch.ts",
        line=6,
        column=38,
        stack="    at Catch.start (g/catch.ts:6:38)",
    )
    assert check_text(finding) == (
        "g/catch.ts:6:38: error: the game calls Math.random() (once in all) [random]\n"
        "  draw from `random` of start()"
    )
    thrown = finding.model_copy(update={"id": "contract", "file": None})
    assert check_text(thrown).splitlines()[-1] == "    at Catch.start (g/catch.ts:6:38)"
    assert check_text(thrown).startswith("error: ")


def test_what_a_game_logs_is_marked_and_what_a_terminal_would_obey_is_written_out() -> None:
    line = LogLine(level="warn", text="\x1b[31mred\x07\nnext\u202egnp", dropped=3)
    assert log_text(line) == (
        "game: (3 lines left out)\ngame (warn): \\x1b[31mred\\x07\n      next\\x202egnp"
    )
    assert log_text(LogLine(level="log", text="tab\there")) == "game: tab\there"
    report = GameReport(kind="throw", name="E", text="\x1b]0;title\x07", stack="\x9b31m")
    assert "\x1b" not in report_text(report)
    assert "\x9b" not in report_text(report)


def test_a_change_of_lesson_says_which_when_and_why() -> None:
    lesson = LessonView(
        name="medium",
        number=2,
        num_lessons=3,
        agent_steps=12_800,
        global_episode_index=79,
        reason="game/food was at least 5 3 times in a row, lastly 5.25",
    )
    assert lesson_text(lesson) == (
        "lesson 2 of 3, medium, after episode 79 and 12800 steps: "
        "game/food was at least 5 3 times in a row, lastly 5.25"
    )


def test_a_finding_is_a_sentence_with_its_name_and_what_to_try() -> None:
    finding = Finding(
        finding_id="kl-high",
        kind="learning",
        text="each update changes the policy too much: KL 0.5",
        value=0.5,
        advice="Take smaller steps: `--ppo.learning-rate 0.0005`",
        first_update=3,
        first_agent_steps=12_288,
    )
    assert finding_text(finding) == (
        "not learning? each update changes the policy too much: KL 0.5 (kl-high).\n"
        "  Take smaller steps: `--ppo.learning-rate 0.0005`."
    )
    slow = finding.model_copy(update={"kind": "speed"})
    assert finding_text(slow).startswith("slow? ")
    gone = finding.model_copy(update={"withdrawn": True})
    assert finding_text(gone) == "resolved: each update changes the policy too much: KL 0.5 (kl-high)"


def test_a_hang_says_why_it_has_no_stack() -> None:
    report = GameReport(kind="hang", name="Hang", text="silent for 5 s", stack=None)
    assert "no stack" in report_text(report)


NOT_THE_GAMES = [
    ("update", "UpdateDropped", "P8: the loss is nan", "an update was reverted: P8: the loss is nan"),
    ("verification", "Verification", "C7: worker 3", "experience was rejected: C7: worker 3"),
    ("crash", "WorkerCrash", "out of memory", "a worker crashed: out of memory"),
]


@pytest.mark.parametrize(("kind", "name", "text", "expected"), NOT_THE_GAMES)
def test_what_is_not_the_game_s_fault_is_not_laid_at_its_door(
    kind: str, name: str, text: str, expected: str
) -> None:
    report = GameReport(kind=kind, name=name, text=text, stack=None)
    assert report_text(report) == expected
    for terminal in (False, True):
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, width=120, color_system=None)
        with create_display(console, "a") as display:
            display.reported(report)
        assert expected in out.getvalue()
        assert "game" not in out.getvalue()


def test_markup_in_a_game_s_words_is_not_obeyed() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120, color_system=None)
    with create_display(console, "a") as display:
        display.say("[red]not red[/]")
        display.reported(GameReport(kind="throw", name="E", text="[/bold] [x]", stack="s"))
    assert "[red]not red[/]" in out.getvalue()
    assert "[/bold] [x]" in out.getvalue()
