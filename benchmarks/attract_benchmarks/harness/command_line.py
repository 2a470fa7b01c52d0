"""Commands as processes of their own, and the JSON that they print."""

import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from attract.errors import AttractError

RUN_SECONDS = 3 * 3600.0
"""A process that takes longer has failed: the slowest is 40 minutes of one core, and may have to share it."""


def attract(*arguments: str, runs_dir: Path, accepted: Collection[int] = (0,)) -> dict[str, Any]:
    """The object that `attract ARGUMENTS` with `--json` prints at its end. Raises: as `json_of`."""
    command = [sys.executable, "-m", "attract", *arguments, "--runs-dir", str(runs_dir)]
    return json_of(command, accepted=accepted)


def json_of(
    command: Sequence[str], given: str | None = None, *, accepted: Collection[int] = (0,)
) -> dict[str, Any]:
    """The JSON object on the last line of the command's stdout.

    Args:
        command: what to run, and to wait for.
        given: its stdin; None: ours.
        accepted: exit codes that are no failure.

    Raises: AttractError: when it fails, or takes longer than `RUN_SECONDS`.
    """
    try:
        ended = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise AttractError(f"{' '.join(command)} still ran after {RUN_SECONDS:.0f} s") from None
    if ended.returncode not in accepted:
        raise AttractError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr[-2000:]}")
    return json.loads(ended.stdout.strip().splitlines()[-1])
