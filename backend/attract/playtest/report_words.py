"""Words that all forms of a report have."""

from collections.abc import Mapping
from typing import Final

from attract.playtest.report import Finding, Report
from attract.runs.plain_text import plain

MAX_LINE: Final = 400
"""Characters of a quoted text: a game's error may have any size."""


def verdict_text(report: Report) -> str:
    """The verdict in one line."""
    if report.verdict == "not_played":
        first, *_ = (report.problem or "no reason is known").strip().splitlines()
        return f"not played: {plain(first, MAX_LINE)}"
    more = left_out_text(report)
    and_more = f"; {more}" if more else ""
    if report.verdict == "plays":
        return f"plays: no finding{and_more}"
    number = len(report.findings)
    names = ", ".join(finding.id for finding in report.findings)
    return f"{number} {'finding' if number == 1 else 'findings'}: {names}{and_more}"


def left_out_text(report: Report) -> str:
    """What was seen and not replayed; empty: nothing."""
    if not report.left_out:
        return ""
    what = "cause of an error was" if report.left_out == 1 else "causes of errors were"
    return f"{report.left_out} more {what} seen and not replayed: mend these first"


def place_text(finding: Finding) -> str:
    """`file:line:column` as far as it is known; empty where it is not."""
    if finding.file is None:
        return ""
    numbers = [finding.line, finding.column] if finding.line is not None else []
    return ":".join([plain(finding.file), *(str(number) for number in numbers if number is not None)])


def moment_text(finding: Finding) -> str:
    """Who played, and when it happened: `random, at 2.1 s (step 63)`; empty where nothing is known."""
    parts = [] if finding.player is None else [plain(finding.player)]
    if finding.seconds is not None:
        step = "" if finding.step is None else f" (step {finding.step})"
        parts.append(f"at {finding.seconds:.1f} s{step}")
    elif finding.step is not None:
        parts.append(f"at step {finding.step}")
    if finding.confirmed:
        times = "once" if finding.confirmed == 1 else f"{finding.confirmed} times"
        has_episode = finding.episode is not None or finding.episode_file is not None
        parts.append(f"replayed {times} on a fresh copy" if has_episode else f"measured again {times}")
    return ", ".join(parts)


def replay_command(finding: Finding, folder: str = "") -> str | None:
    """The command that plays it again; None: it is seen in no single episode."""
    if finding.episode_file is None:
        return None
    return f"attract replay {beside(folder, finding.episode_file)}"


def beside(folder: str, name: str) -> str:
    """The path of `name` in `folder`, which may be empty."""
    return f"{folder.rstrip('/')}/{name}" if folder else name


def ends_text(ended: Mapping[str, int]) -> str:
    """How often episodes ended in which way."""
    return ", ".join(f"{plain(reason)} {count}" for reason, count in sorted(ended.items()))
