"""The report as JUnit XML, as Jenkins, GitLab and the test reporters of GitHub read it."""

import re
import xml.etree.ElementTree as ElementTree
from typing import Final

from attract.playtest.report import Finding, Report
from attract.playtest.report_text import left_out_text, moment_text, place_text, replay_command
from attract.runs.plain_text import plain

SUITE: Final = "attract ci"
NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may have."""


def junit_xml(report: Report, folder: str = "") -> str:
    """One suite: a case per oracle, and one per number that `changed` or `unreached` found.

    A case fails with a finding, and is skipped where the oracle was not judged. Where the game was not
    played there is one case, `play`, with an error.

    Args:
        folder: as of `text_lines`.
    """
    suite = ElementTree.Element("testsuite", name=SUITE)
    properties = ElementTree.SubElement(suite, "properties")
    known = [("game", report.game), ("build", report.build), ("baseline", report.baseline_build or "none")]
    for name, value in known:
        ElementTree.SubElement(properties, "property", name=name, value=_valid(value))
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    if report.verdict == "not_played":
        case = _case(suite, report, "play")
        problem = _valid(report.problem or "not played")
        ElementTree.SubElement(case, "error", message=problem, type="not_played").text = problem
        counts["tests"] = counts["errors"] = 1
    for state in report.oracles if report.verdict != "not_played" else ():
        found = [finding for finding in report.findings if finding.oracle == state.oracle]
        for finding in found:
            _add_failure(_case(suite, report, finding.id, finding), finding, folder)
        counts["tests"] += max(len(found), 1)
        counts["failures"] += len(found)
        if found:
            continue
        case = _case(suite, report, state.oracle)
        if state.state == "not_judged":
            ElementTree.SubElement(case, "skipped", message=_valid(state.note))
            counts["skipped"] += 1
        elif state.note:
            ElementTree.SubElement(case, "system-out").text = _valid(state.note)
    # A finding is a failure also where its oracle has no state.
    stated = {state.oracle for state in report.oracles}
    for finding in report.findings:
        if finding.oracle not in stated and report.verdict != "not_played":
            _add_failure(_case(suite, report, finding.id, finding), finding, folder)
            counts["tests"] += 1
            counts["failures"] += 1
    said = [f"in the baseline too: {finding.id}: {finding.text}" for finding in report.known]
    said += [left_out_text(report)] if report.left_out else []
    if said:
        text = "\n".join(said)
        ElementTree.SubElement(suite, "system-out").text = _valid(text)
    time = {"time": f"{report.seconds:.3f}"}
    numbers = {name: str(value) for name, value in counts.items()}
    suite.attrib |= numbers | time
    root = ElementTree.Element("testsuites", {"name": SUITE, **numbers, **time})
    root.append(suite)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(
    suite: ElementTree.Element, report: Report, name: str, finding: Finding | None = None
) -> ElementTree.Element:
    place: dict[str, str] = {}
    if finding is not None and finding.file is not None:
        place["file"] = _valid(finding.file)
        if finding.line is not None:
            place["line"] = str(finding.line)
    classname = f"attract.{_valid(report.game)}"
    return ElementTree.SubElement(
        suite, "testcase", {"classname": classname, "name": _valid(name), "time": "0", **place}
    )


def _add_failure(case: ElementTree.Element, finding: Finding, folder: str) -> None:
    text = plain(finding.text)
    failure = ElementTree.SubElement(case, "failure", message=text, type=finding.oracle)
    parts = [
        text,
        place_text(finding),
        moment_text(finding),
        finding.stack or "",
        replay_command(finding, folder) or "",
    ]
    failure.text = _valid("\n".join(part for part in parts if part))


def _valid(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)
