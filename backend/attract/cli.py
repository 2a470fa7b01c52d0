"""The `attract` command: its subcommands in one table, and how each ends: exit code, and what is printed."""

import contextlib
import errno
import importlib.util
import os
import sys
from typing import Final

from cyclopts import App, CycloptsError
from rich.text import Text

from attract import __version__
from attract.commands.help import (
    BEGIN,
    EVERY_SETTING,
    HELP_ALL,
    LOOK,
    MEASURE,
    OPERATE,
    OPTIONS,
    SHIP,
    TRAIN,
    Layout,
    docstring_of,
    mistake,
    mistake_text,
)
from attract.commands.output import CommandConsole, silence
from attract.errors import AttractError, UsageError
from attract.processes.exit_codes import DONE, FAILED, INTERRUPTED, OUTPUT_GONE, TERMINATED, USAGE
from attract.processes.interrupt import Interruption, Terminated

GROUPS: Final = {
    BEGIN: {
        "new": "attract.commands.new:new",
        "init": "attract.commands.init:init",
        "check": "attract.commands.check:check",
        "ci": "attract.commands.ci:ci",
        "difficulty": "attract.commands.difficulty:difficulty",
        "verify": "attract.commands.verify:verify",
        "look": "attract.commands.look:look",
        "probe": "attract.commands.probe:probe",
        "skill": "attract.commands.skill:skill",
        "doctor": "attract.commands.doctor:doctor",
    },
    TRAIN: {
        "train": "attract.commands.train:train",
        "tune": "attract.commands.tune:tune",
        "imitate": "attract.commands.imitate:imitate",
        "cluster": "attract.commands.cluster:cluster",
    },
    LOOK: {
        "serve": "attract.commands.serve:serve",
        "runs": "attract.commands.runs:runs",
        "metrics": "attract.commands.metrics:metrics",
        "eval": "attract.commands.evaluate:evaluate",
        "match": "attract.commands.match:match",
        "replay": "attract.commands.replay:replay",
    },
    SHIP: {"export": "attract.commands.export:export"},
    OPERATE: {
        "join": "attract.commands.join:join",
        "health": "attract.commands.health:health",
        "report": "attract.commands.report:report",
        "rollback": "attract.commands.rollback:rollback",
    },
}
"""Import paths by subcommand, in the groups and the order of `attract --help`.

The module of a subcommand is imported when it is called; its docstring is its help.
"""
if importlib.util.find_spec("attract_benchmarks") is not None:
    # In a clone. The package that is installed carries no benchmarks.
    GROUPS[MEASURE] = {name: f"attract_benchmarks.cli:{name}" for name in ("bench", "results")}
COMMANDS: Final = {name: path for commands in GROUPS.values() for name, path in commands.items()}
WITH_SETTINGS: Final = ("train", "tune", "imitate")
WRITTEN_SO: Final = {"--resume=auto": "--resume-auto", HELP_ALL: "--help"}
"""`--resume` takes no value, so that a game's name may follow it; with one it is a flag of its own.

`SettingsLayout` looks for the other word itself.
"""
EXAMPLES: Final = """\
Examples
--------
attract train cartpole --until-return 475  # start here: a bundled game, learned in seconds
attract new my-game  # then your own game
attract serve  # everything in the browser
"""
UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error codes of a full or broken disk, which can come without a file name."""

app = App(
    name="attract",
    version=__version__,
    help="Train an agent to play a browser game, in browsers, and ship it inside the game.",
    console=CommandConsole(),
    error_formatter=mistake,
    error_console=CommandConsole(stderr=True, soft_wrap=True, highlight=False),
    help_formatter=Layout(EXAMPLES),
    group_commands=OPTIONS,
)
for _group, _commands in GROUPS.items():
    for _place, (_name, _path) in enumerate(_commands.items()):
        _help = docstring_of(_path)
        app.command(
            _path,
            name=_name,
            help=_help,
            group=_group,
            sort_key=_place,
            help_formatter=Layout(_help),
            help_epilogue=EVERY_SETTING if _name in WITH_SETTINGS else None,
        )
app.register_install_completion_command(
    help="Have this shell complete commands, games, runs, presets and settings."
)


def main() -> None:
    """Run the command line; the exit codes are those of `attract.processes.exit_codes`."""
    with Interruption().noticed() as interruption:
        try:
            code = _run()
        except Exception as error:
            if not interruption.has_come:
                _answer(sys.argv, error, FAILED)
                raise
            code = interruption.exit_code
    sys.exit(code)


def _run() -> int:
    words = [WRITTEN_SO.get(word, word) for word in sys.argv[1:]]
    _warn_of_unread_variables()
    try:
        code = app(words, exit_on_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        # It is printed.
        code = USAGE
        command = next((word for word in words if word in COMMANDS), None)
        fix = "attract --help lists all commands" if command is None else f"attract {command} --help"
        _answer(words, UsageError(mistake_text(error), fix=fix), code)
    except AttractError as error:
        from attract.commands.train_display import printable

        # It may quote a game, a page or the files of a run from elsewhere.
        text = Text.assemble(("error:", "red"), f" {printable(str(error))}")
        with contextlib.suppress(BrokenPipeError):
            CommandConsole(stderr=True).print(text, highlight=False, soft_wrap=True)
        code = error.exit_code
        _answer(words, error, code)
    except KeyboardInterrupt as error:
        code = INTERRUPTED
        _answer(words, error, code)
    except Terminated as error:
        code = TERMINATED
        _answer(words, error, code)
    except BrokenPipeError:
        silence(sys.stdout)
        silence(sys.stderr)
        code = OUTPUT_GONE
    except OSError as error:
        if error.filename is None and error.errno not in UNWRITABLE:
            raise
        _answer(words, error, FAILED)
        # Python would flush what stdout still holds at exit, and fail again.
        silence(sys.stdout)
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"error: {where}{error.strerror}", file=sys.stderr)
        code = FAILED
    return code if isinstance(code, int) else DONE


def _answer(words: list[str], error: BaseException, exit_code: int) -> None:
    """Print the error as JSON, if the command line asks for JSON."""
    from attract.commands.json_output import answer_to, is_wanted, print_answer

    if is_wanted(words):
        # A full disk or a reader that left: the exit code says it.
        with contextlib.suppress(OSError):
            print_answer(answer_to(error, exit_code))


def _warn_of_unread_variables() -> None:
    # The names that are read take a third of a second to import.
    if not any(name.startswith("ATTRACT_") for name in os.environ):
        return
    from attract.settings.variables import unread_variables

    for warning in unread_variables(os.environ, _flags):
        print(f"warning: {warning}", file=sys.stderr)


def _flags() -> dict[str, str]:
    """Flags of all commands, by the environment variable that a user might expect to set them."""
    arguments = (argument for command in COMMANDS for argument in app[command].assemble_argument_collection())
    names = (name for argument in arguments for name in argument.names if name.startswith("--"))
    return {f"ATTRACT_{name.strip('-').upper().replace('-', '_')}": name for name in names}
