"""A TCP port that is not in use."""

import socket


def free_port() -> int:
    """A free loopback port; the kernel does not hand it out again soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
