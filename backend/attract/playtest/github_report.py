"""The report as GitHub shows it: annotations in the log, and the summary of the job."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attract.playtest.report import BuildFinding, Report
from attract.playtest.templates import left_out_text, moment_text, rendered, replay_of
from attract.runs.metrics import MetricsStore
from attract.runs.plain_text import plain, without_commands

MAX_ANNOTATIONS: Final = 10
"""GitHub shows ten errors of a step."""
MAX_SUMMARY_BYTES: Final = 1 << 20
"""GitHub refuses a longer summary."""
CURVE_POINTS: Final = 40
RETURN_METRIC: Final = "rollout/ep_rew_mean"
MARKDOWN: Final = frozenset("\\`*_[]|~@")


def annotation_lines(report: Report, folder: str = "", workspace: Path | None = None) -> list[str]:
    """Workflow commands, one per finding, that GitHub shows at the line of the file.

    Args:
        folder: as of `text_lines`.
        workspace: the repository's folder, which paths are made relative to; None: `$GITHUB_WORKSPACE`, or
            the current folder.
    """
    root = workspace or Path(os.environ.get("GITHUB_WORKSPACE") or ".")
    lines: list[str] = []
    if report.verdict == "not_played":
        lines = [f"::error title=attract ci::{_data(report.problem or 'the game was not played')}"]
    findings = sorted(report.findings, key=lambda finding: finding.level == "warn")
    lines += [_annotation(finding, folder, root) for finding in findings[:MAX_ANNOTATIONS]]
    hidden = len(findings) - MAX_ANNOTATIONS
    if hidden > 0:
        lines.append(f"::notice title=attract ci::{hidden} more findings are in the summary of the job")
    if more := left_out_text(report):
        lines.append(f"::notice title=attract ci::{_data(more)}")
    return lines


def step_summary(
    report: Report, curve: Sequence[tuple[float, float]] = (), artifact: str | None = None
) -> str:
    """The summary in Markdown.

    Args:
        curve: (agent steps, mean return) of the training whose policy played; empty: there is none.
        artifact: where the files of the findings are, in words; None: nowhere.
    """
    stride = max(1, -(-len(curve) // CURVE_POINTS))
    shown = [*curve[:-1:stride], *curve[-1:]]
    text = rendered("ci.md.j2", _cell, report=report, curve=shown, artifact=artifact).removesuffix("\n")
    data = text.encode()
    return text if len(data) <= MAX_SUMMARY_BYTES else data[: MAX_SUMMARY_BYTES - 4].decode("utf-8", "ignore")


def return_curve(metrics: Path) -> list[tuple[float, float]]:
    """(agent steps, mean return) of a run's training, thinned; empty where there is none.

    Raises: FileError: the store is damaged.
    """
    if not metrics.is_file():
        return []
    store = MetricsStore(metrics)
    try:
        view = store.query("run", [RETURN_METRIC], max_points=CURVE_POINTS)
    finally:
        store.close()
    (series,) = view.series
    places = range(len(view.agent_steps)) if series.at is None else series.at
    return [(view.agent_steps[at], value) for at, value in zip(places, series.values, strict=True)]


def append_summary(text: str) -> bool:
    """Add to the summary of this step; whether there is one (`$GITHUB_STEP_SUMMARY`)."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return False
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")
    return True


def _annotation(finding: BuildFinding, folder: str, root: Path) -> str:
    properties: dict[str, str] = {}
    if finding.file is not None:
        properties["file"] = _below(finding.file, root)
        if finding.line is not None:
            properties["line"] = str(finding.line)
            if finding.column is not None:
                properties["col"] = str(finding.column)
    properties["title"] = f"attract ci: {finding.id}"
    moment, command = moment_text(finding), replay_of(finding, folder)
    text = "\n".join([finding.text, *(part for part in (moment, command) if part)])
    joined = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{'warning' if finding.level == 'warn' else 'error'} {joined}::{_data(text)}"


def _below(file: str, root: Path) -> str:
    path = Path(plain(file))
    whole = (path if path.is_absolute() else Path.cwd() / path).resolve()
    base = root.resolve()
    return whole.relative_to(base).as_posix() if whole.is_relative_to(base) else path.as_posix()


def _data(text: str) -> str:
    """As the runner's toolkit escapes a message."""
    return without_commands(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    """Text of the game's: no Markdown, no HTML, one line."""
    shown = plain(text, 500).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"&#{ord(each)};" if each in MARKDOWN else each for each in shown)
