"""Reports from templates, in which each format escapes all that it shows."""

import html
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from attract.playtest import report_words as words
from attract.playtest.report import Report
from attract.runs.plain_text import plain

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
    "verdict": words.verdict_text,
    "place": words.place_text,
    "moment": words.moment_text,
    "replay": words.replay_command,
    "beside": words.beside,
    "ends": words.ends_text,
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
        held=[outcome for outcome in report.players if outcome.player.startswith("hold-")],
        width=max((len(plain(outcome.player)) for outcome in report.players), default=0),
    )  # fmt: skip
    return text.removesuffix("\n").split("\n")
