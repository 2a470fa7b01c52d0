"""`attract export`: a run's policy as the files that ship inside a game."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from attract.commands.destination import check_writable, write_output, writing
from attract.commands.evaluate import readable_run
from attract.commands.exported_page import AGENT_FOLDER, PLAYER, WEB, PageCopy, find_page_copy, write_site
from attract.commands.exported_trial import try_site
from attract.errors import ConfigurationError
from attract.files import check_inside
from attract.games.kept_game import CODE, page_folder
from attract.runs.directory import RunDirectory, find_run
from attract.runs.exports import export_models, split_models
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings

ExportFormat = Literal["onnx", "js"]
PAGE = WEB / "exported-page"
"""A page that shows a game and its agent: built from `web/exported-page`."""


@dataclass(frozen=True)
class Exported:
    """Result of an export."""

    run_id: str
    """The run's id, also for `latest`."""
    version: int
    written: list[Path]
    """The files beside policy.json, the policies first."""
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """See `ExportedPage.left_out`."""
    page: str = "index.html"
    """The page, as a path below the folder of the export."""
    notes: list[str] = field(default_factory=list[str])
    """See `try_site`."""


async def export_run(
    run_id: str,
    out: Path,
    server: ServerSettings,
    export_format: ExportFormat = "onnx",
    version: str | None = None,
    *,
    with_page: bool = False,
    game_path: Path | None = None,
) -> Exported:
    """Write models and policy.json of a version of the run, by default its best, into `out` (absolute).

    Args:
        version: one of those that are there, as `find_version` takes it, such as a weaker opponent.
        export_format: `js`: the player that a page needs, `agent.js`, lies beside them.
        with_page: a whole page lies beside them, with the game as the run played it.
        game_path: where a game that lives in a page is now; None: where it was.

    Raises: ConfigurationError: when there is no such run, version or page, it has no policy yet, or its page
        has several agents.
    """
    run_id = find_run(server.runs_dir, run_id)
    out_dir = str(out)
    directory = RunDirectory.view(server.runs_dir, run_id)
    chosen = directory.marked("best") if version is None else directory.find_version(version)
    _, description = directory.read_game()
    copied: PageCopy | None = None
    if with_page or game_path is not None:
        folder = page_folder(directory, server.project_dir, game_path)
        own_page = None if description is None else description.page
        if own_page is not None and folder is None:
            raise ConfigurationError(
                f"the page of {run_id} is served by {own_page}: there is no folder to copy",
                setting="--page",
                fix="export without --page, and have the page call `attachAgent` of attract/page",
            )
        if with_page and description is not None and own_page is not None and description.num_agents > 1:
            raise ConfigurationError(
                f"{description.id} has {description.num_agents} agents in its page: "
                "`attachAgent` supports only one",
                setting="--page",
                fix="export without --page, and have the page ask `loadAgent` for each agent's action",
            )
        if with_page and folder is not None and own_page is not None:
            copied = find_page_copy(folder / own_page, folder, (out, server.runs_dir))
    if copied is not None:
        # The game's own page, with the agent in a folder of its own beside it.
        out = check_inside(out / AGENT_FOLDER, out)
        out_dir = str(out)
    for is_wanted, needed in ((export_format == "js", PLAYER), (with_page, PAGE / "page.js")):
        if is_wanted and not needed.is_file():
            raise ConfigurationError(f"there is no {needed}", fix="npm run build")
    check_writable(out)
    with readable_run(directory, chosen, server) as readable:
        async with running_gateway(readable, port_is_fixed=False) as gateway:
            written_version = await gateway.service.export(run_id, out_dir, version=chosen)
            written = export_models(out, gateway.service.models.policy_ids(run_id))
            title = gateway.service.view(run_id).title
    page, notes, left_out = "index.html", list[str](), dict[str, int]()
    with writing(out):
        if with_page:
            written = split_models(out, written)
        if export_format == "js":
            written.append(write_output(out / PLAYER.name, PLAYER))
        if copied is not None:
            site = write_site(out.parent, _kept_game(directory.path), copied, server.runs_dir, server.include)
            page, notes = site.page, await try_site(site)
            written, left_out = written + site.written, site.left_out
        elif with_page:
            seats = directory.read_settings().collection.seats
            written += write_page(out, _kept_game(server.runs_dir / run_id), title, seats)
    return Exported(run_id, written_version, written, left_out, page, notes)


def write_page(out: Path, game: Path, title: str, seats: Sequence[str] = ()) -> list[Path]:
    """The page and the game beside an exported policy; the files.

    Args:
        out: the folder of the policy.
        game: a bundled module.
        seats: the policy of each agent, where they are named.
    """
    # One policy for all agents needs no name.
    policies = ",".join(seats) if len(set(seats)) > 1 else ""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    text = text.replace("{{title}}", html.escape(title)).replace("{{policies}}", html.escape(policies))
    index = out / "index.html"
    write_output(index, text.encode())
    page = write_output(out / "page.js", PAGE / "page.js")
    return [index, page, write_output(out / CODE, game)]


def _kept_game(run_dir: Path) -> Path:
    """The module that the run played. Raises: ConfigurationError: runs did not keep it yet."""
    game = RunDirectory(run_dir, None).inside(run_dir / CODE)
    if not game.exists():
        raise ConfigurationError(
            f"{run_dir.name} has no {CODE}: it is older than the saved game code of runs",
            setting="--page",
        )
    return game
