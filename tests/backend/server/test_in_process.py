"""Where a gateway listens: a port or a host that cannot be had is named."""

import socket

import pytest

from attract.errors import ConfigurationError
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings


async def test_a_busy_port_that_was_asked_for_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        settings = ServerSettings(port=busy.getsockname()[1])
        with pytest.raises(ConfigurationError, match="--port") as caught:
            async with running_gateway(settings, port_is_fixed=True):
                pass
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("host", ["nohost.invalid", "192.0.2.1"])
async def test_a_host_that_is_not_this_machine_is_named_as_the_host(host: str) -> None:
    settings = ServerSettings(host=host, lan=True, port=0)
    with pytest.raises(ConfigurationError, match=f"^host: cannot listen on {host}:0: "):
        async with running_gateway(settings, port_is_fixed=True):
            pass
