"""All commands of `attract` in one table, and how each ends: with which exit code, and what text."""

import importlib
import importlib.util
import os
import sys

from cyclopts import App
from rich.console import Console
from rich.text import Text

from attract import __version__
from attract.cli.cluster import cluster
from attract.cli.flags import mistake
from attract.cli.games import check, new, probe
from attract.cli.runs import evaluate, export, report, rollback
from attract.cli.serving import doctor, health, join, serve
from attract.cli.training import imitate, train, tune
from attract.commands.output import CommandConsole, silence
from attract.errors import AttractError
from attract.processes.exit_codes import DONE, INTERRUPTED, OUTPUT_GONE, TERMINATED
from attract.processes.interrupt import Terminated
from attract.settings.variables import PREFIX, unread_variables

COMMANDS = {
    "train": train,
    "cluster": cluster,
    "tune": tune,
    "imitate": imitate,
    "check": check,
    "probe": probe,
    "new": new,
    "serve": serve,
    "join": join,
    "health": health,
    "doctor": doctor,
    "eval": evaluate,
    "export": export,
    "rollback": rollback,
    "report": report,
}
"""What each word after `attract` calls. Each imports what it needs only then, so that `--help` is quick."""

if importlib.util.find_spec("attract_benchmarks") is not None:
    # In a clone. The package that is installed carries no benchmarks.
    COMMANDS.update(importlib.import_module("attract_benchmarks.cli").COMMANDS)

WRITTEN_SO = {"--resume=auto": "--resume-auto"}
"""`--resume` takes no value, so that a game's name may follow it; with one it is a flag of its own."""

app = App(
    name="attract",
    version=__version__,
    help="Train an agent to play a browser game, in browsers, and ship it inside the game.",
    console=CommandConsole(),
    error_formatter=mistake,
    error_console=Console(stderr=True, soft_wrap=True, highlight=False),
)
for _name, _command in COMMANDS.items():
    app.command(_command, name=_name)


def main() -> None:
    """Run the command line; the exit codes are those of `attract.processes.exit_codes`."""
    for warning in unread_variables(os.environ, _flags):
        print(f"warning: {warning}", file=sys.stderr)
    try:
        code = app(
            [WRITTEN_SO.get(word, word) for word in sys.argv[1:]],
            exit_on_error=True,
            result_action="return_value",
        )
        sys.stdout.flush()
    except AttractError as error:
        text = Text.assemble(("error:", "red"), f" {error}")
        Console(stderr=True).print(text, highlight=False, soft_wrap=True)
        code = error.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Terminated:
        code = TERMINATED
    except BrokenPipeError:
        silence(sys.stdout)
        silence(sys.stderr)
        code = OUTPUT_GONE
    sys.exit(code if isinstance(code, int) else DONE)


def _flags() -> dict[str, str]:
    """Flags of all commands by the variable that somebody might take for theirs."""
    arguments = (argument for command in COMMANDS for argument in app[command].assemble_argument_collection())
    names = (name for argument in arguments for name in argument.names if name.startswith("--"))
    return {PREFIX + name.strip("-").upper().replace("-", "_"): name for name in names}
