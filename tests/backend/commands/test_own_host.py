"""A browser that cannot be started ends every command at once, in a sentence."""

import sys
from pathlib import Path

import pytest

from attract_command import AttractCommand

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /bin/true")


def test_a_browser_that_ends_at_once_ends_every_command_in_a_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no libnss3.so' >&2\nexit 127\n")
    broken.chmod(0o755)
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<script>let n = 0;</script>")
    lines = [
        ("/bin/true", ["train", "cartpole", "--headless"], "/bin/true ended at once (exit code 0)"),
        (str(broken), ["check", "cartpole"], "broken ended at once (exit code 127): no libnss3.so"),
        (str(broken), ["look", str(tmp_path / "page")], "(exit code 127): no libnss3.so"),
        (str(broken), ["probe", str(tmp_path / "page")], "(exit code 127): no libnss3.so"),
    ]
    commands = [
        AttractCommand(*words, runs_dir=tmp_path / str(number), environment={"ATTRACT_CHROMIUM": program})
        for number, (program, words, _) in enumerate(lines)
    ]
    for command, (_, words, said) in zip(commands, lines, strict=True):
        outcome = command.wait(60)
        text = outcome.stdout + outcome.stderr
        assert (outcome.code, text.count("ATTRACT_CHROMIUM: ")) == (2, 1), (words, text)
        assert said in text and "--disable" not in text and "Traceback" not in text
