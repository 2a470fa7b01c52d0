"""`attract export`: a run's policy as the files that ship inside a game."""

import html
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from attract.errors import ConfigurationError
from attract.games.kept_game import CODE, project_of
from attract.games.library import GameLibrary
from attract.games.page_script import with_first_script
from attract.runs.directory import RunDirectory, find_run
from attract.runs.exports import export_models
from attract.server.in_process import running_gateway
from attract.settings.run import RunSettings, ServerSettings

ExportFormat = Literal["onnx", "js"]
WEB = Path(__file__).parents[1] / "web"
PLAYER = WEB / "play" / "agent.js"
"""What plays a policy in a page: built from `web/play`."""
AGENT_FOLDER = "attract"
"""Of a page that a game lives in: what the agent in it needs."""
ATTACH = """\
// After ten seconds without a key, a click or a touch the agent plays; any of them gives the game back.
import definition from "./game.js";
import { loadAgent } from "./agent.js";
import { attachAgent } from "./page.js";

const agent = await loadAgent(new URL(".", import.meta.url));
attachAgent(definition, agent, { idleSeconds: 10 });
"""
PAGE = WEB / "exported-page"
"""A page that shows a game and its agent: built from `web/exported-page`."""


async def export_run(
    run_id: str,
    out: Path,
    server: ServerSettings,
    export_format: ExportFormat = "onnx",
    version: int | None = None,
    *,
    with_page: bool = False,
) -> tuple[str, int, list[Path]]:
    """Write models and policy.json of a version of the run, its best unless told, into `out` (absolute).

    Args:
        version: one of those that are kept, such as a weaker opponent.
        export_format: `js`: the player that a page needs, `agent.js`, lies beside them.
        with_page: a whole page lies beside them, with the game as the run played it.

    Returns: the run, which `latest` does not name; the version; the files beside policy.json.

    Raises: ConfigurationError: when there is no such run or version, or it has no policy yet.
    """
    run_id = find_run(server.runs_dir, run_id)
    kept = RunDirectory(server.runs_dir / run_id, None).versions()
    if version is not None and version not in kept:
        near = ", ".join(str(one) for one in sorted(kept, key=lambda one: abs(one - version))[:3])
        raise ConfigurationError(
            f"version {version} of {run_id} is not kept",
            setting="--version",
            fix=f"the nearest are {near}; `--callbacks.checkpoint.every-steps 100000` keeps more",
        )
    out_dir = str(out)
    game, description = RunDirectory(server.runs_dir / run_id, None).read_game()
    own_page = description.page if with_page and description is not None else None
    if own_page is not None:
        # The game's own page, with the agent in a folder of its own beside it.
        out = out / AGENT_FOLDER
        out_dir = str(out)
    for is_wanted, needed in ((export_format == "js", PLAYER), (with_page, PAGE / "page.js")):
        if is_wanted and not needed.is_file():
            raise ConfigurationError(f"there is no {needed}", fix="npm run build")
    async with running_gateway(server, port_is_fixed=False) as gateway:
        written_version = await gateway.service.export(run_id, out_dir, version=version)
        written = export_models(out, gateway.service.models.policy_ids(run_id))
        view = gateway.service.view(run_id)
    if export_format == "js":
        written.append(Path(shutil.copyfile(PLAYER, out / PLAYER.name)))
    if own_page is not None and game is not None:
        project = project_of(RunDirectory.view(server.runs_dir, run_id)) or server.project_dir
        folder = GameLibrary(project).adapter_folder(game)
        written += write_site(out.parent, _kept_game(server.runs_dir / run_id), folder, own_page)
    elif with_page:
        seats = RunSettings.from_mapping(view.settings).collection.seats
        written += write_page(out, _kept_game(server.runs_dir / run_id), view.title, seats)
    return run_id, written_version, written


def write_site(out: Path, game: Path, folder: Path | None, page: str) -> list[Path]:
    """The page that a game lives in, as it is, with the agent attached; what is written beside the policy.

    Args:
        out: the site's folder; the policy is in its `AGENT_FOLDER`.
        game: the adapter's bundled module.
        folder: of the adapter.
        page: below that folder.

    Raises:
        ConfigurationError: where the page is not there any more.
    """
    source = None if folder is None else folder / page
    if source is None or not source.is_file():
        raise ConfigurationError(
            f"the page {page} that the run was trained in is not there",
            setting="--page",
            fix="put it back where it was, or set ATTRACT_PROJECT_DIR to the directory that was served then",
        )
    skipped = shutil.ignore_patterns(".*", "node_modules", "runs", "*.page.ts", "*.page.js", "*.map")

    def ignored(folder: str, names: list[str]) -> set[str]:
        # The site may lie in the folder that it is made of.
        own = {name for name in names if (Path(folder) / name).resolve() == out.resolve()}
        return set(skipped(folder, names)) | own

    shutil.copytree(source.parent, out, ignore=ignored, dirs_exist_ok=True)
    agent = out / AGENT_FOLDER
    main = agent / "main.js"
    main.write_text(ATTACH, encoding="utf-8")
    shutil.copyfile(PLAYER, agent / PLAYER.name)
    shutil.copyfile(WEB / "sdk" / "page.js", agent / "page.js")
    shutil.copyfile(game, agent / CODE)
    index = out / source.name
    tag = f'<script type="module" src="{AGENT_FOLDER}/main.js"></script>'.encode()
    index.write_bytes(with_first_script(source.read_bytes(), tag))
    return [index, main]


def write_page(out: Path, game: Path, title: str, seats: Sequence[str] = ()) -> list[Path]:
    """The page and the game beside an exported policy; the files.

    Args:
        out: the folder of the policy.
        game: a bundled module.
        seats: the policy of each agent, where they are named.
    """
    # Of one policy for all there is no name to choose by.
    policies = ",".join(seats) if len(set(seats)) > 1 else ""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    text = text.replace("{{title}}", html.escape(title)).replace("{{policies}}", html.escape(policies))
    index = out / "index.html"
    index.write_text(text, encoding="utf-8")
    page = Path(shutil.copyfile(PAGE / "page.js", out / "page.js"))
    return [index, page, Path(shutil.copyfile(game, out / CODE))]


def _kept_game(run_dir: Path) -> Path:
    """The module that the run played. Raises: ConfigurationError: runs did not keep it yet."""
    game = RunDirectory(run_dir, None).inside(run_dir / CODE)
    if not game.is_file():
        raise ConfigurationError(
            f"{run_dir.name} has no {CODE}: it is of a time when runs did not keep their game",
            setting="--page",
        )
    return game
