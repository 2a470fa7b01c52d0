"""The report as one HTML page, with the episodes of its findings played in it."""

import base64
import html
import json
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from attract.playtest.report import Finding, Report
from attract.playtest.report_text import (
    beside,
    ends_text,
    moment_text,
    place_text,
    replay_command,
    verdict_text,
)
from attract.runs.plain_text import plain
from attract.schema.episode_actions import deflated
from attract.schema.recorded_episode import RecordedEpisode

WEB: Final = Path(__file__).parents[1] / "web"
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
    page = _part("index.html")
    shown = [finding for finding in report.findings if game.code is not None and finding.episode is not None]
    shown = shown[:MAX_SHOWN]
    values = {
        "title": html.escape(f"{game.title}: {verdict_text(report)}"),
        "style": f"<style>{_part('style.css')}</style>",
        "body": _body(report, game, shown, folder),
        "data": f'<script type="application/json" id="data">{_json(_data(report, game, shown))}</script>',
        "script": f'<script type="module">{_part("page.js")}</script>',
    }
    return re.sub(r"\{\{([a-z]+)\}\}", lambda match: values.get(match[1], match[0]), page)


def card_id(report: Report, finding: Finding) -> str:
    """Name of a finding's card in the page, also for links to it."""
    place = next(index for index, each in enumerate(report.findings) if each is finding)
    name = re.sub(r"[^a-z0-9]+", "-", finding.id.lower()).strip("-")
    return f"finding-{place + 1}-{name}"


def _part(name: str) -> str:
    return (WEB / "report-page" / name).read_text(encoding="utf-8")


def _data(report: Report, game: ShownGame, shown: list[Finding]) -> dict[str, Any]:
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


def moment_of(finding: Finding, episode: RecordedEpisode) -> float:
    """Second of its episode at which it happens."""
    happens = finding.seconds
    if happens is None:
        happens = episode.seconds if finding.step is None else finding.step * episode.seconds_per_step
    return min(happens, episode.seconds)


def _shown(report: Report, finding: Finding) -> dict[str, Any]:
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


def _body(report: Report, game: ShownGame, shown: list[Finding], folder: str) -> str:
    baseline = "no baseline"
    if report.baseline_build is not None:
        baseline = f"baseline <code>{html.escape(report.baseline_build[:12])}</code>"
    parts = [
        f"<h1>{html.escape(game.title)}</h1>",
        f'<p class="verdict {report.verdict}">{_text(verdict_text(report))}</p>',
        f'<p class="quiet">{_text(report.game)}, build <code>{html.escape(report.build[:12])}</code>, '
        f"{baseline}. {report.episodes} episodes in {report.seconds:.0f} s.</p>",
    ]
    if report.findings:
        parts.append("<h2>Findings</h2>")
        parts += [
            _card(report, finding, game.pictures.get(place), shown, folder)
            for place, finding in enumerate(report.findings)
        ]
    if report.known:
        rows = "".join(f"<li><b>{_text(each.id)}</b>: {_text(each.text)}</li>" for each in report.known)
        parts.append(f"<h2>In the baseline too</h2><ul>{rows}</ul>")
    if report.oracles:
        parts.append(_oracles(report))
    if report.players:
        parts.append(_players(report))
    return "\n".join(parts)


def _card(
    report: Report, finding: Finding, pictures: EpisodePictures | None, shown: list[Finding], folder: str
) -> str:
    is_shown = any(each is finding for each in shown)
    lines = [f"<h3>{_text(finding.id)}</h3>", f"<p>{_text(finding.text)}</p>"]
    if place := place_text(finding):
        lines.append(f"<p><code>{html.escape(place)}</code></p>")
    if moment := moment_text(finding):
        lines.append(f'<p class="quiet">{"Played by " if finding.player else ""}{_text(moment)}.</p>')
    if (command := replay_command(finding, folder)) is not None:
        lines.append(f"<p><code>{html.escape(command)}</code></p>")
    if finding.test_file is not None:
        test = beside(folder, finding.test_file)
        lines.append(f"<p><code>npx playwright test {html.escape(test)}</code></p>")
    if finding.stack is not None:
        stack = html.escape(finding.stack)
        lines.append(
            f'<pre tabindex="0" role="group" aria-label="Stack of {_text(finding.id)}">{stack}</pre>'
        )
    frame = ""
    if is_shown:
        title = html.escape(f"The episode of {finding.id}", quote=True)
        frame = f'<iframe title="{title}" sandbox="allow-scripts"></iframe>'
    elif pictures is not None:
        frame = _figure(finding, pictures)
    kind = "card" if frame else "card plain"
    body = f"<div>{''.join(lines)}</div>{frame}"
    return f'<article class="{kind}" id="{card_id(report, finding)}">{body}</article>'


def _figure(finding: Finding, pictures: EpisodePictures) -> str:
    """The picture of the moment, and what the script moves through the others by."""
    moment = bisect_left(pictures.seconds, pictures.moment - 1e-6)
    image = _data_url(pictures.jpegs[min(moment, len(pictures.jpegs) - 1)])
    name = _text(finding.id)
    last = len(pictures.jpegs) - 1
    return (
        f'<figure><img alt="The game when {name} happens" src="{image}">'
        f'<figcaption hidden><button type="button">Play</button>'
        f'<input type="range" min="0" max="{last}" value="{moment}" aria-label="Picture of {name}">'
        f"<output></output></figcaption></figure>"
    )


def _oracles(report: Report) -> str:
    words = {"passed": "passed", "found": "found", "not_judged": "not judged"}
    rows = "".join(
        f"<tr><td>{state.oracle}</td><td>{words[state.state]}</td><td>{_text(state.note)}</td></tr>"
        for state in report.oracles
    )
    head = "<tr><th scope=col>Oracle</th><th scope=col>State</th><th scope=col>Note</th></tr>"
    return f"<h2>Oracles</h2>{_table('Oracles', head, rows)}"


def _players(report: Report) -> str:
    rows = "".join(
        f"<tr><td>{_text(each.player)}</td><td class=number>{each.episodes}</td>"
        f"<td class=number>{_number(each.return_mean)}</td><td class=number>{_number(each.length_mean)}</td>"
        f"<td>{_text(ends_text(each.ended))}</td></tr>"
        for each in report.players
    )
    head = (
        "<tr><th scope=col>Player</th><th scope=col class=number>Episodes</th>"
        "<th scope=col class=number>Mean return</th><th scope=col class=number>Mean length (steps)</th>"
        "<th scope=col>Ends</th></tr>"
    )
    return f"<h2>Players</h2>{_table('Players', head, rows)}"


def _table(name: str, head: str, rows: str) -> str:
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{name}">'
        f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
    )


def _text(text: str) -> str:
    return html.escape(plain(text))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _json(data: dict[str, Any]) -> str:
    """JSON that ends no script element."""
    return json.dumps(data).replace("<", "\\u003c")
