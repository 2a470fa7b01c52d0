"""`attract export`: a run's policy as the files that ship inside a game."""

import shutil
from pathlib import Path
from typing import Literal

from attract.errors import ConfigurationError
from attract.runs.directory import find_run
from attract.runs.exports import export_models
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings

ExportFormat = Literal["onnx", "js"]
PLAYER = Path(__file__).parents[1] / "web" / "play" / "agent.js"
"""What plays a policy in a page: built from `web/play`."""


async def export_run(
    run_id: str, out: Path, server: ServerSettings, export_format: ExportFormat = "onnx"
) -> tuple[str, int, list[Path]]:
    """Write models and policy.json of the run's best version into `out` (absolute).

    Args:
        export_format: `js`: the player that a page needs, `agent.js`, lies beside them.

    Returns: the run, which `latest` does not name; the version; the files beside policy.json.

    Raises: ConfigurationError: when there is no such run, or it has no policy yet.
    """
    run_id = find_run(server.runs_dir, run_id)
    out_dir = str(out)
    if export_format == "js" and not PLAYER.is_file():
        raise ConfigurationError(f"there is no {PLAYER}", setting="--format js", fix="npm run build")
    async with running_gateway(server, port_is_fixed=False) as gateway:
        version = await gateway.service.export(run_id, out_dir)
        written = export_models(out, gateway.service.models.policy_ids(run_id))
    if export_format == "js":
        written.append(Path(shutil.copyfile(PLAYER, out / PLAYER.name)))
    return run_id, version, written
