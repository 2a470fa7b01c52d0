"""`attract export`: a run's policy as the files that ship inside a game."""

import html
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from cyclopts import Parameter
from cyclopts.validators import Number

from attract.commands import flags
from attract.commands.destination import check_writable, write_output, writing
from attract.commands.episodes import chosen_of
from attract.commands.evaluating import readable_run
from attract.commands.exported_episode import export_episode
from attract.commands.exported_page import (
    AGENT_FOLDER,
    PLAYER,
    WEB,
    Exported,
    PageCopy,
    find_page_copy,
    left_out_text,
    write_site,
)
from attract.commands.exported_trial import try_site
from attract.commands.json_output import print_answer
from attract.errors import ConfigurationError
from attract.files import check_inside
from attract.games.kept_game import CODE, page_folder
from attract.processes.exit_codes import DONE
from attract.processes.extras import check_installed
from attract.runs.directory import RunDirectory, find_run
from attract.runs.exports import export_models, split_models
from attract.schema.answers import ExportAnswer, ExportedLevel
from attract.server.app_server import run_async
from attract.settings.run import ServerSettings

PAGE = WEB / "exported-page"
"""A page that shows a game and its agent: built from `web/exported-page`."""


@flags.options
class ExportOptions:
    out: Path
    """Output folder; created if needed."""
    export_format: Annotated[Literal["onnx", "js"], Parameter(name="--format")] = "onnx"
    """js: adds agent.js, which runs the policy in any page without ONNX Runtime."""
    page: bool = False
    """Write a complete page with the game and the agent that plays it; you can take over. Any static server
    can serve it."""
    version: str | None = None
    """Version to export, for example a weaker opponent: a number, `best`, `newest` or `first`; by default
    the best."""
    levels: Annotated[int | None, Parameter(validator=Number(gte=2, lte=9))] = None
    """Also write so many versions from easy to hard, chosen by a match of the run's versions; `agent.js` has
    `level` for them. For games of two agents or more."""
    replay: str | None = None
    """In place of RUN: a recorded episode, as `attract replay` takes it. With --page."""
    worst: bool = False
    """With --replay RUN: the episode with the lowest return that the run keeps."""
    best: bool = False
    """With --replay RUN: the episode with the highest return that the run keeps."""
    failed: bool = False
    """With --replay RUN: the last episode in which the game failed."""
    game: Path | None = None
    """With --page: adapter of a game in a page, or its folder; by default where it was during training.
    With --replay: another build to play it in, as of `attract replay`."""
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None
    include: flags.Include = None
    json_output: flags.Json = False


def export(
    run: Annotated[str | None, flags.RunWord, Parameter(help=flags.RUN_HELP)] = None,
    /,
    *,
    options: ExportOptions,
) -> int:
    """Write RUN's policy.onnx and policy.json into a folder, ready to ship inside the game.

    A run with several policies writes one <name>.onnx each. With --page --replay EPISODE: a page that plays a
    recorded episode.

    Examples
    --------
    attract export latest --out policy --format js  # for a page, without ONNX Runtime
    attract export latest --out policy  # only policy.onnx and policy.json
    attract export latest --out site --page  # a complete page
    """
    if run is not None:
        check_installed("train", "attract export")
    server, chosen = flags.server_settings(options), chosen_of(options)
    if options.replay is not None:
        if (
            run is not None
            or options.version is not None
            or options.export_format != "onnx"
            or not options.page
        ):
            raise ConfigurationError(
                "an episode is exported as a page, without a run's policy",
                setting="--replay",
                fix="attract export --page --replay EPISODE --out DIR",
            )
        build = None
        if options.game is not None:
            build, server = flags.served_game(str(options.game), server)
        exported = run_async(export_episode(options.replay, chosen, options.out.absolute(), server, build))
    elif run is None or chosen is not None:
        raise ConfigurationError(
            "which run?" if run is None else f"--{chosen} is of a recorded episode",
            setting="RUN",
            fix="attract export RUN --out DIR, or --page --replay EPISODE for a recorded episode",
        )
    else:
        exported = run_async(export_run(run, options, server))
    if options.json_output:
        print_answer(export_answer(exported, with_page=options.page))
    else:
        print("\n".join(export_lines(exported, options)))
    return DONE


