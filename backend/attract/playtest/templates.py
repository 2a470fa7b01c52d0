"""The templates of reports, with the words and numbers that several of them show."""

import html
import re
import shlex
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from attract.playtest.report import BuildFinding, PlayerOutcome, Report
from attract.runs.plain_text import plain

MAX_LINE: Final = 400
"""Characters of a quoted text: a game's error may have any size."""
FAMILIES: Final = {"hold": "held actions", "recorded": "recorded episodes"}
"""Players that are so many and so alike that a text has them in one line."""
FEW_EPISODES: Final = 10
"""Of all players together: fewer show little."""


def verdict_text(report: Report) -> str:
    if report.verdict == "not_played":
        first, *_ = (report.problem or "no reason is known").strip().splitlines()
        return f"not played: {plain(first, MAX_LINE)}"
    more = left_out_text(report)
    warned = [finding.id for finding in report.findings if finding.level == "warn"]
    found = [finding.id for finding in report.findings if finding.level != "warn"]
    returns = {player.return_mean for player in report.players}
    unseen = ""
    if returns == {0}:
        unseen = ", and no player scored: what comes after a first point was not played"
    elif returns == {None}:
        unseen = ", and no score is known: nor is how far it was played"
    is_short = 0 < report.episodes < FEW_EPISODES
    few = f", in {_count(report.episodes, 'episode')} alone: give more --seconds" if is_short else ""
    plays = f"plays: no finding{unseen}{few}"
    parts = [f"{_count(len(found), 'finding')}: {', '.join(found)}" if found else plays]
    parts += [f"{_count(len(warned), 'warning')}: {', '.join(warned)}"] if warned else []
    return "; ".join([*parts, *([more] if more else [])])


def left_out_text(report: Report) -> str:
    """What was seen and not replayed; empty: nothing."""
    if not report.left_out:
        return ""
    what = "cause of an error was" if report.left_out == 1 else "causes of errors were"
    return f"{report.left_out} more {what} seen and not replayed: mend these first"


def place_text(finding: BuildFinding) -> str:
    """`file:line:column` as far as it is known; empty where it is not."""
    if finding.file is None:
        return ""
    numbers = [finding.line, finding.column] if finding.line is not None else []
    return ":".join([plain(finding.file), *(str(number) for number in numbers if number is not None)])


def moment_text(finding: BuildFinding) -> str:
    """Who played, and when it happened: `random, at 2.1 s (step 63)`; empty where nothing is known."""
    parts = [] if finding.device is None else [finding.device]
    parts += [] if finding.player is None else [plain(finding.player)]
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


def player_text(outcome: PlayerOutcome) -> str:
    """Its name, with the device if there are several."""
    return outcome.player if outcome.device is None else f"{outcome.device} {outcome.player}"


def replay_of(finding: BuildFinding, folder: str = "") -> str | None:
    """The command that plays it again; None: it is seen in no single episode, or the page has no adapter."""
    if finding.episode_file is None:
        return None
    return replay_command(beside(folder, finding.episode_file), finding.replay_game)


def replay_command(file: str, game: str | None) -> str | None:
    """The command that plays an episode of a game again; None: its page has no adapter."""
    return None if game is None else f"attract replay {shlex.quote(file)} --game {shlex.quote(game)}"


def next_command(report: Report, folder: str) -> str:
    """What to type after a build that does not play: the test of a finding, else a look at the game."""
    tests = [finding.test_file for finding in report.findings if finding.test_file is not None]
    if tests:
        return f"npx playwright test {beside(folder, tests[0])}"
    return f"attract {'ci' if report.findings else 'look'} {shlex.quote(plain(report.game))}"


def beside(folder: str, name: str) -> str:
    """The path of `name` in `folder`, which may be empty."""
    return f"{folder.rstrip('/')}/{name}" if folder else name


def ends_text(ended: Mapping[str, int]) -> str:
    """How often episodes ended in which way."""
    return ", ".join(f"{plain(reason)} {count}" for reason, count in sorted(ended.items()))


WEB: Final = Path(__file__).parents[1] / "web"
FOLDERS: Final = (Path(__file__).parent / "templates", WEB / "report-page")


def rendered(template: str, escape: Callable[[Any], str], **values: object) -> str:
    """A template with `values`.

    Args:
        escape: what the format makes of each value but numbers and `Markup`: no template can forget it.
    """
    return _environment(escape).get_template(template).render(values)


def html_text(text: object) -> str:
    """The `escape` of HTML; control characters are written out, as in a terminal."""
    return html.escape(plain(str(text)))


def _number(value: float | None, unknown: str = "", digits: int = 4) -> str:
    """`value` with so many significant digits."""
    return unknown if value is None else f"{value:.{digits}g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _code(text: str) -> Markup:
    return Markup(f"`{re.sub('[`|]', '', text)}`" if text else "")


def _comment(text: str) -> Markup:
    """Text that ends no comment's line."""
    return Markup(re.sub(r"\s+", " ", plain(text, 300)))


FILTERS: Final[dict[str, Callable[..., object]]] = {
    "plain": plain,
    "number": _number,
    "counted": _count,
    "verdict": verdict_text,
    "place": place_text,
    "moment": moment_text,
    "who": player_text,
    "replay": replay_of,
    "beside": beside,
    "ends": ends_text,
    "code": _code,
    "comment": _comment,
}


@cache
def _environment(escape: Callable[[Any], str]) -> Environment:
    def escaped(value: object) -> object:
        return value if isinstance(value, int | float | Markup) else Markup(escape(value))

    environment = Environment(
        loader=FileSystemLoader(FOLDERS),
        autoescape=True,
        finalize=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS)
    return environment


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
        families={
            f"{family}-K": (what, [each for each in report.players if each.player.startswith(f"{family}-")])
            for family, what in FAMILIES.items()
        },
        width=max((len(plain(player_text(outcome))) for outcome in report.players), default=0),
    )  # fmt: skip
    return text.removesuffix("\n").split("\n")
