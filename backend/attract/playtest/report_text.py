"""The report as text for a terminal."""

from attract.playtest.report import Report
from attract.playtest.templates import rendered
from attract.runs.plain_text import plain


def text_lines(report: Report, folder: str = "") -> list[str]:
    """The report, one line each, for people; the last line is the verdict.

    Args:
        folder: where the files of the findings are, as the reader names it; empty: here.

    Returns: lines without control characters, whatever the game's errors hold.
    """
    not_judged: dict[str, list[str]] = {}
    for state in report.oracles:
        if state.state == "not_judged":
            not_judged.setdefault(plain(state.note, 400), []).append(state.oracle)
    text = rendered(
        "ci.txt.j2", plain,
        report=report, folder=folder, not_judged=not_judged,
        problem=(report.problem or "no reason is known").strip().splitlines(),
        passed=[state.oracle for state in report.oracles if state.state == "passed"],
        held=[outcome for outcome in report.players if outcome.player.startswith("hold-")],
        width=max((len(plain(outcome.player)) for outcome in report.players), default=0),
    )  # fmt: skip
    return text.removesuffix("\n").split("\n")
