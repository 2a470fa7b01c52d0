import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from attract.commands.ci_output import Outputs, write_outputs
from attract.errors import ConfigurationError
from attract.games.library import GameModule
from attract.playtest.findings import Build
from attract.playtest.playwright_test import TestedModule
from attract.playtest.report import Report
from attract.runs.episode_files import read_episode
from fake_worker import counting_game
from playtest_reports import failed, found, report
from recorded_episodes import recorded
from socket_fleet import DESCRIPTION

BUILD = Build(GameModule(counting_game(), b"export default {}", None), DESCRIPTION)


def test_a_finding_is_an_episode_and_a_test_beside_it(tmp_path: Path) -> None:
    out = tmp_path / "attract-ci"
    finding = found(recorded(), id="changed:return:lower", episode_file=None, test_file=None)
    error = found(recorded(error="gone"), episode_file=None, test_file=None)
    game = TestedModule("../src/game.ts")
    whole, lines = write_outputs(Outputs(out), failed(finding, error), BUILD, game)
    first, second = whole.findings
    assert first.episode_file == "01-changed-return-lower.episode.json"
    assert read_episode(out / first.episode_file).num_steps == recorded().num_steps
    assert second.test_file == "02-error.spec.ts"
    assert '"../src/game.ts"' in (out / second.test_file).read_text()
    assert (out / "attract-test.js").is_file()
    assert any("attract replay" in line and "02-error.episode.json" in line for line in lines)


def test_the_report_of_the_last_build_is_kept_beside_its_episodes(tmp_path: Path) -> None:
    out = tmp_path / "attract-ci"
    error = found(recorded(error="gone"), episode_file=None, test_file=None)
    written, _ = write_outputs(Outputs(out), failed(error), BUILD)
    kept = Report.model_validate_json((out / "report.json").read_text())
    assert kept.version == 1
    assert [finding.episode_file for finding in kept.findings] == ["01-error.episode.json"]
    assert kept.model_dump() == written.model_dump()
    _, lines = write_outputs(Outputs(out), report(), BUILD)
    assert Report.model_validate_json((out / "report.json").read_text()).verdict == "plays"
    assert lines[-1] == "plays: no finding"
    # A game that cannot be loaded has no build.
    stopped = Report(game="game.ts", build="", verdict="not_played", problem="no browser")
    write_outputs(Outputs(out), stopped, None)
    assert Report.model_validate_json((out / "report.json").read_text()).problem == "no browser"


def test_every_form_that_is_asked_for_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    outputs = Outputs(tmp_path / "o", tmp_path / "new" / "junit.xml", tmp_path / "report.html", github=True)
    _, lines = write_outputs(outputs, failed(found(recorded(error="gone"))), BUILD)
    suite = ElementTree.parse(tmp_path / "new" / "junit.xml").getroot()
    assert len(list(suite.iter("failure"))) == 1
    assert "<html" in (tmp_path / "report.html").read_text()
    assert any(line.startswith("::error file=src/game.ts,line=41") for line in lines)
    assert "error" in summary.read_text()


def test_a_file_that_cannot_be_written_is_said_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError):
        Outputs(tmp_path, junit=tmp_path / "file" / "junit.xml").check()
