"""Ctrl-C at any moment of the command's start: exit code 130, and not a line of Python."""

import subprocess
import sys
from pathlib import Path

import pytest

from attract.processes.exit_codes import INTERRUPTED

HOOK = """
import importlib.abc, os, signal, sys

class CtrlC(importlib.abc.MetaPathFinder):
    def __init__(self, module):
        self.module = module

    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                # As `__set_name__` does.
                raise RuntimeError("an import makes another error of it")
        return None

sys.meta_path.insert(0, CtrlC(sys.argv.pop(1)))
from attract.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "module",
    [
        pytest.param("cyclopts", id="while the command line is read"),
        pytest.param("attract.settings.run", id="while settings are read"),
        pytest.param("attract.commands.train", id="while the command is read"),
        pytest.param("uvloop", id="between making a coroutine and running it"),
    ],
)
def test_an_early_ctrl_c_is_130_and_silent(module: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOOK, module, "train", "cartpole", "--no-check", "--port", "0"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (INTERRUPTED, "", "")


LATE = """
import os, signal, sys
from attract.__main__ import main

class Torn:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)

torn = Torn()
sys.argv = ["attract", "--version"]
main()
"""


def test_a_ctrl_c_while_python_tears_down_changes_no_exit_code() -> None:
    ended = subprocess.run([sys.executable, "-c", LATE], capture_output=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
