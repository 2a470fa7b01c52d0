"""`attract serve`: the gateway and its dashboard, until Ctrl-C."""

from attract.commands.output import CommandConsole
from attract.processes.exit_codes import DONE
from attract.processes.interrupt import Interrupts
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings


async def serve_dashboard(settings: ServerSettings) -> int:
    """Serve until Ctrl-C, which stops an active run as its stop button does; the signal's exit code.

    Raises: ConfigurationError: when the port is busy.
    """
    console = CommandConsole(stderr=True)
    async with running_gateway(settings, port_is_fixed=True) as gateway:
        for line in gateway.addresses():
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        console.print("Ctrl-C ends it", markup=False, highlight=False)
        with Interrupts().listening() as interrupts:
            await interrupts.first.wait()
            console.print("stopping: an active run is saved and exported", markup=False, highlight=False)
    return interrupts.exit_code or DONE
