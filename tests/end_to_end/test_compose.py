"""docker-compose.yml kept honest: each service's own command and environment, run as local processes."""

import re
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import yaml

from attract.server.links import lan_address
from attract_command import AttractCommand
from free_port import free_port

ROOT = Path(__file__).parents[2]
TOKEN = secrets.token_hex(32)


def _services() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def _local(text: str, port: int) -> str:
    """A word of the compose file on this machine: ports become free ones, the trainer's name its address.

    Another container reaches the trainer over a network, so here too it is not by the loopback address.
    """
    text = re.sub(r"\$\{ATTRACT_WORKER_TOKEN:\?[^}]*\}", TOKEN, text)
    text = re.sub(r"\btrainer:8000\b", f"{lan_address()}:{port}", text)
    return re.sub(r"\b127\.0\.0\.1:8000\b", f"127.0.0.1:{port}", re.sub(r"^8000$", str(port), text))


def _start(service: dict[str, Any], port: int, runs_dir: Path, *more: str) -> AttractCommand:
    program, *arguments = service["command"]
    assert program == "attract"
    environment = {name: _local(str(value), port) for name, value in service["environment"].items()}
    environment["ATTRACT_RUNS_DIR"] = str(runs_dir)
    return AttractCommand(
        *(_local(word, port) for word in arguments), *more, runs_dir=runs_dir, environment=environment
    )


def test_every_service_has_shared_memory_and_the_fleet_waits_for_the_trainer() -> None:
    services = _services()
    assert set(services) == {"trainer", "fleet"}
    assert all(service["shm_size"] == "1gb" for service in services.values())
    assert services["fleet"]["depends_on"]["trainer"]["condition"] == "service_healthy"


def test_the_services_commands_train_together(tmp_path: Path) -> None:
    services = _services()
    port = free_port()
    trainer = _start(services["trainer"], port, tmp_path, "--run-id", "composed", "--total-steps", "20000")
    fleet = None
    try:
        _, *check = services["trainer"]["healthcheck"]["test"]
        health = [sys.executable, "-m", *(_local(word, port) for word in check)]
        deadline = time.monotonic() + 60
        while subprocess.run(health, check=False).returncode != 0:
            assert trainer.process.poll() is None, trainer.wait().stderr
            assert time.monotonic() < deadline, "the trainer's health check never passed"
        # The fleet's browser asks for the trainer by its service's name.
        named = httpx.get(f"http://127.0.0.1:{port}/healthz", headers={"host": "trainer:8000"})
        assert named.status_code == 200, named.text
        fleet = _start(services["fleet"], port, tmp_path)
        outcome = trainer.wait(180)
        assert outcome.code in (0, 3), outcome.stderr
    finally:
        trainer.kill()
        if fleet is not None:
            fleet.kill()
    assert list((tmp_path / "composed" / "checkpoints").glob("*/checkpoint.json"))


def test_the_public_port_is_the_trainers() -> None:
    trainer = _services()["trainer"]
    assert trainer["ports"] == ["127.0.0.1:8000:8000"]
    assert trainer["command"][trainer["command"].index("--port") + 1] == "8000"
