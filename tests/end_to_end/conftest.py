"""What tests of the whole system share: trained runs."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from attract_command import run_attract

OUTCOME = "outcome.json"


def _once(factory: pytest.TempPathFactory, game: str, *words: str) -> Path:
    """A folder of runs whose run `p` one worker of pytest has trained for all; read it, change copies."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    runs = base / f"trained-{game}"
    with runs.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (runs / OUTCOME).exists():
            shutil.rmtree(runs, ignore_errors=True)
            words = ("train", game, "--headless", "--run-id", "p", "--json", *words)
            trained = run_attract(*words, runs_dir=runs)
            assert trained.code == 0, trained.stderr
            (runs / OUTCOME).write_text(trained.stdout)
    return runs


@pytest.fixture(scope="session")
def _cartpole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = ("--no-check", "--workers", "2", "--seed", "3", "--total-steps", "1500000")
    return _once(tmp_path_factory, "cartpole", *words, "--until-return", "475")


@pytest.fixture(scope="session")
def _meteors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _once(tmp_path_factory, "meteors", "--total-steps", "40000")


@pytest.fixture(scope="module")
def trained_cartpole(_cartpole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs, of this test file alone, with one run, `p`: CartPole, trained to a return of 475."""
    return _copy(_cartpole, tmp_path_factory)


@pytest.fixture(scope="module")
def trained_meteors(_meteors: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of Meteors, a game in a page, after 40,000 steps; `outcome.json` is what the command said."""
    return _copy(_meteors, tmp_path_factory)


def _copy(runs: Path, factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(runs, factory.mktemp("trained") / "runs", symlinks=True))
