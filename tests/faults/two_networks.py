"""Two machines on one desk: two network namespaces, and between them a cable, or a line with delay and loss.

Linux alone, as root. Nothing outside of the two namespaces is touched: both, and whatever joins them, go with
the context manager.
"""

import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self

Side = Literal["trainer", "fleet"]
SIDES: tuple[Side, Side] = ("trainer", "fleet")
ADDRESSES: dict[Side, str] = {"trainer": "10.213.0.1", "fleet": "10.213.0.2"}
CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MAX_PACKET_BYTES = 65536
_numbers = itertools.count()


def why_not() -> str | None:
    """Why this machine lays no two networks; None when it does."""
    if sys.platform != "linux":
        return "needs Linux's network namespaces"
    if os.geteuid() != 0:
        return "needs root, to lay network namespaces"
    try:
        with TwoNetworks():
            return None
    except (OSError, subprocess.CalledProcessError) as error:
        return f"this machine lays no network namespaces: {error}"


class TwoNetworks:
    """Namespaces of a trainer and of its fleet, joined by a cable (a pair of `veth`); a context manager."""

    def __init__(self) -> None:
        self._name = f"attract-{os.getpid()}-{next(_numbers)}"
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            for side in SIDES:
                _ip("netns", "add", self._namespace(side))
                stack.callback(_ip, "netns", "del", self._namespace(side))
                self.order(side, "ip", "link", "set", "lo", "up")
            self._join(stack)
            for side in SIDES:
                self.order(side, "ip", "address", "add", f"{ADDRESSES[side]}/24", "dev", "line")
                self.order(side, "ip", "link", "set", "line", "up")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def prefix(self, side: Side) -> list[str]:
        """What runs the rest of its arguments there, in its own place."""
        return ["ip", "netns", "exec", self._namespace(side)]

    def order(self, side: Side, *command: str) -> None:
        """Run a command there to its end. Raises: CalledProcessError: with what it wrote."""
        _run(*self.prefix(side), *command)

    @contextlib.contextmanager
    def inside(self, side: Side) -> Iterator[None]:
        """Have this thread, and threads it starts, open their sockets there for the time of the block."""
        with Path("/proc/thread-self/ns/net").open() as home:
            _enter(Path("/run/netns") / self._namespace(side))
            try:
                yield
            finally:
                _set_namespace(home.fileno())

    @contextlib.contextmanager
    def pulled(self, side: Side = "trainer") -> Iterator[None]:
        """`ip link set down` on one side for the time of the block."""
        self.order(side, "ip", "link", "set", "line", "down")
        try:
            yield
        finally:
            self.order(side, "ip", "link", "set", "line", "up")

    def _namespace(self, side: Side) -> str:
        return f"{self._name}-{side}"

    def _join(self, stack: contextlib.ExitStack) -> None:
        trainer, fleet = (self._namespace(side) for side in SIDES)
        cable = ("type", "veth", "peer", "name", "line", "netns", fleet)
        _ip("link", "add", "name", "line", "netns", trainer, *cable)


class SlowNetworks(TwoNetworks):
    """Two namespaces joined by a line of our own (a pair of `tun`), whose packets are late, or lost.

    For kernels without `netem`. The line is carried by a thread of this process.
    """

    def __init__(self, *, round_trip_seconds: float = 0.0, loss: float = 0.0, seed: int = 0) -> None:
        """`loss`: share of the packets that are lost, in each direction."""
        super().__init__()
        self.is_cut = False
        """Whether all packets are lost, without any interface's knowing."""
        self.num_lost = 0
        self._one_way_seconds = round_trip_seconds / 2
        self._loss = loss
        self._random = random.Random(seed)

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Drop all packets silently, for the time of the block."""
        self.is_cut = True
        try:
            yield
        finally:
            self.is_cut = False

    def _join(self, stack: contextlib.ExitStack) -> None:
        ends: list[int] = []
        for side in SIDES:
            end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            stack.callback(os.close, end)
            name = f"at{os.getpid()}.{next(_numbers)}".encode()
            fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", name, IFF_TUN | IFF_NO_PI))
            _ip("link", "set", name.decode(), "name", "line", "netns", self._namespace(side))
            ends.append(end)
        wake, stop = os.pipe()
        thread = threading.Thread(target=self._carry, args=(ends, wake), daemon=True)
        stack.callback(os.close, wake)
        stack.callback(thread.join)
        stack.callback(os.close, stop)
        thread.start()

    def _carry(self, ends: list[int], stop: int) -> None:
        other = {ends[0]: ends[1], ends[1]: ends[0]}
        under_way: list[tuple[float, int, int, bytes]] = []
        numbers = itertools.count()
        while True:
            wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
            ready, _, _ = select.select([*ends, stop], [], [], wait)
            if stop in ready:
                return
            now = time.monotonic()
            for end in ready:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        packet = os.read(end, MAX_PACKET_BYTES)
                        if self.is_cut or self._random.random() < self._loss:
                            self.num_lost += 1
                        else:
                            due = now + self._one_way_seconds
                            heapq.heappush(under_way, (due, next(numbers), other[end], packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(under_way)
                # An end that is down takes none.
                with contextlib.suppress(OSError):
                    os.write(end, packet)


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)


def _enter(namespace: Path) -> None:
    with namespace.open() as file:
        _set_namespace(file.fileno())


def _set_namespace(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
