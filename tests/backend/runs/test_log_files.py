import logging
import subprocess
import sys
from pathlib import Path

import pytest

from attract.runs import log_files
from attract.runs.log_files import RunLog

log = logging.getLogger("attract.somewhere")


def test_what_the_gateway_logs_is_kept_with_its_stack_while_the_run_is_active(tmp_path: Path):
    kept = RunLog(tmp_path / "logs")
    log.info("version %d", 3)
    try:
        raise RuntimeError("no such thing")
    except RuntimeError:
        log.exception("a part broke")
    kept.close()
    log.error("after the end")
    text = (tmp_path / "logs" / "gateway.log").read_text()
    first, second, *stack = text.splitlines()
    assert first.endswith("Z INFO attract.somewhere: version 3")
    assert second.endswith("Z ERROR attract.somewhere: a part broke")
    assert stack[0] == "Traceback (most recent call last):"
    assert stack[-1] == "RuntimeError: no such thing"
    assert logging.getLogger("attract").level == logging.NOTSET


def test_warnings_are_shown_on_stderr_still(tmp_path: Path):
    code = (
        "import logging, pathlib, sys\n"
        "from attract.runs.log_files import RunLog\n"
        "kept = RunLog(pathlib.Path(sys.argv[1]))\n"
        "logging.getLogger('attract.a').info('quiet')\n"
        "logging.getLogger('attract.a').warning('loud')\n"
        "kept.close()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "loud\n"


def test_the_log_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_files, "MAX_BYTES", 2000)
    kept = RunLog(tmp_path)
    for number in range(500):
        log.info("line %d", number)
    kept.close()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4000
    assert "line 499" in (tmp_path / "gateway.log").read_text()


CRASH = """
import ctypes, pathlib, sys
from attract.runs.log_files import redirect_output
redirect_output(pathlib.Path(sys.argv[1]) / "logs")
print("said", flush=True)
ctypes.string_at(0)
"""


def test_what_the_learner_says_and_a_crash_of_its_libraries_are_kept(tmp_path: Path):
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "learner.log").write_bytes(b"x" * (log_files.MAX_BYTES + 1))
    done = subprocess.run([sys.executable, "-c", CRASH, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode < 0
    assert done.stdout == done.stderr == ""
    text = (logs / "learner.log").read_text()
    assert text.startswith("said\n")
    assert "Segmentation fault" in text
    assert (logs / "learner.log.1").stat().st_size > log_files.MAX_BYTES