def export_answer(exported: Exported, *, with_page: bool) -> ExportAnswer:
    """The answer of `--json`."""
    # The document of policies lies beside them.
    document = [] if exported.run_id is None else [str(exported.written[0].with_name("policy.json"))]
    return ExportAnswer(
        run_id=exported.run_id,
        version=exported.version,
        episode=exported.episode,
        files=[*map(str, exported.written), *document],
        page=exported.page if with_page else None,
        left_out=exported.left_out,
        notes=exported.notes,
        levels=exported.levels,
    )


def export_lines(exported: Exported, options: ExportOptions) -> list[str]:
    """The printed lines; files are named as the folder was given."""
    out = options.out
    shown = [out / path.relative_to(out.absolute()) for path in exported.written]
    names = ", ".join(map(str, shown))
    if exported.run_id is None:
        lines = [f"wrote {names} ({exported.episode})"]
    else:
        of_run = f"run {exported.run_id}, version {exported.version}"
        lines = [f"wrote {names} and {shown[0].with_name('policy.json')} ({of_run})"]
    for level in exported.levels:
        below = (
            ""
            if level.wins_below is None
            else f", wins {level.wins_below:.0%} against level {level.level - 1}"
        )
        lines.append(f"level {level.level}: version {level.policy_version}, rating {level.rating:.1f}{below}")
    if exported.left_out:
        lines.append(left_out_text(exported.left_out))
    if options.export_format == "js":
        lines += [
            f'In the page:  import {{ loadAgent }} from "./{out.name}/agent.js";',
            f'              const agent = await loadAgent("./{out.name}/");',
            "              game.update(deltaTime, agent.tick(() => observation));",
        ]
    lines += [f"note: {note}" for note in exported.notes]
    if options.page:
        address = "" if exported.page == "index.html" else f"/{quote(exported.page)}"
        lines += [
            f"See it:  python3 -m http.server --directory {shlex.quote(str(out))} 8000",
            f"         http://localhost:8000{address}",
        ]
    return lines


async def export_run(run: str, options: ExportOptions, server: ServerSettings) -> Exported:
    """Write models and policy.json of a version of the run, and a page where one is asked for.

    Raises: ConfigurationError: when there is no such run, version or page, it has no policy yet, or its page
        has several agents.
    """
    out, version, with_page = options.out.absolute(), options.version, options.page
    run_id = find_run(server.runs_dir, run)
    out_dir = str(out)
    directory = RunDirectory.view(server.runs_dir, run_id)
    chosen = directory.marked("best") if version is None else directory.find_version(version)
    _, description = directory.read_game()
    copied: PageCopy | None = None
    if with_page or options.game is not None:
        folder = page_folder(directory, server.project_dir, options.game)
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
    for is_wanted, needed in ((options.export_format == "js", PLAYER), (with_page, PAGE / "page.js")):
        if is_wanted and not needed.is_file():
            raise ConfigurationError(f"there is no {needed}", fix="npm run build")
    check_writable(out)
    from attract.server.in_process import running_gateway

    with readable_run(directory, chosen, server) as readable:
        async with running_gateway(readable, port_is_fixed=False) as gateway:
            written_version = await gateway.service.export(run_id, out_dir, version=chosen)
            written = export_models(out, gateway.service.models.policy_ids(run_id))
            title = gateway.service.view(run_id).title
    page, notes, left_out = "index.html", list[str](), dict[str, int]()
    levels: list[ExportedLevel] = []
    if options.levels is not None:
        from attract.commands.levels import add_levels

        levels = await add_levels(out, directory, options.levels, options.game, server)
        written += [out / level.file for level in levels]
    with writing(out):
        if with_page:
            written = split_models(out, written)
        if options.export_format == "js":
            written.append(write_output(out / PLAYER.name, PLAYER))
        if copied is not None:
            site = write_site(out.parent, _kept_game(directory.path), copied, server.runs_dir, server.include)
            page, notes = site.page, await try_site(site)
            written, left_out = written + site.written, site.left_out
        elif with_page:
            seats = directory.read_settings().collection.seats
            written += write_page(out, _kept_game(server.runs_dir / run_id), title, seats)
    return Exported(
        written,
        run_id=run_id,
        version=written_version,
        left_out=left_out,
        page=page,
        notes=notes,
        levels=levels,
    )


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
