"""The files of `attract ci`: reports, and of each finding its episode, its pictures and its test."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from attract.commands.ci import CiOptions
from attract.commands.destination import check_writable, write_output, writing
from attract.playtest.findings import Build
from attract.playtest.github_report import annotation_lines, append_summary, step_summary
from attract.playtest.junit import junit_xml
from attract.playtest.playwright_test import SUFFIX as TEST_SUFFIX
from attract.playtest.playwright_test import TestedModule, TestedPage, playwright_test, write_library
from attract.playtest.report import BuildFinding, Report, joined
from attract.playtest.report_page import EpisodePictures, ShownGame, report_page
from attract.playtest.templates import text_lines, verdict_text
from attract.runs.episodes import SUFFIX, written
from attract.schema.devices import DeviceName

REPORT: Final = "report.json"
"""Name of the report in the output folder: what `--json` prints."""


@dataclass(frozen=True)
class DevicePlay:
    """What came of a build on one device."""

    report: Report
    build: Build | None = None
    tested: TestedModule | TestedPage | None = None
    """Where the tests find the game; None: no test is written."""
    known_errors: Sequence[str] = ()
    """Texts of errors that the baseline has."""
    pictures: Mapping[int, EpisodePictures] = field(default_factory=dict[int, EpisodePictures])
    """As of `ShownGame`."""
    device: DeviceName | None = None
    """None: it is the only one."""


def check_outputs(options: CiOptions) -> None:
    """Raises: ConfigurationError: a file could not be written."""
    for path in (options.folder.absolute(), options.junit, options.html):
        if path is not None:
            check_writable(path)


def write_outputs(
    options: CiOptions,
    plays: Sequence[DevicePlay],
    curve: Sequence[tuple[float, float]] = (),
    seconds: float = 0.0,
) -> tuple[Report, list[str]]:
    """Write all; the report with the names of its files, and the lines to print.

    Args:
        plays: on each device.
        curve: as of `step_summary`.
        seconds: that all took.

    Raises: ConfigurationError: something cannot be written.
    """
    folder = options.folder.absolute()
    saved = [play.report if play.build is None else _save_findings(options, play) for play in plays]
    build = next((play.build for play in plays if play.build is not None), None)
    report, pictures = saved[0], plays[0].pictures
    on_each: list[tuple[DeviceName, Report]] = [
        (play.device, own) for play, own in zip(plays, saved, strict=True) if play.device is not None
    ]
    if on_each:
        report, pictures, first = joined(on_each), {}, 0
        for play in plays:
            pictures |= {first + place: each for place, each in play.pictures.items()}
            first += len(play.report.findings)
    report = report.model_copy(update={"seconds": seconds, "summary": verdict_text(report)})
    # Also of a build that plays: the report of an earlier one would stay.
    write_output(folder / REPORT, report.model_dump_json(indent=1).encode())
    shown = os.path.relpath(folder)
    lines = text_lines(report, shown)
    if options.junit is not None:
        write_output(options.junit, junit_xml(report, shown).encode())
    if options.html is not None and build is not None:
        code = None if build.description.page is not None else build.module.code
        page = report_page(report, ShownGame(build.description.id, code, pictures), shown)
        write_output(options.html, page.encode())
    if options.github:
        lines += annotation_lines(report, shown)
        append_summary(step_summary(report, curve, f"`{shown}`"))
    return report, lines


def _save_findings(options: CiOptions, play: DevicePlay) -> Report:
    """Write the episode of each finding, its sheet of pictures, and its test where one can show it."""
    folder, report, build, pictures = options.folder.absolute(), play.report, play.build, play.pictures
    prefix = "" if play.device is None else f"{play.device}-"
    saved: list[BuildFinding] = []
    has_tests = False
    for number, finding in enumerate(report.findings, 1):
        if finding.episode is None:
            saved.append(finding)
            continue
        name = f"{prefix}{number:02d}-{''.join(c if c.isalnum() or c == '-' else '-' for c in finding.id)}"
        write_output(folder / f"{name}{SUFFIX}", written(finding.episode))
        finding = finding.model_copy(update={"episode_file": f"{name}{SUFFIX}"})
        if number - 1 in pictures and pictures[number - 1].sheet:
            write_output(folder / f"{name}.png", pictures[number - 1].sheet)
            finding = finding.model_copy(update={"sheet_file": f"{name}.png"})
        text = None if play.tested is None else playwright_test(finding, play.tested, play.known_errors)
        if text is not None:
            write_output(folder / f"{name}{TEST_SUFFIX}", text.encode())
            finding = finding.model_copy(update={"test_file": f"{name}{TEST_SUFFIX}"})
            has_tests = True
        saved.append(finding)
    if has_tests and build is not None:
        with writing(folder):
            if isinstance(play.tested, TestedPage):
                write_library(folder, build.module.code, play.tested.adapter)
            else:
                write_library(folder, None)
    return report.model_copy(update={"findings": saved})
