"""`attract export`: a run's policy as the files that ship inside a game."""

from pathlib import Path

from attract.runs.directory import find_run
from attract.runs.exports import export_models
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings


async def export_run(run_id: str, out: Path, server: ServerSettings) -> tuple[str, int, list[Path]]:
    """Write models and policy.json of the run's best version into `out` (absolute).

    Returns: the run, which `latest` does not name; the version; the models.

    Raises: ConfigurationError: when there is no such run, or it has no policy yet.
    """
    run_id = find_run(server.runs_dir, run_id)
    out_dir = str(out)
    async with running_gateway(server, port_is_fixed=False) as gateway:
        version = await gateway.service.export(run_id, out_dir)
        return run_id, version, export_models(out, gateway.service.models.policy_ids(run_id))
