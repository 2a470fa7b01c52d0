"""`attract cluster` and `attract tune --ray` on real Ray clusters of this machine."""

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from attract.cluster.engine import SLACK
from attract_command import AttractCommand, Heard
from servers import free_port

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


pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: `make ray` does that"
    ),
]
SECONDS = 400


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayNodes]:
    # Its sockets have paths of at most 107 characters.
    with ray_nodes(tmp_path_factory.mktemp("r")) as found:
        yield found


def attract(cluster: RayNodes, tmp_path: Path, *words: str) -> AttractCommand:
    environment = {**cluster.environment, "RAY_ADDRESS": cluster.address}
    return AttractCommand(*words, runs_dir=tmp_path / "runs", environment=environment)


def wait_until(what: Callable[[], object], why: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, why
        time.sleep(0.2)


def browsers_below(node: psutil.Process) -> list[psutil.Process]:
    """The hosts that run on a node: the process that drives each browser."""
    return [child for child in node.children(recursive=True) if "attract.browser" in words_of(child)]


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_hosts_on_two_nodes_play_and_the_loss_of_one_node_ends_nothing(
    cluster: RayNodes, tmp_path: Path
) -> None:
    first = cluster.add(2, head=True)
    second = cluster.add(1)
    command = attract(
        cluster,
        tmp_path,
        *("cluster", "cartpole", "--hosts", "2", "--workers", "1", "--run-id", "r"),
        *("--until-return", "475", "--json-lines"),
    )
    heard = Heard(command)
    updates: list[int] = []
    killed_at = None
    said = {}
    try:
        assert command.process.stdout is not None
        for line in command.process.stdout:
            said = json.loads(line)
            if "update" not in said:
                break
            updates.append(said["update"])
            if killed_at is None and browsers_below(first) and browsers_below(second):
                joined = [line for line in heard.lines if ": joined http" in line]
                if len(joined) == 2:
                    killed_at = said["update"]
                    cluster.lose(second)
        code = command.process.wait(60)
    finally:
        command.kill()
    heard.close()
    assert killed_at is not None, heard.lines
    assert (code, said["goal_reached"]) == (0, True), heard.lines
    assert updates == list(range(1, len(updates) + 1)) and updates[-1] > killed_at
    assert not browsers_below(first), "its browsers end with the training"


def test_what_has_no_room_is_asked_of_the_autoscaler_and_ctrl_c_ends_the_wait(
    cluster: RayNodes, tmp_path: Path
) -> None:
    cluster.add(1, head=True)
    command = attract(cluster, tmp_path, "cluster", "cartpole", "--workers", "3")
    heard = Heard(command)
    try:
        heard.wait_for("trainer waits for a node with enough free resources", SECONDS)
        status = cluster.status()
        assert re.search(r"\{'CPU': 1.0\} \* 4 \(STRICT_PACK\)", status), status
        command.interrupt()
        assert command.process.wait(60) == 130
    finally:
        command.kill()
    heard.close()


def test_ctrl_c_saves_and_leaves_no_process_on_a_cluster_of_its_own(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "RAY_AUTH_MODE": "disabled", "RAY_ADDRESS": ""}
    command = AttractCommand(
        *("cluster", "cartpole", "--hosts", "1", "--workers", "1", "--run-id", "r", "--instances", "8"),
        *("--address", "local"),
        runs_dir=tmp_path / "runs",
        environment=home,
    )
    heard = Heard(command)
    lines: list[str] = []
    try:
        assert command.process.stdout is not None
        for line in command.process.stdout:
            lines.append(line)
            if line.startswith("update "):
                family = command.family()
                command.interrupt()
                break
        lines += list(command.process.stdout)
        code = command.process.wait(60)
    finally:
        command.kill()
    heard.close()
    assert code == 130, lines
    assert any("started one on this machine, 1 node" in line for line in heard.lines)
    assert any(line.startswith("stopped: ") for line in lines)
    assert (tmp_path / "runs" / "r" / "export" / "policy.onnx").is_file()
    assert len(family) > 5 and psutil.wait_procs(family, timeout=60)[1] == []


def test_trials_run_on_the_nodes_and_are_pruned_stopped_and_gone_on_with(
    cluster: RayNodes, tmp_path: Path
) -> None:
    cluster.add(2, head=True)
    cluster.add(2)
    search = tmp_path / "search.yaml"
    search.write_text("ppo.learning_rate: {low: 0.001, high: 0.005, log: true}\n")
    words = (
        *("tune", "cartpole", "--ray", "--study", "s", "--trials", "3", "--seeds", "3", "--json"),
        *("--total-steps", "4000", "--search", str(search), "--instances", "8", "--workers", "1"),
        *("--ppo.gamma", "0.99", "--ppo.gae-lambda", "0.95", "--ppo.n-epochs", "1", "--ppo.horizon", "32"),
        *("--policy.hidden-sizes", "64", "--policy.shared-trunk", "--ppo.entropy-coef", "0.01"),
    )
    first = attract(cluster, tmp_path, *words)
    study = tmp_path / "runs" / "tuning" / "s" / "study.json"
    try:
        wait_until(
            lambda: study.is_file() and len(json.loads(study.read_text())["trials"]) > 1, "no second trial"
        )
        os.kill(first.process.pid, 2)
        ended = first.wait(120)
    finally:
        first.kill()
    assert ended.code == 130, ended.stderr
    assert ended.json["state"] == "stopped" and ended.json["parallel"] == 2
    assert "Ray at 127.0.0.1" in ended.stderr or re.search(
        r"Ray at [\d.]+:\d+: 2 nodes, CPUs: 4", ended.stderr
    )
    second = attract(cluster, tmp_path, *words)
    try:
        done = second.wait(SECONDS)
    finally:
        second.kill()
    assert done.code == 0, done.stderr
    assert done.json["state"] == "finished"
    assert [trial["state"] in ("finished", "pruned") for trial in done.json["trials"]] == [True] * 3
    # Those that were stopped are not counted, and have no log: three others came home, and the confirmation.
    assert len(list((study.parent / "logs").glob("trial-*.log"))) == 3
    assert len(done.json["confirmations"]) == 2
