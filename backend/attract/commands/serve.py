"""`attract serve`: the gateway and its dashboard, until Ctrl-C."""

from attract.commands import flags
from attract.commands.output import CommandConsole, say
from attract.commands.setting_flags import NO_FLAGS, ServerFlags
from attract.processes.exit_codes import DONE
from attract.processes.interrupt import Interrupts
from attract.server.app_server import run_async
from attract.settings.run import ServerSettings


@flags.options
class ServeOptions:
    """Flags of `attract serve`, beside those that `attract train` has as well."""

    host: flags.Host = None
    port: flags.Port = None
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None


def serve(*, options: ServeOptions = ServeOptions(), server_flags: ServerFlags = NO_FLAGS) -> int:
    """Serve the dashboard: choose a game, train, watch, play.

    Examples
    --------
    attract serve  # for this machine
    attract serve --lan  # also for phones in your network
    attract serve --port 9000 --runs-dir old-runs  # other runs, another port
    """
    return run_async(serve_dashboard(flags.server_settings(options, **server_flags)))


async def serve_dashboard(settings: ServerSettings) -> int:
    """Serve until Ctrl-C, which stops an active run as its stop button does; the signal's exit code.

    Raises: ConfigurationError: when the port is busy.
    """
    from attract.server.in_process import running_gateway

    console = CommandConsole(stderr=True)
    async with running_gateway(settings, port_is_fixed=True) as gateway:
        for line in gateway.addresses():
            say(console, line)
        console.print("Ctrl-C ends it", markup=False, highlight=False)
        with Interrupts().listening() as interrupts:
            await interrupts.first.wait()
            console.print("stopping: an active run is saved and exported", markup=False, highlight=False)
    return interrupts.exit_code or DONE
