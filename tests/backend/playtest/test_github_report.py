"""Annotations and the summary of a GitHub job."""

from pathlib import Path

import pytest

from attract.commands.json_output import json_text
from attract.commands.train_display import printable
from attract.playtest.github_report import annotation_lines, append_summary, return_curve, step_summary
from attract.playtest.report import OracleState
from attract.playtest.report_text import text_lines
from attract.runs.metrics import MetricsStore, UpdateRow
from playtest_reports import failed, found, report
from recorded_episodes import recorded


def test_a_finding_is_an_error_at_its_line_below_the_repository(tmp_path: Path) -> None:
    text = "100% lost\r\nat once"
    error = found(recorded(), file=str(tmp_path / "games" / "a,b:c.ts"), text=text)
    assert annotation_lines(failed(error), "out", tmp_path) == [
        "::error file=games/a%2Cb%3Ac.ts,line=41,col=7,title=attract ci%3A error::100%25 lost%0D%0Aat once%0A"
        "random, at 2.1 s (step 21), replayed 2 times on a fresh copy%0Aattract replay out/error.episode.json"
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
