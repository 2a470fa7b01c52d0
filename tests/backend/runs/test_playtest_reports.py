"""Reports of `attract ci` in a project: what it wrote, and files that others may have put there."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from attract.commands.ci_outputs import REPORT as WRITTEN
from attract.playtest.report import Report
from attract.runs import playtest_reports
from attract.runs.episodes import written
from attract.runs.playtest_reports import REPORT, list_reports
from recorded_episodes import failed, found, recorded, report

EPISODE = "01-error.episode.json"


def put(folder: Path, whole: Report, *, seconds: float = 0.0, **changes: Any) -> Path:
    """Write a report as the command does, `seconds` after 1970."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / REPORT
    path.write_text(json.dumps({**whole.model_dump(mode="json"), **changes}))
    os.utime(path, (seconds, seconds))
    return path


def with_episode(name: str = EPISODE) -> Report:
    return failed(found(episode_file=name), game_id="Counting-v1")


def test_the_reports_name_is_that_of_the_command():
    assert REPORT == WRITTEN


def test_a_finding_has_its_place_and_its_episode(tmp_path: Path):
    put(tmp_path / "attract-ci", with_episode(), seconds=60)
    (tmp_path / "attract-ci" / EPISODE).write_bytes(written(recorded(3.0)))
    (listed,) = list_reports([tmp_path])
    assert (listed.game_id, listed.folder, listed.written_at) == (
        "Counting-v1",
        "attract-ci",
        "1970-01-01T00:01:00+00:00",
    )
    (finding,) = listed.findings
    assert (finding.file, finding.line, finding.seconds, finding.problem) == ("src/game.ts", 41, 2.1, None)
    assert finding.episode is not None and finding.episode.returns == [3.0]


def test_the_newest_come_first_and_a_folder_of_two_projects_once(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(playtest_reports, "MAX_REPORTS", 2)
    for number, name in enumerate(["a", "c", "b"]):
        put(tmp_path / name, report(), seconds=number)
    assert [listed.folder for listed in list_reports([tmp_path, tmp_path / "b" / ".."])] == ["b", "c"]


def test_what_is_no_report_is_left_out(tmp_path: Path):
    put(tmp_path / "later", report(), version=2)
    put(tmp_path / "other", report(), format="junit")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / REPORT).write_text("{")
    (tmp_path / "folder" / REPORT).mkdir(parents=True)
    outside = put(tmp_path / "outside" / "reports", report())
    (tmp_path / "project" / "link").mkdir(parents=True)
    (tmp_path / "project" / "link" / REPORT).symlink_to(outside)
    assert list_reports([tmp_path, tmp_path / "project", tmp_path / "missing"]) == []


@pytest.mark.parametrize(
    ("name", "said"), [("../secret.episode.json", "leads out"), ("gone.episode.json", "no such file")]
)
def test_an_episode_that_cannot_be_read_is_said(tmp_path: Path, name: str, said: str):
    (tmp_path / "secret.episode.json").write_bytes(written(recorded()))
    put(tmp_path / "attract-ci", with_episode(name))
    (finding,) = list_reports([tmp_path])[0].findings
    assert finding.episode is None
    assert finding.problem is not None and said in finding.problem.lower()


def test_an_episode_is_never_taken_from_the_report_itself(tmp_path: Path):
    inside = {"id": "error", "text": "planted", "episode": recorded().model_dump(mode="json")}
    put(tmp_path / "attract-ci", report(), findings=[inside])
    assert list_reports([tmp_path])[0].findings[0].episode is None


def test_no_more_episodes_are_read_than_fit(tmp_path: Path, monkeypatch: Any):
    content = written(recorded())
    monkeypatch.setattr(playtest_reports, "MAX_EPISODES_BYTES", len(content))
    put(tmp_path / "attract-ci", failed(found(episode_file=EPISODE), found(episode_file=EPISODE)))
    (tmp_path / "attract-ci" / EPISODE).write_bytes(content)
    first, second = list_reports([tmp_path])[0].findings
    assert (first.problem, second.episode) == (None, None)
    assert second.problem is not None and "too many episodes" in second.problem
