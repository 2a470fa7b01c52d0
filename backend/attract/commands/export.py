"""`attract export`: a run's policy as the files that ship inside a game."""

import shutil
from pathlib import Path
from typing import Literal

from attract.errors import ConfigurationError
from attract.runs.directory import RunDirectory, find_run
from attract.runs.exports import export_models
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings

ExportFormat = Literal["onnx", "js"]
PLAYER = Path(__file__).parents[1] / "web" / "play" / "agent.js"
"""What plays a policy in a page: built from `web/play`."""


async def export_run(
    run_id: str,
    out: Path,
    server: ServerSettings,
    export_format: ExportFormat = "onnx",
    version: int | None = None,
) -> tuple[str, int, list[Path]]:
    """Write models and policy.json of a version of the run, its best unless told, into `out` (absolute).

    Args:
        version: one of those that are kept, such as a weaker opponent.
        export_format: `js`: the player that a page needs, `agent.js`, lies beside them.

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
    if export_format == "js" and not PLAYER.is_file():
        raise ConfigurationError(f"there is no {PLAYER}", setting="--format js", fix="npm run build")
    async with running_gateway(server, port_is_fixed=False) as gateway:
        written_version = await gateway.service.export(run_id, out_dir, version=version)
        written = export_models(out, gateway.service.models.policy_ids(run_id))
    if export_format == "js":
        written.append(Path(shutil.copyfile(PLAYER, out / PLAYER.name)))
    return run_id, written_version, written
