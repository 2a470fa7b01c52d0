"""The report as JUnit XML, as Jenkins, GitLab and the test reporters of GitHub read it."""

import re
import xml.etree.ElementTree as ElementTree
from typing import Final

from attract.playtest.report import BuildFinding, Report
from attract.playtest.templates import left_out_text, moment_text, place_text, replay_of
from attract.runs.plain_text import plain

SUITE: Final = "attract ci"
NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may have."""


def junit_xml(report: Report, folder: str = "") -> str:
    """One suite: a case per oracle, and one per number that `changed` or `unreached` found.

    A case fails with a finding, prints a warning, and is skipped where the oracle was not judged.
    Where the game was not played there is a case `play` with an error.

    Args:
        folder: as of `text_lines`.
    """
    suite = ElementTree.Element("testsuite")
    properties = ElementTree.SubElement(suite, "properties")
    known = [("game", report.game), ("build", report.build), ("baseline", report.baseline_build or "none")]
    for name, value in known:
        ElementTree.SubElement(properties, "property", name=name, value=_valid(value))
    if report.verdict == "not_played":
        problem = _valid(report.problem or "not played")
        error = ElementTree.SubElement(
            _case(suite, report, "play"), "error", message=problem, type="not_played"
        )
        error.text = problem
    if report.oracles or report.verdict != "not_played":
        _add_cases(suite, report, folder)
    said = [f"in the baseline too: {finding.id}: {finding.text}" for finding in report.known]
    said += [left_out_text(report)] if report.left_out else []
    if said:
        ElementTree.SubElement(suite, "system-out").text = _valid("\n".join(said))
    counts = {"tests": "testcase", "failures": "*/failure", "errors": "*/error", "skipped": "*/skipped"}
    suite.attrib = {"name": SUITE, **{name: str(len(suite.findall(path))) for name, path in counts.items()}}
    suite.attrib["time"] = f"{report.seconds:.3f}"
    root = ElementTree.Element("testsuites", suite.attrib)
    root.append(suite)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add_cases(suite: ElementTree.Element, report: Report, folder: str) -> None:
    for state in report.oracles:
        found = [finding for finding in report.findings if finding.oracle == state.oracle]
        for finding in found:
            _add_failure(suite, report, finding, folder)
        if found:
            continue
        case = _case(suite, report, state.oracle)
        if state.state == "not_judged":
            ElementTree.SubElement(case, "skipped", message=_valid(state.note))
        elif state.note:
            ElementTree.SubElement(case, "system-out").text = _valid(state.note)
    # A finding is a failure also where its oracle has no state.
    stated = {state.oracle for state in report.oracles}
    for finding in report.findings:
        if finding.oracle not in stated:
            _add_failure(suite, report, finding, folder)


def _add_failure(suite: ElementTree.Element, report: Report, finding: BuildFinding, folder: str) -> None:
    case = _case(suite, report, finding.id)
    if finding.file is not None:
        case.attrib["file"] = _valid(finding.file)
        if finding.line is not None:
            case.attrib["line"] = str(finding.line)
    text = plain(finding.text)
    parts = [text, place_text(finding), moment_text(finding), finding.stack, replay_of(finding, folder)]
    said = _valid("\n".join(part for part in parts if part))
    if finding.level == "warn":
        ElementTree.SubElement(case, "system-out").text = f"warning: {said}"
        return
    ElementTree.SubElement(case, "failure", message=text, type=finding.oracle).text = said


def _case(suite: ElementTree.Element, report: Report, name: str) -> ElementTree.Element:
    classname = f"attract.{_valid(report.game)}"
    return ElementTree.SubElement(suite, "testcase", classname=classname, name=_valid(name), time="0")


def _valid(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)
