"""A Ray cluster of several nodes on this machine, started as a user would: `ray start` in each."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from attract.cluster.engine import SLACK
from free_port import free_port

RAY = Path(sys.executable).with_name("ray")
QUICK_TO_NOTICE = {"RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "5"}
START_SECONDS = 300


@dataclass
class RayNodes:
    """The cluster; owned by one test."""

    address: str
    folder: Path
    environment: dict[str, str]
    _heads: list["subprocess.Popen[bytes]"] = field(default_factory=list["subprocess.Popen[bytes]"])

    def add(self, num_cpus: int, *, head: bool = False) -> psutil.Process:
        """A node of so many CPUs; the process that all others of it are below of."""
        role = ["--head", "--port", self.address.rpartition(":")[2], "--include-dashboard=false"]
        words = role if head else ["--address", self.address]
        if head:
            words += ["--temp-dir", str(self.folder)]
        process = subprocess.Popen(
            [RAY, "start", *words, "--num-cpus", str(num_cpus), "--block"],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._heads.append(process)
        self._wait_for_nodes(len([head for head in self._heads if head.poll() is None]))
        return psutil.Process(process.pid)

    def lose(self, node: psutil.Process) -> None:
        """Kill a node as if with its power: its raylet and all its workers at once."""
        _kill(node.pid)
        next(head for head in self._heads if head.pid == node.pid).wait()

    def nodes(self) -> list[dict[str, Any]]:
        """What the cluster says of its nodes that live."""
        program = f"""
import json, logging, ray
ray.init(address={self.address!r}, log_to_driver=False, logging_level=logging.CRITICAL)
print(json.dumps([node for node in ray.nodes() if node["Alive"]]))
"""
        done = self._run([sys.executable, "-c", program])
        return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else []

    def status(self) -> str:
        """What `ray status` says: nodes, and what is asked for."""
        return self._run([str(RAY), "status", "--address", self.address]).stdout

    def _run(self, words: list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=START_SECONDS, check=False
        )

    def _wait_for_nodes(self, count: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while len(self.nodes()) < count:
            assert time.monotonic() < deadline, f"{count} nodes are not there within {START_SECONDS} s"
            time.sleep(1)

    def end(self) -> None:
        """Kill what is left of it."""
        for process in self._heads:
            _kill(process.pid)
            process.wait()


def _kill(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in [*root.children(recursive=True), root]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)


@contextlib.contextmanager
def ray_nodes(folder: Path) -> Generator[RayNodes]:
    """A cluster that has no node yet; all are gone when the block is left."""
    home = folder / "home"
    home.mkdir()
    # A token file of Ray's belongs into no home of ours.
    environment = {**os.environ, **SLACK, **QUICK_TO_NOTICE, "HOME": str(home), "RAY_AUTH_MODE": "disabled"}
    cluster = RayNodes(f"127.0.0.1:{free_port()}", folder / "ray", environment)
    try:
        yield cluster
    finally:
        cluster.end()
