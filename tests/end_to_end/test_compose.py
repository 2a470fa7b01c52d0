"""docker-compose.yml kept honest: each service's own command and environment, run as local processes."""

import json
import re
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import playwright
import pytest
import yaml

from attract.server.links import lan_address
from attract_command import AttractCommand
from base_install import PROJECT, packages
from servers import free_port

ROOT = Path(__file__).parents[2]
TOKEN = secrets.token_hex(32)


def _services() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def _local(text: str, port: int) -> str:
    """A word of the compose file on this machine: ports become free ones, the trainer's name its address.

    Another container reaches the trainer over a network, so here too it is not by the loopback address.
    """
    text = re.sub(r"\btrainer:8000\b", f"{lan_address()}:{port}", text)
    return re.sub(r"\b127\.0\.0\.1:8000\b", f"127.0.0.1:{port}", re.sub(r"^8000$", str(port), text))


def _start(service: dict[str, Any], port: int, runs_dir: Path, *more: str) -> AttractCommand:
    program, *arguments = service["command"]
    assert program == "attract"
    environment = {name: _local(str(value), port) for name, value in service["environment"].items()}
    environment["ATTRACT_RUNS_DIR"] = str(runs_dir)
    (secret := runs_dir / "worker-token").write_text(TOKEN)
    secret.chmod(0o600)
    assert environment["ATTRACT_WORKER_TOKEN_FILE"] == "/run/secrets/worker_token"
    environment["ATTRACT_WORKER_TOKEN_FILE"] = str(secret)
    return AttractCommand(
        *(_local(word, port) for word in arguments), *more, runs_dir=runs_dir, environment=environment
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the images are Linux's")
def test_scale_docker_the_images_have_what_the_browsers_driver_is_linked_against() -> None:
    """Playwright's Node loads libraries that a slim image lacks: each is of a package that is installed."""
    node = Path(playwright.__file__).parent / "driver" / "node"
    loaded = subprocess.run(["ldd", node], capture_output=True, text=True, check=True).stdout
    libraries = set(re.findall(r"^\s*(lib[\w+]+)\.so", loaded, re.MULTILINE))
    # glibc's own, and what Chromium's package asks for as well.
    there = {"libc", "libm", "libdl", "libpthread", "libgcc_s", "libstdc++"}
    installed = re.findall(r"apt-get install .* (chromium .*) \\", (ROOT / "Dockerfile").read_text())
    assert len(installed) == 1
    missing = {library for library in libraries - there if library not in installed[0]}
    assert missing == set()


def test_scale_docker_all_that_is_installed_is_pinned() -> None:
    pinned = packages((ROOT / "constraints.txt").read_text().splitlines())
    assert packages([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["train"]]) - pinned == set()


def test_scale_docker_npm_knows_every_workspace_before_it_installs() -> None:
    """One that is not there yet gets no link in `node_modules`: what imports it is not built."""
    before, install, _ = (ROOT / "Dockerfile").read_text().partition("RUN npm ci\n")
    assert install
    workspaces = json.loads((ROOT / "package.json").read_text())["workspaces"]
    assert [
        workspace for workspace in workspaces if f"COPY {workspace}/package.json {workspace}/\n" not in before
    ] == []


# `make test` has `attract join` against a trainer in backend/commands/test_join.py, the files' words above.
@pytest.mark.long
def test_the_services_commands_train_together(tmp_path: Path) -> None:
    services = _services()
    port = free_port()
    trainer = _start(services["trainer"], port, tmp_path, "--total-steps", "20000")
    fleet = None
    try:
        _, *check = services["trainer"]["healthcheck"]["test"]
        program, *words = check
        assert program == "python"
        health = [sys.executable, *(_local(word, port) for word in words)]
        deadline = time.monotonic() + 60
        while subprocess.run(health, check=False, stderr=subprocess.DEVNULL).returncode != 0:
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
