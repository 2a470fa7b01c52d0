"""`attract export`: a run's policy as the files that ship inside a game."""

import html
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from attract.errors import ConfigurationError
from attract.games.kept_game import CODE
from attract.runs.directory import RunDirectory, find_run
from attract.runs.exports import export_models
from attract.server.in_process import running_gateway
from attract.settings.run import RunSettings, ServerSettings

ExportFormat = Literal["onnx", "js"]
WEB = Path(__file__).parents[1] / "web"
PLAYER = WEB / "play" / "agent.js"
"""What plays a policy in a page: built from `web/play`."""
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
    for is_wanted, needed in ((export_format == "js", PLAYER), (with_page, PAGE / "page.js")):
        if is_wanted and not needed.is_file():
            raise ConfigurationError(f"there is no {needed}", fix="npm run build")
    async with running_gateway(server, port_is_fixed=False) as gateway:
        written_version = await gateway.service.export(run_id, out_dir, version=version)
        written = export_models(out, gateway.service.models.policy_ids(run_id))
        view = gateway.service.view(run_id)
    if export_format == "js":
        written.append(Path(shutil.copyfile(PLAYER, out / PLAYER.name)))
    if with_page:
        seats = RunSettings.from_mapping(view.settings).collection.seats
        written += write_page(out, _kept_game(server.runs_dir / run_id), view.title, seats)
    return run_id, written_version, written


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
