"""A process finds the addresses it listens at among its own sockets."""

import socket
import subprocess
import sys
from pathlib import Path

from attract.server.listening import Listening, listening_sockets


def test_only_sockets_that_listen_are_found_and_nothing_stays_open() -> None:
    before = listening_sockets()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        open_before = len(list(Path("/dev/fd").iterdir()))
        with socket.create_connection(("127.0.0.1", port)):
            assert listening_sockets() - before == {Listening("127.0.0.1", port)}
        assert len(list(Path("/dev/fd").iterdir())) == open_before
    assert listening_sockets() == before


def test_an_inherited_socket_counts() -> None:
    script = (
        "from attract.server.listening import listening_sockets; print([s.port for s in listening_sockets()])"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = subprocess.run(
            [sys.executable, "-c", script],
            pass_fds=[server.fileno()],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.stdout.strip() == str([server.getsockname()[1]]), result.stderr


def test_every_interface_is_the_loopback_one_for_a_browser_here() -> None:
    assert Listening("0.0.0.0", 80).url == "http://127.0.0.1:80"
    assert Listening("::", 80).url == "http://[::1]:80"
    assert Listening("10.0.0.2", 80).url == "http://10.0.0.2:80"
