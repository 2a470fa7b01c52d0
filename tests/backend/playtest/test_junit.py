"""JUnit XML as Jenkins and GitLab read it."""

import xml.etree.ElementTree as ElementTree

from attract.playtest.junit import junit_xml
from attract.playtest.report import OracleState, Report
from playtest_reports import BUILD, failed, found, report
from recorded_episodes import recorded


def parsed(run: Report, folder: str = "") -> ElementTree.Element:
    text = junit_xml(run, folder)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    root = ElementTree.fromstring(text.encode())
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    cases = suite.findall("testcase")
    counts = {"tests": len(cases), "failures": len(suite.findall("*/failure"))}
    counts |= {"errors": len(suite.findall("*/error")), "skipped": len(suite.findall("*/skipped"))}
    for name, count in counts.items():
        assert suite.get(name) == root.get(name) == str(count), name
    return suite


def test_each_oracle_is_a_case_and_a_finding_its_failure() -> None:
    suite = parsed(failed(found(recorded())), "playtest")
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert properties == {"game": "src/game.ts", "build": BUILD, "baseline": "9f8e7d6c5b4a" + "0" * 52}
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "error", "nan", "leak", "unreached", "worse-policy",
    ]  # fmt: skip
    error, nan, leak, *_ = suite.iter("testcase")
    assert (error.get("classname"), error.get("file"), error.get("line")) == (
        "attract.src/game.ts", "src/game.ts", "41",
    )  # fmt: skip
    (failure,) = error
    assert failure.get("message") == "TypeError: cannot read <b>x</b> of undefined"
    text = failure.text or ""
    assert "src/game.ts:41:7" in text and "at update (src/game.ts:12:3)" in text
    assert text.endswith("attract replay playtest/error.episode.json")
    assert list(nan) == [] and [each.get("message") for each in leak] == ["too few episodes"]


def test_changed_has_a_case_for_each_number() -> None:
    names = ("changed:return:lower", "changed:keys:higher")
    numbers = [found(id=name, oracle="changed", text=name) for name in names]
    cases = [case.get("name") for case in parsed(failed(*numbers)).iter("testcase")]
    assert cases[:2] == list(names)
    unstated = parsed(report(findings=numbers, verdict="findings", oracles=[]))
    assert [case.get("name") for case in unstated.iter("testcase")] == cases[:2]


def test_a_game_that_was_not_played_is_an_error() -> None:
    (case,) = parsed(report(verdict="not_played", problem="no <page>")).iter("testcase")
    assert case.get("name") == "play" and [each.get("message") for each in case] == ["no <page>"]


def test_what_no_xml_may_hold_is_replaced() -> None:
    evil = "a\x00b\x1b[2J\ud800\ufffe"
    states = [OracleState.model_construct(oracle="nan", state="not_judged", note=evil)]
    error = found().model_copy(update={"text": evil, "stack": evil, "file": evil})
    changes = {"findings": [error], "known": [error], "verdict": "findings", "game": evil, "oracles": states}
    run = report().model_copy(update=changes)
    assert parsed(run).find("testcase/failure") is not None
