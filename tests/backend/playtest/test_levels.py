"""Levels of findings and several devices: in every form of a report, and what a threshold changes."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from attract.commands.json_output import json_text
from attract.playtest.github_report import annotation_lines, step_summary
from attract.playtest.judge import dead_keys, judge_play, slow_ticks, small_leak
from attract.playtest.junit import junit_xml
from attract.playtest.outcomes import LENGTH, RETURN, Outcome, Outcomes
from attract.playtest.report import OracleState, PlayerOutcome, Report, joined
from attract.playtest.report_page import ShownGame, report_page
from attract.playtest.rules import Rule, Rules
from attract.playtest.templates import text_lines
from recorded_episodes import failed, found, recorded, report

WARNING = found(recorded(), id="slow", oracle="slow", text="a tick takes 40 ms", level="warn", file=None)


def test_a_warning_fails_nothing_in_any_form() -> None:
    run = failed(WARNING, verdict="plays")
    assert run.exit_code == 0
    lines = text_lines(run)
    assert "warning: slow: a tick takes 40 ms" in lines
    assert lines[-1] == "plays: no finding; 1 warning: slow"
    assert json.loads(json_text(run))["findings"][0]["level"] == "warn"
    suite = ElementTree.fromstring(junit_xml(run).encode())
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (case,) = [case for case in suite.iter("testcase") if case.get("name") == "slow"]
    assert (case.findtext("system-out") or "").startswith("warning: a tick takes 40 ms\n")
    (line,) = annotation_lines(run)
    assert line.startswith("::warning title=attract ci%3A slow::a tick takes 40 ms")
    assert "**slow** (warning)" in step_summary(run) and "## ✅" in step_summary(run)
    assert "<h3>Warning: slow</h3>" in report_page(run, ShownGame("Game", None))


def test_an_error_beside_a_warning_fails_and_is_annotated_first() -> None:
    run = failed(*[WARNING] * 10, found(recorded()))
    assert run.exit_code == 1
    assert text_lines(run)[-1].startswith("1 finding: error; 10 warnings: slow, ")
    lines = annotation_lines(run)
    assert lines[0].startswith("::error ") and lines[-1].startswith("::notice ")
    assert len(lines) == 11
    suite = ElementTree.fromstring(junit_xml(run).encode())
    assert suite.get("failures") == "1"


def test_each_finding_and_player_has_its_device_and_an_oracle_its_worst_state() -> None:
    players = [PlayerOutcome(player="idle", episodes=3, return_mean=1, length_mean=2)]
    states = [
        OracleState(oracle="error", state="not_judged", note="hangs"),
        OracleState(oracle="nan", state="found"),
    ]
    own = found(recorded(), id="nan", oracle="nan", text="x is 3")
    desktop = report(players=players)
    run = joined([("desktop", desktop), ("phone", failed(own, WARNING, players=players, oracles=states))])
    assert run.exit_code == 1 and run.episodes == 128
    assert [(each.id, each.device) for each in run.findings] == [("nan", "phone"), ("slow", "phone")]
    assert [(each.player, each.device) for each in run.players] == [("idle", "desktop"), ("idle", "phone")]
    assert [(each.oracle, each.state, each.note) for each in run.oracles] == [
        ("error", "not_judged", "phone: hangs"),
        ("nan", "found", ""),
    ]
    lines = text_lines(run)
    assert "  on phone, random, at 2.1 s (step 21), replayed 2 times on a fresh copy" in lines
    assert any(line.startswith("  phone idle  ") for line in lines)
    assert "not judged: error (phone: hangs)" in lines


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [(("plays", "findings"), 1), (("findings", "not_played"), 2), (("plays", "plays"), 0)],
)
def test_the_worst_device_gives_the_exit_code(verdicts: tuple[str, str], code: int) -> None:
    runs = [
        report(verdict=verdict, problem="no input" if verdict == "not_played" else None, oracles=[])
        for verdict in verdicts
    ]
    run = joined([("phone", runs[0]), ("tablet", runs[1])])
    assert run.exit_code == code
    assert run.problem == ("tablet: no input" if code == 2 else None)


def test_what_one_device_found_is_shown_though_another_was_not_played() -> None:
    gone = Report(game="g", build="", verdict="not_played", problem="no input")
    run = joined([("desktop", failed(found(recorded()))), ("phone", gone)])
    text = "\n".join(text_lines(run))
    assert "g was not played: phone: no input" in text and "error: TypeError" in text
    suite = ElementTree.fromstring(junit_xml(run).encode())
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")
    assert [line.split()[0] for line in annotation_lines(run)] == ["::error", "::error"]


def rules(**thresholds: dict[str, float]) -> Rules:
    return Rules(
        {name.replace("_", "-"): Rule.model_validate(["warn", own]) for name, own in thresholds.items()}
    )


def test_thresholds_are_those_of_the_project() -> None:
    was, now = {"slow/microseconds_per_tick": 100.0}, {"slow/microseconds_per_tick": 400.0}
    # 400 microseconds are 4 times 100, and 4 % of 10 ms.
    assert not slow_ticks(was, now, 0.01)
    assert not slow_ticks(was, now, 0.01, rules(slow={"times": 3}))
    assert slow_ticks(was, now, 0.01, rules(slow={"times": 3, "share": 0.03}))
    keys = {"dead-key/action 2": 0.2}, {"dead-key/action 2": 0.0}
    assert not dead_keys(*keys)
    assert dead_keys(*keys, rules(dead_key={"share": 0.2}))
    kept = {"leak/bytes_per_episode": 2_500.0}
    assert not small_leak(kept, Rules())
    assert not small_leak(kept, rules(leak={"kilobytes": 2}))
    assert small_leak(kept, rules(leak={"kilobytes": 3})) == {"leak"}


def test_a_share_of_the_trained_return_is_the_projects() -> None:
    def played(mean: float) -> dict[int, Outcome]:
        return {k: Outcome("terminated", {RETURN: mean, LENGTH: 10.0}) for k in range(8)}

    # Idle play reaches 4 of 10, random play nothing.
    now = Outcomes({"idle": played(4), "random": played(0), "trained:greedy": played(10)})
    assert not list(judge_play(None, now))
    (judged,) = judge_play(None, now, rules(won_without_input={"share": 0.4}))
    assert judged.id == "won-without-input"
