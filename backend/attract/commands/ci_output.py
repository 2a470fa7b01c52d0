"""The files that `attract ci` writes: report, episodes, tests, JUnit, HTML; and what GitHub is told."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attract.commands.destination import check_writable, write_output, writing
from attract.playtest.findings import Build
from attract.playtest.github_report import annotation_lines, append_summary, step_summary
from attract.playtest.junit import junit_xml
from attract.playtest.playwright_test import SUFFIX as TEST_SUFFIX
from attract.playtest.playwright_test import TestedModule, TestedPage, playwright_test, write_player
from attract.playtest.report import Finding, Report
from attract.playtest.report_page import EpisodePictures, ShownGame, report_page
from attract.playtest.report_text import text_lines
from attract.runs.episode_files import SUFFIX, written

REPORT: Final = "report.json"
"""Name of the report in the output folder: what `--json` prints."""


@dataclass(frozen=True)
class Outputs:
    """What is written beside the text."""

    folder: Path
    """For `REPORT`, and the findings' episodes and tests."""
    junit: Path | None = None
    html: Path | None = None
    github: bool = False

    def check(self) -> None:
        """Raises: ConfigurationError: a file could not be written."""
        for path in (self.folder, self.junit, self.html):
            if path is not None:
                check_writable(path)


def write_outputs(
    outputs: Outputs,
    report: Report,
    build: Build | None,
    tested: TestedModule | TestedPage | None = None,
    known_errors: Sequence[str] = (),
    curve: Sequence[tuple[float, float]] = (),
    pictures: Mapping[int, EpisodePictures] | None = None,
) -> tuple[Report, list[str]]:
    """Write all; the report with the names of its files, and the lines to print.

    Args:
        tested: where the tests find the game; None: no test is written.
        known_errors: texts of errors that the baseline has.
        curve: as of `step_summary`.
        pictures: as of `ShownGame`.

    Raises: ConfigurationError: something cannot be written.
    """
    folder = outputs.folder
    if build is not None:
        report = _save_findings(folder, report, build, tested, known_errors)
    # Also of a build that plays: the report of an earlier one would stay.
    write_output(folder / REPORT, report.model_dump_json(indent=1).encode())
    shown = os.path.relpath(folder)
    lines = text_lines(report, shown)
    if outputs.junit is not None:
        write_output(outputs.junit, junit_xml(report, shown).encode())
    if outputs.html is not None and build is not None:
        code = None if build.description.page is not None else build.module.code
        page = report_page(report, ShownGame(build.description.id, code, pictures or {}), shown)
        write_output(outputs.html, page.encode())
    if outputs.github:
        lines += annotation_lines(report, shown)
        append_summary(step_summary(report, curve, f"`{shown}`"))
    return report, lines


def _save_findings(
    folder: Path,
    report: Report,
    build: Build,
    tested: TestedModule | TestedPage | None,
    known_errors: Sequence[str],
) -> Report:
    """Write the episode of each finding, and its test where one can show it."""
    saved: list[Finding] = []
    has_tests = False
    for number, finding in enumerate(report.findings, 1):
        if finding.episode is None:
            saved.append(finding)
            continue
        name = f"{number:02d}-{''.join(c if c.isalnum() or c == '-' else '-' for c in finding.id)}"
        write_output(folder / f"{name}{SUFFIX}", written(finding.episode))
        finding = finding.model_copy(update={"episode_file": f"{name}{SUFFIX}"})
        text = None if tested is None else playwright_test(finding, tested, known_errors)
        if text is not None:
            write_output(folder / f"{name}{TEST_SUFFIX}", text.encode())
            finding = finding.model_copy(update={"test_file": f"{name}{TEST_SUFFIX}"})
            has_tests = True
        saved.append(finding)
    if has_tests:
        with writing(folder):
            write_player(folder, build.module.code if build.description.page is not None else None)
    return report.model_copy(update={"findings": saved})
