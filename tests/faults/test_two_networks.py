"""A trainer in one network and its fleet in another: what happens to a network at night, on real interfaces.

The letters are those of the bars that a review of fleets on other machines set.
"""

import asyncio
import contextlib
import json
import secrets
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest
import websockets
from tests.faults.two_networks import ADDRESSES, SlowNetworks, TwoNetworks, why_not

import attract
from attract.browser.host import join_url
from attract.learner.checkpoints.checkpoint import load_checkpoint, versions_in
from attract.schema import PROTOCOL_VERSION, close_codes
from attract.schema.frames import decode_to_browser, encode
from attract.schema.messages import Hello, Refused
from attract.server.app import read_build
from attract.server.links import lan_address
from attract_command import AttractCommand, Heard

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


WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")

AWAY_SECONDS = 17.0
"""Longer than pages believe in a silent server (15 s)."""
SPEED_SECONDS = 20.0
BUILD = read_build(Path(attract.__file__).parent / "web") or ""
LONG_SECONDS = 90.0


def test_scale_08_without_a_router_the_join_link_names_the_networks_own_address() -> None:
    with TwoNetworks() as networks, networks.inside("trainer"):
        assert lan_address() == ADDRESSES["trainer"]


@pytest.mark.long
async def test_scale_10_a_fleet_behind_a_far_line_outlives_a_dead_one(tmp_path: Path) -> None:
    with SlowNetworks(round_trip_seconds=0.1) as networks, Night(networks, tmp_path) as night:
        fleet, heard = night.join()
        heard.wait_for(f"joined {night.url}")
        await asyncio.to_thread(night.seconds_to_train)
        # D: one household, one school, one proxy: 150 sockets of one address.
        with networks.inside("fleet"):
            assert await _num_let_in(night, 150) == 150
        # B: turned away, and told why.
        stranger, output = night.join(token=secrets.token_hex(32))
        assert await asyncio.to_thread(stranger.process.wait, 60) == 2, output.lines
        assert "the token is missing, wrong or expired; " in output.wait_for("error: ", 5)
        # A: no packet arrives, and no end of any connection is told that the other is gone.
        with networks.cut():
            await asyncio.sleep(AWAY_SECONDS)
            heard.wait_for("trainer away, waiting", 10)
        heard.wait_for("back after")
        seconds = await asyncio.to_thread(night.seconds_to_train)
        print(f"training again {seconds:.1f} s after the line")
        assert fleet.process.poll() is None
        # The page came back by itself, without being loaded anew.
        assert not [line for line in heard.lines if line.startswith("browser:")]
        night.judge()


async def _num_let_in(night: Night, number: int) -> int:
    """So many hosts come with the fleet's token at once; how many are in together.

    64 of one address may be on their way to say hello; the others come again a little later, as pages do.
    """
    async with contextlib.AsyncExitStack() as stack:

        async def come() -> bool:
            while True:
                url = f"ws://{ADDRESSES['trainer']}:{PORT}/ws"
                joining = websockets.connect(url, origin=night.url, compression=None, open_timeout=60)  # type: ignore[arg-type]
                guest = await stack.enter_async_context(joining)
                hello = Hello(
                    protocol_version=PROTOCOL_VERSION,
                    build=BUILD,
                    token=night.token,
                    role="host",
                    host_id=secrets.token_hex(16),
                    max_workers=0,
                )
                with contextlib.suppress(websockets.ConnectionClosed):
                    await guest.send(encode(hello))
                    answer = decode_to_browser(await guest.recv())
                    if answer.type == "welcome_host":
                        return True
                    assert isinstance(answer, Refused) and answer.close_code in close_codes.RETRY
                await asyncio.sleep(0.5)

        async with asyncio.timeout(60):
            return sum(await asyncio.gather(*(come() for _ in range(number))))


def test_scale_02_a_certificate_that_nobody_trusts_ends_the_join_with_the_reason(tmp_path: Path) -> None:
    address = ADDRESSES["trainer"]
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-nodes", "-days", "2", "-subj", "/CN=trainer", "-addext", f"subjectAltName=IP:{address}"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    with TwoNetworks() as networks:
        trainer = AttractCommand(
            *("serve", "--host", address, "--port", str(PORT)),
            *("--tls-cert", str(certificate), "--tls-key", str(key)),
            runs_dir=tmp_path / "runs",
            prefix=networks.prefix("trainer"),
        )
        try:
            _wait_for_port(networks)
            outcome = AttractCommand(
                *("join", f"https://{address}:{PORT}", "--token", secrets.token_hex(32)),
                runs_dir=tmp_path / "runs",
                prefix=networks.prefix("fleet"),
            ).wait(60)
        finally:
            trainer.kill()
    assert outcome.code == 2, outcome
    assert "certificate verify failed" in outcome.stderr and "self-signed" in outcome.stderr


def _wait_for_port(networks: TwoNetworks) -> None:
    deadline = time.monotonic() + 60
    with networks.inside("fleet"):
        while True:
            try:
                socket.create_connection((ADDRESSES["trainer"], PORT), 5).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "the trainer does not listen"
                time.sleep(0.05)


def _lines_down(kind: str) -> tuple[TwoNetworks, Callable[[], contextlib.AbstractContextManager[None]]]:
    if kind == "silent":
        line = SlowNetworks()
        return line, line.cut
    cable = TwoNetworks()
    return cable, lambda: cable.pulled("trainer" if kind == "pulled at the trainer" else "fleet")


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["pulled at the trainer", "pulled at the fleet", "silent"])
@pytest.mark.parametrize("joined_by", ["attract join", "a page"])
def test_scale_10_a_a_line_down_for_90_s(tmp_path: Path, kind: str, joined_by: str) -> None:
    networks, down = _lines_down(kind)
    with networks, Night(networks, tmp_path) as night:
        heard = night.join()[1] if joined_by == "attract join" else None
        page = None if heard is not None else night.page()
        night.seconds_to_train()
        before = night.speed(SPEED_SECONDS)
        num_heard = 0 if heard is None else len(heard.lines)
        with down():
            time.sleep(LONG_SECONDS)
        seconds = night.seconds_to_train()
        after = night.speed(SPEED_SECONDS)
        print(f"{joined_by}, {kind}: again after {seconds:.1f} s, {after:.0f} of {before:.0f} steps/s")
        if heard is not None:
            away, back = heard.lines[num_heard:]
            assert away.startswith("trainer away, waiting: ") and back.startswith("back after ")
        if page is not None:
            assert page.num_opened == 1
            assert any("the server has not answered" in error for error in page.errors())
        assert after >= before / 2
        night.judge()


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("round_trip_seconds", "loss"), [(0.0, 0.0), (0.1, 0.0), (0.1, 0.01)])
def test_scale_10_training_goes_on_over_a_far_line_that_loses_packets(
    tmp_path: Path, round_trip_seconds: float, loss: float
) -> None:
    line = SlowNetworks(round_trip_seconds=round_trip_seconds, loss=loss)
    with line, Night(line, tmp_path) as night:
        night.join()
        night.seconds_to_train()
        speed = night.speed(SPEED_SECONDS)
        print(f"{round_trip_seconds:g} s round trip, {loss:.0%} lost ({line.num_lost}): {speed:.0f} steps/s")
        assert speed > 0
        assert (line.num_lost > 0) == (loss > 0)
        night.judge()
