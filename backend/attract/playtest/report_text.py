"""The report as text for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Final

from attract.playtest.report import Finding, OracleState, Report
from attract.runs.plain_text import plain

MAX_LINE: Final = 400
"""Characters of a quoted text: a game's error may have any size."""
MAX_LINES: Final = 20
"""Further lines of what a bundler says."""
SHORT_HASH: Final = 12


def text_lines(report: Report, folder: str = "") -> list[str]:
    """The report, one line each, for people; the last line is the verdict.

    Args:
        folder: where the files of the findings are, as the reader names it; empty: here.

    Returns: lines without control characters, whatever the game's errors hold.
    """
    if report.verdict == "not_played":
        first, *others = (report.problem or "no reason is known").strip().splitlines()
        return [f"{plain(report.game)} was not played: {plain(first)}", *map(plain, others[:MAX_LINES])]
    lines = [_build_line(report), _played_line(report), *_player_lines(report)]
    for finding in report.findings:
        lines += ["", *_finding_lines(finding, folder)]
    if report.findings:
        lines.append("")
    lines += [f"in the baseline too: {one_line(finding)}" for finding in report.known]
    lines += _oracle_lines(report.oracles)
    return [*lines, verdict_text(report)]


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


def one_line(finding: Finding) -> str:
    """Id, sentence and place."""
    place = place_text(finding)
    at = f" ({place})" if place else ""
    return f"{finding.id}: {plain(finding.text, MAX_LINE)}{at}"


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


def _build_line(report: Report) -> str:
    baseline = "no baseline"
    if report.baseline_build is not None:
        same = " (the same build)" if report.baseline_build == report.build else ""
        baseline = f"baseline {report.baseline_build[:SHORT_HASH]}{same}"
    return f"{plain(report.game)}, build {report.build[:SHORT_HASH]}, {baseline}"


def _played_line(report: Report) -> str:
    players = len(report.players)
    whom = "1 player" if players == 1 else f"{players} players"
    episodes = "1 episode" if report.episodes == 1 else f"{report.episodes} episodes"
    return f"played: {whom}, {episodes}, {report.seconds:.0f} s"


def _player_lines(report: Report) -> list[str]:
    """A table: one line per player, at most one per kind of held action."""
    if not report.players:
        return []
    held = [outcome for outcome in report.players if outcome.player.startswith("hold-")]
    rows = [outcome for outcome in report.players if outcome not in held]
    width = max(len(plain(outcome.player)) for outcome in report.players)
    lines = [
        f"  {plain(outcome.player):{width}}  {outcome.episodes:6} episodes  "
        f"return {_number(outcome.return_mean):>8}  length {_number(outcome.length_mean):>7} steps"
        for outcome in rows
    ]
    if held:
        episodes = sum(outcome.episodes for outcome in held)
        lines.append(f"  {'hold-K':{width}}  {episodes:6} episodes  of {len(held)} held actions")
    return lines


def _finding_lines(finding: Finding, folder: str) -> list[str]:
    place, moment = place_text(finding), moment_text(finding)
    lines = [f"{finding.id}: {plain(finding.text, MAX_LINE)}"]
    if place:
        lines.append(f"  at {place}")
    if moment:
        lines.append(f"  played by {moment}" if finding.player is not None else f"  {moment}")
    command = replay_command(finding, folder)
    if command is not None:
        lines.append(f"  {command}")
    if finding.test_file is not None:
        lines.append(f"  npx playwright test {beside(folder, finding.test_file)}")
    return lines


def _oracle_lines(oracles: Sequence[OracleState]) -> list[str]:
    """What passed in one line, and what was not judged in one line for each reason."""
    passed = [state.oracle for state in oracles if state.state == "passed"]
    lines = [f"passed: {', '.join(passed)}"] if passed else []
    reasons: dict[str, list[str]] = {}
    for state in oracles:
        if state.state == "not_judged":
            reasons.setdefault(plain(state.note, MAX_LINE), []).append(state.oracle)
    for reason, names in reasons.items():
        lines.append(f"not judged: {', '.join(names)}{f' ({reason})' if reason else ''}")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
