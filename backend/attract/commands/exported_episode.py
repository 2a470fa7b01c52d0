"""`attract export --replay`: one recorded episode as a page that any static server shows."""

import html
import re
from pathlib import Path
from typing import Final

from attract.commands.destination import check_writable, write_output, writing
from attract.commands.episodes import Chosen, find_build, find_recorded, run_of
from attract.commands.exported_page import WEB, Exported, ExportedPage, PageCopy, copy_site, find_page_copy
from attract.commands.exported_trial import try_episode
from attract.errors import ConfigurationError
from attract.files import check_inside, read_file
from attract.games.kept_game import CODE
from attract.games.library import GameLibrary, GameModule
from attract.runs.directory import RunDirectory
from attract.schema.episode_actions import deflated
from attract.schema.recorded_episode import RecordedEpisode
from attract.server.page_games import CLOCK, MAX_PAGE_BYTES, PORTAL, PORTAL_TEXT, with_clock
from attract.settings.run import ServerSettings

PAGE: Final = WEB / "exported-episode"
"""The page that plays an episode: built from `web/exported-episode`."""
EPISODE: Final = "episode.json"
GAME_FOLDER: Final = "game"
"""Folder of the page that a game lives in."""
NAMED_PAGE: Final = re.compile(rb'\bpage:\s*"([^"]+)"')
"""Page of an adapter that no run has described."""


async def export_episode(
    named: str, chosen: Chosen | None, out: Path, server: ServerSettings, game: str | None
) -> Exported:
    """Write a page into `out` (absolute) that plays one recorded episode.

    Args:
        named: as `find_recorded` takes it, with `chosen`.
        game: the build to play it in; None: the one it was recorded in.

    Raises: ConfigurationError: there is no such episode, game or page. FileError: a file is no episode, or
        what would be copied is no file of the game's.
    """
    run_id, recorded = find_recorded(named, chosen, server)
    if len(recorded) > 1:
        raise ConfigurationError(
            f"a page plays one episode, and {named} has {len(recorded)}",
            setting="--replay",
            fix=f"name one of its files, as {Path(named) / recorded[0].name}",
        )
    directory, server = run_of(run_id, recorded[0], game, server)
    games = GameLibrary(server.project_dir, runs_dir=server.runs_dir)
    module = await find_build(games, game, directory, recorded[0], server)
    copied = _page_copy(games, module, directory, (out, server.runs_dir))
    if not (PAGE / "page.js").is_file():
        raise ConfigurationError(f"there is no {PAGE / 'page.js'}", fix="npm run build")
    check_writable(out)
    check_inside(out / GAME_FOLDER, out)
    with writing(out):
        site = None
        if copied is not None:
            site = copy_site(out / GAME_FOLDER, [], copied, server.runs_dir, server.include)
            _add_clock(site.out)
        title = games.title_of(module.reference.name)
        written = _write_page(out, module.code, recorded[0].episode, title, site)
        notes = await try_episode(out, site, lambda: None if site is None else _add_clock(site.out))
    left_out = {} if site is None else site.left_out
    return Exported(written, episode=recorded[0].name, left_out=left_out, notes=notes)


def _page_copy(
    games: GameLibrary, module: GameModule, directory: RunDirectory | None, hidden: tuple[Path, Path]
) -> PageCopy | None:
    """The files of the page that the game lives in; None: it lives in none.

    Raises: ConfigurationError: the page is not in a folder, or is gone.
    """
    if not module.reference.has_page:
        return None
    description = None if directory is None else directory.read_game()[1]
    named = NAMED_PAGE.search(module.code)
    page = description.page if description is not None else None if named is None else named[1].decode()
    folder = games.adapter_folder(module.reference)
    if page is None or "://" in page or folder is None or not (folder / page).is_file():
        raise ConfigurationError(
            f"the page {page or ''} of {module.reference.name} is in no folder here: it cannot be copied",
            setting="--replay",
            fix="give its adapter, beside a page that is built: --game PATH",
        )
    return find_page_copy(folder / page, folder, hidden)


def _write_page(
    out: Path, code: bytes, episode: RecordedEpisode, title: str, site: ExportedPage | None
) -> list[Path]:
    """The page, the game and the episode; the files."""
    page = "" if site is None else f"{GAME_FOLDER}/{site.page}"
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    text = text.replace("{{title}}", html.escape(title)).replace("{{page}}", html.escape(page))
    return [
        write_output(out / "index.html", text.encode()),
        write_output(out / "page.js", PAGE / "page.js"),
        write_output(out / CODE, code),
        # Whole: the page that plays it fills in no defaults.
        write_output(out / EPISODE, deflated(episode).model_dump_json().encode()),
    ]


def _add_clock(folder: Path) -> None:
    """The virtual clock as the first script of every page in `folder` that has none yet."""
    write_output(folder / CLOCK, WEB / "page" / CLOCK)
    write_output(folder / PORTAL, PORTAL_TEXT.encode())
    for page in sorted([*folder.rglob("*.html"), *folder.rglob("*.htm")]):
        text = read_file(page, MAX_PAGE_BYTES, folder)
        own = "../" * (len(page.relative_to(folder).parts) - 1)
        tag = f'<script src="{own}{CLOCK}"></script>'.encode()
        if tag not in text:
            write_output(page, with_clock(text, own), folder)
