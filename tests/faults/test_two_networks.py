"""A trainer in one network and its fleet in another: what happens to them happens here too, on real interfaces."""

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from attract.server.links import lan_address
from attract_command import AttractCommand, Heard
from two_networks import ADDRESSES, SlowNetworks, TwoNetworks, why_not

PORT = 8000
RUN_ID = "night"
WAIT_SECONDS = 120.0

WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")


class Night:
    """`attract train` in one network, `attract join` with real Chromium in the other."""

    def __init__(self, networks: TwoNetworks, runs_dir: Path) -> None:
        self.networks = networks
        self.runs_dir = runs_dir
        self.url = f"http://{ADDRESSES['trainer']}:{PORT}"
        self.token = secrets.token_hex(32)
        self._running: list[AttractCommand] = []
        self._heard: list[Heard] = []
        self.trainer = self.start_trainer()

    def start_trainer(self, *more: str) -> AttractCommand:
        """Start it, or go on with its run."""
        words = ("train", "cartpole", "--no-headless", "--no-check", "--lan", "--port", str(PORT))
        # Else a run whose hosts are all invited waits half a minute for one of its own.
        words = (*words, "--worker-tier", "local")
        self.trainer = AttractCommand(
            *(*words, "--workers", "1", "--run-id", RUN_ID, "--resume=auto", *more),
            runs_dir=self.runs_dir,
            environment={"ATTRACT_WORKER_TOKEN": self.token},
            prefix=self.networks.prefix("trainer"),
        )
        self._running.append(self.trainer)
        return self.trainer

    def join(self, *more: str, token: str | None = None) -> tuple[AttractCommand, Heard]:
        """A fleet of one worker, and what it writes to its terminal."""
        fleet = AttractCommand(
            *("join", self.url, "--workers", "1", *more),
            runs_dir=self.runs_dir,
            environment={"ATTRACT_WORKER_TOKEN": token or self.token},
            prefix=self.networks.prefix("fleet"),
        )
        self._running.append(fleet)
        heard = Heard(fleet)
        self._heard.append(heard)
        return fleet, heard

    def steps(self) -> int:
        """Steps that the run has learned from."""
        path = self.runs_dir / RUN_ID / "metrics.db"
        if not path.exists():
            return 0
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            try:
                return database.execute("SELECT max(agent_steps) FROM updates").fetchone()[0] or 0
            except sqlite3.OperationalError:
                # Not made yet.
                return 0

    def seconds_to_train(self) -> float:
        """How long until it has learned from more than now."""
        began, before = time.monotonic(), self.steps()
        while self.steps() <= before:
            assert time.monotonic() - began < WAIT_SECONDS, "training stands still"
            time.sleep(0.05)
        return time.monotonic() - began

    def speed(self, seconds: float) -> float:
        """Steps a second over so long."""
        began, before = time.monotonic(), self.steps()
        time.sleep(seconds)
        return (self.steps() - before) / (time.monotonic() - began)

    def end(self) -> None:
        for one in self._running:
            if one.process.poll() is None and "join" in one.process.args:
                one.process.terminate()
        for one in self._running:
            one.kill()
        for one in self._heard:
            one.close()


def test_scale_08_without_a_router_the_join_link_names_the_networks_own_address() -> None:
    with TwoNetworks() as networks, networks.inside("trainer"):
        assert lan_address() == ADDRESSES["trainer"]
