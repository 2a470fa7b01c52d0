"""`attract serve`: which settings reach it; it says where it is, and ends by Ctrl-C."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from attract import cli
from attract.commands.serve import serve_dashboard
from attract.errors import ConfigurationError
from attract.settings.run import ServerSettings


def settings(folder: Path, port: int = 0) -> ServerSettings:
    return ServerSettings(runs_dir=folder / "runs", project_dir=folder, port=port)


async def test_a_busy_port_is_refused(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(ConfigurationError, match=str(port)):
            await serve_dashboard(settings(tmp_path, port))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_it_says_where_the_dashboard_is_and_a_signal_ends_it_in_good_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int, code: int
):
    serving = asyncio.create_task(serve_dashboard(settings(tmp_path)))
    said = ""
    while "Ctrl-C ends it" not in said:
        assert not serving.done(), serving.exception()
        await asyncio.sleep(0.01)
        said += capsys.readouterr().err
    await asyncio.sleep(0)
    assert "dashboard: http://127.0.0.1:" in said
    os.kill(os.getpid(), number)
    assert await asyncio.wait_for(serving, 60) == code
    assert "stopping" in capsys.readouterr().err


def test_flags_of_the_server_reach_it_from_both_commands(
    attract: Callable[..., object],
    served: list[ServerSettings],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTRACT_LAN", "1")
    monkeypatch.setenv("ATTRACT_WORKER_TIER", "local")
    attract("serve")
    attract("serve", "--worker-tier", "invited", "--behind-proxy", "10.0.0.1, 10.1.0.0/16")
    plain, settings = served
    assert (plain.lan, plain.worker_tier, plain.behind_proxy) == (True, "local", ())
    assert (settings.lan, settings.worker_tier, settings.behind_proxy) == (
        True,
        "invited",
        ("10.0.0.1", "10.1.0.0/16"),
    )
    help_of = {
        command: {
            argument.names: argument.parameter.help
            for argument in cli.app[command].assemble_argument_collection(parse_docstring=True)
        }
        for command in ("serve", "train")
    }
    assert (
        help_of["serve"][("--tls-key",)]
        == help_of["train"][("--tls-key",)]
        == "Private key of the certificate in PEM. By default $ATTRACT_TLS_KEY."
    )
