"""Starts the inference process: `python -m attract.vector.serving --fd N`, N a socket of the gateway's."""

import argparse
import os
import sys

from attract.vector.serving.process import run


def main() -> int:
    """Parse the command line and run; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m attract.vector.serving")
    parser.add_argument(
        "--fd", type=int, required=True, help="inherited socket, see attract.schema.inference"
    )
    return run(parser.parse_args().fd)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Every file is closed; tearing torch down would take longer than the goodbye.
    os._exit(code)
