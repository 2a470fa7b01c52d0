"""Shell completion, asked of a real bash as its TAB key does."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from attract.cli import app

CASES = [
    # Commands, bundled games, runs, presets, settings by name, a module of one's own.
    (["tra"], "train"),
    (["train", "sna"], "snake"),
    (["check", "src/"], "src/game.ts"),
    (["eval", "lat"], "latest"),
    (["export", "cart"], "cartpole-1"),
    (["train", "--run-id", "cart"], "cartpole-1"),
    (["train", "cartpole", "--preset", "mem"], "memory"),
    (["train", "cartpole", "--ppo.gam"], "--ppo.gamma"),
    (["train", "cartpole", "--unti"], "--until-return"),
]


def completed(words: list[str], script: Path, folder: Path) -> list[str]:
    """What bash offers for the last word of `attract WORDS`."""
    typed = shlex.join(["attract", *words])
    asked = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; "
        f'_attract; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", asked],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a game, a run, and what bash is to source."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "src").mkdir()
    (folder / "src" / "game.ts").touch()
    (folder / "src" / "notes.txt").touch()
    (folder / "runs" / "cartpole-1").mkdir(parents=True)
    (folder / "runs" / "cartpole-1" / "config.yaml").touch()
    (folder / "script.bash").write_text(app.generate_completion(shell="bash"))
    return folder


@pytest.mark.parametrize(("words", "expected"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_a_shell_completes_what_is_there(words: list[str], expected: str, project: Path) -> None:
    found = completed(words, project / "script.bash", project)
    assert expected in found
    assert all(word.startswith(words[-1]) for word in found)
    assert "src/notes.txt" not in found


def test_the_completion_is_installed_for_the_shell_that_runs(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash"}
    done = subprocess.run(
        [sys.executable, "-m", "attract", "--install-completion", "--shell", "bash"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (script,) = (path for path in tmp_path.rglob("*") if path.is_file() and "_attract()" in path.read_text())
    assert str(script) in done.stdout
