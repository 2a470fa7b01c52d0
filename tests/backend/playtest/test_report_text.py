"""The report in a terminal."""

from attract.playtest.github_report import annotation_lines, step_summary
from attract.playtest.junit import junit_xml
from attract.playtest.report import OracleState
from attract.playtest.report_page import ShownGame, report_page
from attract.playtest.report_text import text_lines
from playtest_reports import failed, found, report
from recorded_episodes import recorded


def test_a_finding_has_its_place_moment_and_commands() -> None:
    lines = text_lines(failed(found(recorded()), seconds=12.3456), "playtest/")
    assert lines == [
        "src/game.ts, build 1a2b3c4d5e6f, baseline 9f8e7d6c5b4a",
        "played: 3 players, 64 episodes, 12 s",
        "  idle        32 episodes  return     1.25  length      40 steps",
        "  hold-K      32 episodes  of 2 held actions",
        "",
        "error: TypeError: cannot read <b>x</b> of undefined",
        "  at src/game.ts:41:7",
        "  played by random, at 2.1 s (step 21), replayed 2 times on a fresh copy",
        "  attract replay playtest/error.episode.json",
        "  npx playwright test playtest/error.spec.ts",
        "",
        "passed: nan",
        "not judged: leak (too few episodes)",
        "not judged: unreached, worse-policy (there is no baseline)",
        "1 finding: error",
    ]


def test_what_the_baseline_shows_too_is_one_line_each_and_no_finding() -> None:
    known = found(id="retry-broken", oracle="retry-broken", text="the second play differs", file=None)
    lines = text_lines(report(known=[known], baseline_build="1a2b3c4d5e6f" + "0" * 52))
    assert lines[0] == "src/game.ts, build 1a2b3c4d5e6f, baseline 1a2b3c4d5e6f (the same build)"
    assert lines[-3:] == [
        "in the baseline too: retry-broken: the second play differs",
        "passed: error, nan",
        "plays: no finding",
    ]


def test_a_game_that_was_not_played_says_why_in_the_lines_of_its_bundler() -> None:
    problem = "could not be bundled\n\x1b[31m✘ Expected }\n\n  src/game.ts:2:0:"
    lines = text_lines(report(verdict="not_played", problem=problem, players=[], oracles=[]))
    assert lines == [
        "src/game.ts was not played: could not be bundled",
        "\\x1b[31m✘ Expected }",
        "",
        "  src/game.ts:2:0:",
    ]


def test_a_finding_without_place_and_player_has_no_empty_line() -> None:
    slow = found(
        id="slow",
        oracle="slow",
        text="a tick takes 30 ms",
        file=None,
        player=None,
        seconds=None,
        step=7,
        confirmed=0,
        episode_file=None,
        test_file=None,
    )
    lines = text_lines(report(verdict="findings", findings=[slow], baseline_build=None))
    assert lines[0].endswith(", no baseline")
    assert lines[5:8] == ["slow: a tick takes 30 ms", "  at step 7", ""]


def test_a_games_text_moves_no_cursor() -> None:
    evil = "\x1b[2J\r\nplays: no finding"
    run = failed(
        found(text=evil, file=evil, player=evil), game=evil,
        oracles=[OracleState(oracle="nan", state="not_judged", note=evil)],
    )  # fmt: skip
    for line in text_lines(run):
        assert line.isprintable()


def test_causes_that_were_not_replayed_are_counted_in_each_output() -> None:
    run = failed(found(recorded()), left_out=7)
    more = "7 more causes of errors were seen and not replayed: mend these first"
    assert text_lines(run)[-1] == f"1 finding: error; {more}"
    assert more in step_summary(run)
    assert annotation_lines(run)[-1] == f"::notice title=attract ci::{more}"
    assert f"<system-out>{more}</system-out>" in junit_xml(run)
    assert more in report_page(run, ShownGame("Snake", None, {}))
    assert '"left_out":7' in run.model_dump_json()
    (*_, one) = text_lines(failed(found(recorded()), left_out=1))
    assert one.endswith("; 1 more cause of an error was seen and not replayed: mend these first")
    assert "more" not in text_lines(failed(found(recorded())))[-1]
