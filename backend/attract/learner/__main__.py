"""Starts the learner process: `python -m attract.learner --fd N`, N a socket inherited from the gateway."""

import argparse
import os
import sys

from attract.learner.process.main import run
from attract.runs.log_lines import logging_of


def main() -> int:
    """Parse the command line and run; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m attract.learner")
    parser.add_argument("--fd", type=int, required=True, help="inherited socket, see attract.schema.learner")
    log_format, level = logging_of(os.environ)
    return run(parser.parse_args().fd, log_format, level)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Every file is closed and every thread idle; tearing torch down would take longer than the goodbye.
    os._exit(code)
