"""The HTML pages of `attract ci` and `attract difficulty`."""

import base64
import html
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from markupsafe import Markup

from attract.playtest.difficulty import DifficultyReport, ValueDifficulty
from attract.playtest.report import BuildFinding, Report
from attract.playtest.templates import WEB, html_text, rendered
from attract.schema.episode_actions import deflated
from attract.schema.match import Estimate
from attract.schema.recorded_episode import RecordedEpisode

WIDTH, HEIGHT, MARGIN = 720, 320, 48
CURVES: Final[tuple[tuple[str, str, Callable[[ValueDifficulty], Estimate | None]], ...]] = (
    ("difficulty", "#b3261e", lambda row: row.difficulty),
    ("win rate", "#1a6fb3", lambda row: row.win_rate),
)


def page_of(report: DifficultyReport) -> str:
    """The whole document, which loads nothing: the chart has difficulty and win rate with their intervals."""
    low, span = report.values[0].value, report.values[-1].value - report.values[0].value

    def x(value: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / span

    def y(share: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share

    def points(places: Sequence[tuple[float, float | None]]) -> str:
        return " ".join(f"{x(value):.1f},{y(share or 0.0):.1f}" for value, share in places)

    curves: list[tuple[str, str, str, str]] = []
    for name, color, number in CURVES:
        found = [(row.value, each) for row in report.values if (each := number(row)) is not None]
        highs = [(value, each.mean if each.high is None else each.high) for value, each in found]
        lows = [(value, each.mean if each.low is None else each.low) for value, each in reversed(found)]
        line = [(value, each.mean) for value, each in found]
        curves.append((name, color, points([*highs, *lows]), points(line)))
    return rendered(
        "difficulty.html.j2", html_text,
        report=report, curves=curves, x=x, y=y, width=WIDTH, height=HEIGHT, margin=MARGIN,
    )  # fmt: skip


LEAD_SECONDS: Final = 2.0
"""An episode opens so long before it happens."""
MAX_SHOWN: Final = 20
"""Episodes that the page holds: further findings have their command alone."""
OWN_SCRIPT: Final = re.compile(r'<script type="module" src="page.js"></script>')
OWN_POLICY: Final = "script-src 'self'; connect-src 'self'; frame-src 'self'"
INLINED_POLICY: Final = "script-src 'unsafe-inline' blob:"


@dataclass(frozen=True)
class EpisodePictures:
    """What is seen of an episode around a finding's moment."""

    seconds: Sequence[float]
    """Game time of each picture, ascending."""
    jpegs: Sequence[bytes]
    moment: float
    """Second at which it happens."""
    sheet: bytes = b""
    """PNG of some of them; empty: not drawn."""


@dataclass(frozen=True)
class ShownGame:
    """What the page shows episodes by."""

    title: str
    code: bytes | None
    """The bundled module, in which episodes are played; None: the game lives in a page."""
    pictures: Mapping[int, EpisodePictures] = field(default_factory=dict[int, EpisodePictures])
    """Episodes of a game in a page, by place in the report's findings."""


def report_page(report: Report, game: ShownGame, folder: str = "") -> str:
    """One file without anything beside it, readable without scripts too.

    Args:
        folder: as of `text_lines`.

    Raises: FileNotFoundError: the web side was not built.
    """
    shown = [finding for finding in report.findings if game.code is not None and finding.episode is not None]
    shown = shown[:MAX_SHOWN]
    return rendered(
        "index.html", html_text,
        report=report, game=game, folder=folder,
        style=Markup(_part("style.css")), script=Markup(_part("page.js")),
        data=Markup(_json(_data(report, game, shown))),
        cards=[
            (finding, card_id(report, finding), any(each is finding for each in shown), _figure(game, place))
            for place, finding in enumerate(report.findings)
        ],
    )  # fmt: skip


def card_id(report: Report, finding: BuildFinding) -> str:
    """Name of a finding's card in the page, also for links to it."""
    place = next(index for index, each in enumerate(report.findings) if each is finding)
    name = re.sub(r"[^a-z0-9]+", "-", finding.id.lower()).strip("-")
    return f"finding-{place + 1}-{name}"


def _part(name: str) -> str:
    return (WEB / "report-page" / name).read_text(encoding="utf-8")


def _data(report: Report, game: ShownGame, shown: list[BuildFinding]) -> dict[str, Any]:
    pictures = [_pictured(report, place, each) for place, each in game.pictures.items()]
    if not shown:
        return {"page": "", "script": "", "game": "", "episodes": [], "pictures": pictures}
    source = WEB / "exported-episode"
    page = (source / "index.html").read_text(encoding="utf-8")
    title = html.escape(game.title)
    page = page.replace("{{title}}", title).replace("{{page}}", "").replace(OWN_POLICY, INLINED_POLICY)
    inlined = '<script type="application/json" id="inlined">{{inlined}}</script>'
    page = OWN_SCRIPT.sub(lambda _: f'{inlined}<script type="module">{{{{script}}}}</script>', page)
    return {
        "page": page,
        "script": (source / "page.js").read_text(encoding="utf-8"),
        "game": (game.code or b"").decode("utf-8"),
        "episodes": [_shown(report, finding) for finding in shown],
        "pictures": pictures,
    }


def moment_of(finding: BuildFinding, episode: RecordedEpisode) -> float:
    """Second of its episode at which it happens."""
    happens = finding.seconds
    if happens is None:
        happens = episode.seconds if finding.step is None else finding.step * episode.seconds_per_step
    return min(happens, episode.seconds)


def _shown(report: Report, finding: BuildFinding) -> dict[str, Any]:
    episode = finding.episode
    if episode is None:
        raise RuntimeError(f"a shown finding has an episode, got {finding.id!r} without one")
    return {
        "id": card_id(report, finding),
        "episode": deflated(episode).model_dump(mode="json"),
        "at": max(0.0, moment_of(finding, episode) - LEAD_SECONDS),
    }


def _pictured(report: Report, place: int, pictures: EpisodePictures) -> dict[str, Any]:
    return {
        "id": card_id(report, report.findings[place]),
        "seconds": list(pictures.seconds),
        "moment": pictures.moment,
        "images": [_data_url(jpeg) for jpeg in pictures.jpegs],
    }


def _data_url(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _figure(game: ShownGame, place: int) -> tuple[str, int, int] | None:
    """Address of the picture of the moment, its place and that of the last."""
    pictures = game.pictures.get(place)
    if pictures is None:
        return None
    moment, last = bisect_left(pictures.seconds, pictures.moment - 1e-6), len(pictures.jpegs) - 1
    return _data_url(pictures.jpegs[min(moment, last)]), moment, last


def _json(data: dict[str, Any]) -> str:
    """JSON that ends no script element."""
    return json.dumps(data).replace("<", "\\u003c")
