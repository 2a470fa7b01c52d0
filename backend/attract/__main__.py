"""The `attract` command, also as `python -m attract`: Ctrl-C ends it without a traceback from the start."""

import atexit
import os
import signal

INTERRUPTED = 130
"""As in `attract.processes.exit_codes`; nothing but Python's own modules is read before Ctrl-C is handled."""


def main() -> None:
    """Run the command line.

    While its modules are read there is nothing to lose, and a KeyboardInterrupt in the middle of an import
    may come out of it as any other error.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))
        # Called last of all. Python would let Ctrl-C kill it while it tears down, with the exit code known.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    from attract.cli import main as run_command

    run_command()


if __name__ == "__main__":
    main()
