"""Limits are set in a process of their own: a hard limit cannot be raised again."""

import subprocess
import sys

import pytest

RAISED = """
import resource, sys
from attract.errors import ConfigurationError
from attract.processes.cores import raise_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
try:
    print(raise_open_files(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
except ConfigurationError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("soft", "hard", "said"),
    [
        (64, 512, "512 512"),
        (64, 4999, "4096 4096"),
        (4500, 4999, "4096 4500"),
        (256, 256, "256 256"),
        (
            64,
            255,
            "this shell allows 255 open files, a server and a browser need 256\n  raise it: ulimit -n 4096",
        ),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_the_hard_one_allows(soft: int, hard: int, said: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", RAISED, str(soft), str(hard)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == said
