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


@dataclass(frozen=True)
class TestedGame:
    """Where the tests find the game."""

    __test__ = False

    module: Path | None
    """None: bundled with Attract, or a page's."""
    site: Path | str | None
    """The adapter's folder, or the address, of a game in a page."""
    known: Sequence[str]
    """Texts of errors that the baseline has."""


def write_outputs(
    outputs: Outputs,
    report: Report,
    build: Build | None,
    game: TestedGame,
    curve: Sequence[tuple[float, float]] = (),
    pictures: Mapping[int, EpisodePictures] | None = None,
) -> tuple[Report, list[str]]:
    """Write all; the report with the names of its files, and the lines to print.

    Args:
        curve: as of `step_summary`.
        pictures: as of `ShownGame`.

    Raises: ConfigurationError: something cannot be written.
    """
    folder = outputs.folder
    if build is not None:
        report = _save_findings(folder, report, build, game)
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


def _save_findings(folder: Path, report: Report, build: Build, game: TestedGame) -> Report:
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
        tested = _tested(folder, build, game)
        text = None if tested is None else playwright_test(finding, tested, game.known)
        if text is not None:
            write_output(folder / f"{name}{TEST_SUFFIX}", text.encode())
            finding = finding.model_copy(update={"test_file": f"{name}{TEST_SUFFIX}"})
            has_tests = True
        saved.append(finding)
    if has_tests:
        with writing(folder):
            write_player(folder, build.module.code if build.description.page is not None else None)
    return report.model_copy(update={"findings": saved})


def _tested(folder: Path, build: Build, game: TestedGame) -> TestedModule | TestedPage | None:
    page = build.description.page
    folder = folder.resolve()
    if page is None:
        return None if game.module is None else TestedModule(os.path.relpath(game.module, folder))
    if game.site is None:
        return None
    if isinstance(game.site, str):
        return TestedPage(game.site, "")
    return TestedPage(os.path.relpath(game.site, folder), page)
