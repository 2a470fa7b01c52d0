"""The reports that `attract ci` wrote into folders of a project, with the episodes of their findings."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from attract.errors import FileError
from attract.files import read_file
from attract.runs.episodes import MAX_FILE_BYTES, read_episode
from attract.schema.recorded_episode import PlaytestFinding, PlaytestReport

log = logging.getLogger(__name__)

REPORT: Final = "report.json"
"""Name of the report in its folder."""
MAX_REPORT_BYTES: Final = 4 << 20
MAX_REPORTS: Final = 20
"""The newest of more are listed."""
MAX_EPISODES_BYTES: Final = 4 * MAX_FILE_BYTES
"""Bytes of all episodes in a list: those of further findings are not read."""


def list_reports(projects: Iterable[Path]) -> list[PlaytestReport]:
    """The reports in folders directly below `projects`, the newest first; other files are left out."""
    found = {path.resolve(): (path, project) for project in projects for path in project.glob(f"*/{REPORT}")}
    dated: list[tuple[float, PlaytestReport, Path]] = []
    for path, project in found.values():
        try:
            report = PlaytestReport.model_validate_json(read_file(path, MAX_REPORT_BYTES, project))
            written = path.stat().st_mtime
        except (FileError, OSError, ValidationError) as error:
            log.debug("%s is no report of attract ci: %s", path, error)
            continue
        dated.append((written, report, path.parent))
    dated.sort(key=lambda entry: entry[0], reverse=True)
    left = MAX_EPISODES_BYTES
    reports: list[PlaytestReport] = []
    for written, report, folder in dated[:MAX_REPORTS]:
        findings: list[PlaytestFinding] = []
        for finding in report.findings:
            finding, size = _with_episode(finding, folder, left)
            left -= size
            findings.append(finding)
        about = {
            "findings": findings,
            "folder": folder.name[:120],
            "written_at": datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"),
        }
        reports.append(report.model_copy(update=about))
    return reports


def _with_episode(finding: PlaytestFinding, folder: Path, left: int) -> tuple[PlaytestFinding, int]:
    """The finding with its episode, which has at most `left` bytes, and the bytes that were read."""
    plain = finding.model_copy(update={"episode": None, "problem": None})
    if finding.episode_file is None:
        return plain, 0
    path = folder / finding.episode_file
    try:
        size = path.stat().st_size if path.is_file() else 0
        if size > left:
            return plain.model_copy(update={"problem": "There are too many episodes to list them all."}), 0
        return plain.model_copy(update={"episode": read_episode(path, folder)}), size
    except (FileError, OSError) as error:
        problem = error.problem if isinstance(error, FileError) else str(error)
        return plain.model_copy(update={"problem": f"The file of its episode {problem}"}), 0
