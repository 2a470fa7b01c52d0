import asyncio
import os
import sys
from pathlib import Path

import httpx

from free_port import free_port


async def test_uvicorn_serves_the_factory_with_settings_from_the_environment(tmp_path: Path):
    port = free_port()
    command = [
        "-m",
        "uvicorn",
        "--factory",
        "attract.asgi:create_app",
        "--port",
        str(port),
        "--log-level",
        "warning",
        # As the factory's docstring has it.
        "--http",
        "attract.server.serving:HeaderDeadlineProtocol",
        "--ws",
        "attract.server.serving:MeteredSocketProtocol",
        "--ws-max-size",
        "4259840",
        "--ws-per-message-deflate",
        "false",
    ]
    environment = {
        **os.environ,
        "ATTRACT_RUNS_DIR": str(tmp_path / "runs"),
        "ATTRACT_WORKER_TOKEN": "a-token-of-ones-own-choice",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, env=environment, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        line = (await asyncio.wait_for(process.stderr.readline(), 60)).decode().strip()
        address, _, token = line.removeprefix("dashboard: ").partition("#token=")
        assert address == f"http://127.0.0.1:{port}/"
        transport = httpx.AsyncHTTPTransport(retries=10)
        async with httpx.AsyncClient(base_url=address, transport=transport) as client:
            assert (await client.get("healthz")).json() == {"status": "ok"}
            assert (await client.get("api/runs")).status_code == 401
            admin = {"authorization": f"Bearer {token}"}
            assert (await client.get("api/runs", headers=admin)).json() == []
            worker = {"authorization": "Bearer a-token-of-ones-own-choice"}
            assert (await client.get("api/runs", headers=worker)).status_code == 403
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode in (0, -15)
