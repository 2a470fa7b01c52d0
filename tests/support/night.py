"""`attract train` in one network and browsers in the other, as a long night sees them."""

import json
import secrets
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from attract.browser.host import join_url
from attract.learner.checkpoints.checkpoint import load_checkpoint, versions_in
from attract_command import AttractCommand, Heard
from two_networks import ADDRESSES, TwoNetworks

PORT = 8000
RUN_ID = "night"
WAIT_SECONDS = 180.0


class Night:
    """One run and who plays for it; a context manager that ends them all."""

    def __init__(self, networks: TwoNetworks, runs_dir: Path) -> None:
        self.networks = networks
        self.runs_dir = runs_dir
        self.url = f"http://{ADDRESSES['trainer']}:{PORT}"
        self.token = secrets.token_hex(32)
        self.trainer: AttractCommand | None = None
        self._fleets: list[tuple[AttractCommand, Heard]] = []
        self._pages: list[Page] = []

    def __enter__(self) -> Self:
        self.start_trainer()
        return self

    def __exit__(self, *exception: object) -> None:
        for page in self._pages:
            page.end()
        for fleet, heard in self._fleets:
            if fleet.process.poll() is None:
                fleet.process.terminate()
                fleet.process.wait(30)
            heard.close()
        self.kill_trainer()

    def start_trainer(self) -> None:
        """Start it, or go on with its run."""
        # Without a host of its own tier a run waits half a minute for one.
        words = ("train", "cartpole", "--no-headless", "--no-check", "--lan", "--worker-tier", "local")
        self.trainer = AttractCommand(
            *(*words, "--port", str(PORT), "--workers", "1", "--run-id", RUN_ID, "--resume=auto"),
            runs_dir=self.runs_dir,
            environment={"ATTRACT_WORKER_TOKEN": self.token},
            prefix=self.networks.prefix("trainer"),
        )

    def kill_trainer(self) -> None:
        """`kill -9` of gateway and learner."""
        if self.trainer is not None:
            self.trainer.kill()
        self.trainer = None

    def join(self, *more: str, token: str | None = None) -> tuple[AttractCommand, Heard]:
        """`attract join` with one worker, and what it writes to its terminal."""
        fleet = AttractCommand(
            *("join", self.url, "--workers", "1", "--until-gone", "600", *more),
            runs_dir=self.runs_dir,
            environment={"ATTRACT_WORKER_TOKEN": token or self.token},
            prefix=self.networks.prefix("fleet"),
        )
        self._fleets.append((fleet, Heard(fleet)))
        return self._fleets[-1]

    def page(self) -> "Page":
        """A page that was opened by a join link, without an attendant."""
        self._pages.append(Page(self.networks.prefix("fleet"), join_url(self.url, self.token, 1)))
        return self._pages[-1]

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

    def judge(self) -> None:
        """No row is missing, and the newest version on disk is whole."""
        with closing(sqlite3.connect(self.runs_dir / RUN_ID / "metrics.db")) as database:
            numbers = [
                number for (number,) in database.execute('SELECT "update" FROM updates ORDER BY "update"')
            ]
        assert numbers == list(range(len(numbers))), "a row is missing"
        checkpoints = self.runs_dir / RUN_ID / "checkpoints"
        load_checkpoint(checkpoints / str(max(versions_in(checkpoints))))


class Page:
    """A headless Chromium with the host page alone."""

    def __init__(self, prefix: list[str], url: str) -> None:
        self.said: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "attract.browser"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._process.stdin.write(f"{url}\n")
        self._process.stdin.flush()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self.said.extend(json.loads(line) for line in self._process.stdout)

    @property
    def num_opened(self) -> int:
        """How often it was loaded."""
        return sum(event["event"] == "open" for event in self.said)

    def errors(self) -> list[str]:
        """What it said of itself while it was not connected."""
        statuses = [event["status"] for event in self.said if event["event"] == "status" and event["status"]]
        return [
            statuse["error"]
            for statuse in statuses
            if not statuse["connected"] and statuse["error"] is not None
        ]

    def end(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._thread.join()
        self._process.stdout.close()
