"""The forms of a report: terminal, GitHub, JUnit, and the page of attract difficulty."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from attract.commands.difficulty import show
from attract.commands.json_output import json_text
from attract.commands.output import CommandConsole
from attract.commands.train_display import printable
from attract.playtest.difficulty import DifficultyReport, Step, ValueDifficulty
from attract.playtest.github_report import annotation_lines, append_summary, return_curve, step_summary
from attract.playtest.junit import junit_xml
from attract.playtest.report import OracleState, PlayerOutcome, Report
from attract.playtest.report_page import HEIGHT, MARGIN, WIDTH, ShownGame, page_of, report_page
from attract.playtest.templates import text_lines
from attract.runs.metrics import MetricsStore, UpdateRow
from attract.schema.match import Estimate
from recorded_episodes import BUILD, failed, found, recorded, report


def test_players_that_are_many_and_alike_have_one_line() -> None:
    players = [
        PlayerOutcome(player=f"recorded-{place}", episodes=2, return_mean=1.0, length_mean=9.0)
        for place in range(50)
    ]
    lines = text_lines(report(players=[*players, *report().players]), "")
    assert [line for line in lines if "episodes  " in line] == [
        "  idle             32 episodes  return     1.25  length      40 steps",
        "  hold-K           32 episodes  of 2 held actions",
        "  recorded-K      100 episodes  of 50 recorded episodes",
    ]


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
        "  attract replay playtest/error.episode.json --game src/game.ts",
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


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (0.0, 0.0, "no player scored"),
        (0.0, 0.5, None),
        (0.0, None, None),
        (None, None, "no score is known"),
    ],
)
def test_a_build_in_which_nobody_scored_says_so(
    first: float | None, second: float | None, says: str | None
) -> None:
    returns = {"idle": first, "random": second}
    players = [
        PlayerOutcome(player=name, episodes=2, return_mean=mean, length_mean=9.0)
        for name, mean in returns.items()
    ]
    last = text_lines(report(players=players))[-1]
    assert says in last if says is not None else last == "plays: no finding"


@pytest.mark.parametrize(("episodes", "says"), [(1, "in 1 episode alone: give more --seconds"), (10, None)])
def test_a_build_that_was_hardly_played_says_so(episodes: int, says: str | None) -> None:
    last = text_lines(report(episodes=episodes))[-1]
    assert last == "plays: no finding" + ("" if says is None else f", {says}")


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


def test_a_finding_is_an_error_at_its_line_below_the_repository(tmp_path: Path) -> None:
    text = "100% lost\r\nat once"
    error = found(recorded(), file=str(tmp_path / "games" / "a,b:c.ts"), text=text)
    assert annotation_lines(failed(error), "out", tmp_path) == [
        "::error file=games/a%2Cb%3Ac.ts,line=41,col=7,title=attract ci%3A error::100%25 lost%0D%0Aat once%0A"
        "random, at 2.1 s (step 21), replayed 2 times on a fresh copy"
        "%0Aattract replay out/error.episode.json --game src/game.ts"
    ]


def test_the_repository_is_that_of_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "game").mkdir()
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.chdir(tmp_path / "game")
    (line,) = annotation_lines(failed(found()))
    assert line.startswith("::error file=game/src/game.ts,line=41,col=7,")
    (nowhere,) = annotation_lines(failed(found(file=None)))
    assert nowhere.startswith("::error title=attract ci%3A error::TypeError")
    (problem,) = annotation_lines(report(verdict="not_played", problem="no\nbrowser"))
    assert problem == "::error title=attract ci::no%0Abrowser"
    lines = annotation_lines(failed(*[found() for _ in range(13)]))
    assert len(lines) == 11 and lines[-1].endswith("3 more findings are in the summary of the job")


def test_the_summary_has_findings_players_and_the_curve() -> None:
    known = found(id="retry-broken", oracle="retry-broken", text="differs")
    run = failed(found(recorded(), text="a | b `c` <i>"), known=[known])
    text = step_summary(run, [(0, 1.0), (1000, 2.5), (2000, 4.0)], "the artefact `playtest`")
    assert text.startswith("## ❌ src/game.ts: 1 finding: error\n")
    row = (
        "| **error** | a &#124; b &#96;c&#96; &lt;i&gt; "
        "| `src/game.ts:41:7` | random, at 2.1 s (step 21), replayed 2 times on a fresh copy "
        "| `error.episode.json` |"
    )
    assert row in text
    assert "| idle | 32 | 1.25 | 40 | terminated 32 |" in text
    assert "- **retry-broken** differs" in text and "- `leak`: too few episodes" in text
    assert 'x-axis "agent steps" 0 --> 2000' in text and "line [1, 2.5, 4]" in text
    assert "xychart" not in step_summary(run) and "✅" in step_summary(report())


def test_the_curve_is_that_of_a_training(tmp_path: Path) -> None:
    assert return_curve(tmp_path / "metrics.db") == []
    store = MetricsStore(tmp_path / "metrics.db")
    for update in range(1, 101):
        values = {"rollout/ep_rew_mean": float(update)} if update > 50 else {}
        row = UpdateRow(update, 1000 * update, 0, float(update), update, "", "", values)
        store.commit_update(row, {})
    store.close()
    curve = return_curve(tmp_path / "metrics.db")
    assert 10 <= len(curve) <= 40
    # Each point is the mean of its updates, of which every one has 1,000 steps for each unit of return.
    assert all(steps == pytest.approx(1000 * value, rel=0.03) for steps, value in curve)


def test_a_long_curve_keeps_its_ends() -> None:
    curve = [(float(step), float(step)) for step in range(1001)]
    (line,) = [each for each in step_summary(report(), curve).splitlines() if each.startswith("  line")]
    values = line.removeprefix("  line [").removesuffix("]").split(", ")
    assert (values[0], values[-1], len(values) <= 42) == ("0", "1000", True)


def test_a_summary_is_added_to_what_the_step_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert not append_summary("nowhere")
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    assert append_summary("## after ✅")
    assert file.read_text(encoding="utf-8") == "before\n## after ✅\n"


def test_a_summary_is_no_longer_than_github_takes() -> None:
    states = [OracleState(oracle="nan", state="not_judged", note="x" * 400) for _ in range(4000)]
    assert len(step_summary(report(oracles=states)).encode()) <= 1 << 20


COMMANDS = ("##[add-mask]x", "::error::x", "a\n  ::set-output name=a::b", "x ##[set-env name=A;]b")


@pytest.mark.parametrize("text", COMMANDS)
def test_hostile_no_text_of_a_game_is_a_command_of_the_log(text: str, tmp_path: Path) -> None:
    run = failed(found(recorded(error="gone"), text=text, file=f"{text}\0", player=text), game=text)
    shown = [*text_lines(run, "out"), *"\n".join(annotation_lines(run, "out", tmp_path)).splitlines()]
    shown += [printable(text), json_text(run)]
    for line in "\n".join(shown).splitlines():
        assert "##[" not in line
        assert not line.lstrip().startswith("::") or line.startswith(("::error file=", "::notice title="))


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
    assert text.endswith("attract replay playtest/error.episode.json --game src/game.ts")
    assert list(nan) == [] and [each.get("message") for each in leak] == ["too few episodes"]


def test_changed_has_a_case_for_each_number() -> None:
    names = ("changed:return:lower", "changed:keys:higher")
    numbers = [found(id=name, oracle="changed", text=name) for name in names]
    cases = [case.get("name") for case in parsed(failed(*numbers)).iter("testcase")]
    assert cases[:2] == list(names)
    unstated = parsed(report(findings=numbers, verdict="findings", oracles=[]))
    assert [case.get("name") for case in unstated.iter("testcase")] == cases[:2]


def test_a_game_that_was_not_played_is_an_error() -> None:
    (case,) = parsed(report(verdict="not_played", problem="no <page>", oracles=[])).iter("testcase")
    assert case.get("name") == "play" and [each.get("message") for each in case] == ["no <page>"]


def test_what_no_xml_may_hold_is_replaced() -> None:
    evil = "a\x00b\x1b[2J\ud800\ufffe"
    states = [OracleState.model_construct(oracle="nan", state="not_judged", note=evil)]
    error = found().model_copy(update={"text": evil, "stack": evil, "file": evil})
    changes = {"findings": [error], "known": [error], "verdict": "findings", "game": evil, "oracles": states}
    run = report().model_copy(update=changes)
    assert parsed(run).find("testcase/failure") is not None


def difficulty_report(*difficulties: float | None) -> DifficultyReport:
    nothing = Estimate(mean=None, low=20.0, high=None)
    rows = [
        ValueDifficulty(
            value=float(place),
            difficulty=None if mean is None else Estimate(mean=mean, low=mean, high=mean),
            win_rate=Estimate(mean=0.0, low=0.0, high=0.1),
            attempts=nothing,
            episode_return=Estimate(mean=1.0, low=None, high=None),
            length=Estimate(mean=10.0, low=9.0, high=11.0),
            episodes=8,
            outside={"win_rate": "below"} if place == 0 else {},
        )
        for place, mean in enumerate(difficulties)
    ]
    return DifficultyReport(
        game="<b>game</b>",
        build="",
        parameter="a&b",
        verdict="inside",
        values=rows,
        seeds=4,
        players=["idle"],
    )


def chart(report: DifficultyReport) -> str:
    page = page_of(report)
    return page[page.index("<svg") : page.index("</svg>") + len("</svg>")]


def test_the_chart_has_each_value_at_its_place() -> None:
    drawing = ElementTree.fromstring(chart(difficulty_report(0.0, 1.0, 0.5)))
    lines = [element.attrib["points"] for element in drawing.iter("polyline")]
    bottom, top = HEIGHT - MARGIN, MARGIN
    assert lines[0] == (
        f"{MARGIN}.0,{bottom}.0 {WIDTH / 2:.1f},{top}.0 {WIDTH - MARGIN}.0,{(bottom + top) / 2:.1f}"
    )
    assert [element.text for element in drawing.iter("text")][-2:] == ["difficulty", "win rate"]


def test_without_a_difficulty_the_win_rate_is_drawn_alone() -> None:
    assert chart(difficulty_report(None, None)).count("<polyline") == 1


def test_the_page_names_game_and_parameter_as_text_and_loads_nothing() -> None:
    page = page_of(difficulty_report(0.25, 0.5))
    assert "&lt;b&gt;game&lt;/b&gt;: difficulty by a&amp;b" in page
    assert not re.search(r"<script|src=|href=|url\(", page)
    assert '<tr class="outside"><td>0</td><td>0.25 (0.25 to 0.25)</td>' in page
    assert "<td>? (20 to ?)</td>" in page
    assert "win_rate below" in page


def test_a_table_that_is_piped_has_every_value_whole(capsys: pytest.CaptureFixture[str]) -> None:
    step = Step(before=0.0, now=1.0, differs=True, player="idle", number="return", p_value=1e-189)
    report = difficulty_report(0.25, 0.5).model_copy(
        update={"steps": [step], "bands": {"win_rate": (0.3, 0.7)}}
    )
    show(CommandConsole(), report)
    table = capsys.readouterr().out
    assert report.parameter in table and "win rate" in table and "…" not in table
    assert all(f"{row.value:g} " in table for row in report.values)
