"""The games in Node worker threads: started as one process, spoken to over a socket per thread."""

import contextlib
import functools
import json
import re
import selectors
import shutil
import socket
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Final

from attract.errors import ConfigurationError, GameError, ProtocolError
from attract.games.library import GameModule
from attract.games.places import SourceMap, method_stack, own_stack
from attract.games.project import PACKAGE_DIR
from attract.schema.base import WireModel
from attract.schema.frames import LENGTH, decode_from_browser, encode, message_length
from attract.schema.game import GameDescription
from attract.schema.messages import FromBrowser, GameDescribed, GameFailed

READ_BYTES: Final = 1 << 20
START_SECONDS: Final = 30.0
MIN_NODE: Final = 20
STDERR: Final = 2
"""The process's own: `sys.stderr` may be a notebook's, which has no number."""


class _Channel:
    """One thread's socket: frames in order, never waiting for the other side."""

    def __init__(self, worker_id: int, sock: socket.socket) -> None:
        self.worker_id = worker_id
        self.sock = sock
        self.inbound = bytearray()
        self.outbound: deque[memoryview] = deque()

    def take_frames(self) -> list[bytes]:
        frames: list[bytes] = []
        at = 0
        while len(self.inbound) - at >= LENGTH.size:
            end = at + LENGTH.size + message_length(self.inbound, at)
            if len(self.inbound) < end:
                break
            frames.append(bytes(memoryview(self.inbound)[at + LENGTH.size : end]))
            at = end
        del self.inbound[:at]
        return frames


class NodeFleet:
    """Owned by one environment, used from one thread. Its process ends with `close`, or with this one."""

    def __init__(
        self, module: GameModule, num_workers: int, *, run_id: str, web_dir: Path | None = None
    ) -> None:
        """Start the process; `describe` waits until its threads have loaded the game.

        Raises: ConfigurationError: there is no Node, or the web side was not built.
        """
        self.run_id = run_id
        self._folder = tempfile.TemporaryDirectory(prefix="attract-fleet-")
        game = self._game = Path(self._folder.name) / "game.mjs"
        game.write_bytes(module.code)
        self._module = module
        self._selector = selectors.DefaultSelector()
        self._channels: dict[int, _Channel] = {}
        theirs: list[socket.socket] = []
        try:
            command = [find_node(), str(find_node_stepper(web_dir))]
            for worker_id in range(num_workers):
                ours, other = socket.socketpair()
                ours.setblocking(False)
                theirs.append(other)
                channel = _Channel(worker_id, ours)
                self._channels[worker_id] = channel
                self._selector.register(ours, selectors.EVENT_READ, channel)
            fds = [sock.fileno() for sock in theirs]
            order = {
                "module": str(game),
                "sha256": module.reference.sha256,
                "run_id": run_id,
                "fds": fds,
            }
            # A session of its own: Ctrl-C reaches the process group, and this process alone decides.
            self._process = subprocess.Popen(
                [*command, json.dumps(order)],
                stdin=subprocess.PIPE,
                stdout=STDERR,
                pass_fds=fds,
                start_new_session=True,
            )
        except BaseException:
            for channel in self._channels.values():
                channel.sock.close()
            self._selector.close()
            self._folder.cleanup()
            raise
        finally:
            for sock in theirs:
                sock.close()

    @property
    def num_workers(self) -> int:
        """How many threads there were at the start."""
        return len(self._channels)

    def describe(self) -> GameDescription:
        """The game's description, once every thread has loaded it.

        Raises: GameError: it could not be loaded. ProtocolError: the process ended or is not ready in time.
        """
        described: dict[int, GameDescription] = {}
        deadline = time.monotonic() + START_SECONDS
        while len(described) < self.num_workers:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ProtocolError(f"the fleet did not load the game within {START_SECONDS:g} s")
            for worker_id, message in self.poll(left):
                match message:
                    case GameDescribed():
                        described[worker_id] = message.description
                    case GameFailed():
                        raise self.game_error(message)
                    case None:
                        raise ProtocolError("the fleet's process ended before it had loaded the game")
                    case _:
                        raise ProtocolError(f"the fleet said {message.type} before it was asked")
        return described[0]

    def send(self, worker_id: int, message: WireModel) -> None:
        """Queue a message for a thread; one that is gone is no error, `poll` reports it."""
        channel = self._channels[worker_id]
        if channel.sock.fileno() < 0:
            return
        data = encode(message)
        channel.outbound.append(memoryview(LENGTH.pack(len(data)) + data))
        self._flush(channel)

    def poll(self, timeout: float) -> list[tuple[int, FromBrowser | None]]:
        """Messages that have come, as (worker, message); None for one whose socket is closed.

        Waits at most `timeout` seconds for anything to come, which may be a part of a message.

        Raises: ProtocolError: for what is no message.
        """
        heard: list[tuple[int, FromBrowser | None]] = []
        for key, events in self._selector.select(timeout):
            channel: _Channel = key.data
            if events & selectors.EVENT_WRITE:
                self._flush(channel)
            if events & selectors.EVENT_READ:
                open_still = self._read(channel)
                heard += [(channel.worker_id, decode_from_browser(frame)) for frame in channel.take_frames()]
                if not open_still:
                    heard.append((channel.worker_id, None))
        return heard

    def game_error(self, report: GameFailed) -> GameError:
        """A worker's report as our exception, with the author's own places."""
        module = self._module
        source_map = None if module.source_map is None else SourceMap(module.source_map.decode())
        stack = (report.stack or "").replace(self._game.as_uri(), module.reference.url)
        own = own_stack(stack, lambda _sha256: source_map)
        if own is None and report.method is not None:
            own = method_stack(report.method, module.code.decode(), source_map)
        text = report.text if report.step_values is None else f"{report.text}; {report.step_values}"
        if report.repeated:
            text = f"the game failed {report.repeated} times ({report.kind}), the last time with: {text}"
        return GameError(report.kind, text, name=report.name, stack=own or "")

    def close(self) -> None:
        """End the process and wait for it; may be called again."""
        for channel in self._channels.values():
            self._drop(channel)
        self._selector.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _read(self, channel: _Channel) -> bool:
        while True:
            try:
                data = channel.sock.recv(READ_BYTES)
            except BlockingIOError:
                return True
            except ConnectionError:
                data = b""
            if not data:
                self._drop(channel)
                return False
            channel.inbound += data

    def _flush(self, channel: _Channel) -> None:
        while channel.outbound:
            try:
                sent = channel.sock.send(channel.outbound[0])
            except BlockingIOError:
                break
            except ConnectionError:
                channel.outbound.clear()
                break
            if sent == len(channel.outbound[0]):
                channel.outbound.popleft()
            else:
                channel.outbound[0] = channel.outbound[0][sent:]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.outbound else 0)
        if self._selector.get_key(channel.sock).events != wanted:
            self._selector.modify(channel.sock, wanted, channel)

    def _drop(self, channel: _Channel) -> None:
        if channel.sock.fileno() >= 0:
            with contextlib.suppress(KeyError):
                self._selector.unregister(channel.sock)
            channel.sock.close()


def find_node() -> str:
    """Node's program. Raises: ConfigurationError: there is none, or it is too old."""
    node = shutil.which("node")
    if node is None:
        raise ConfigurationError(
            "there is no `node` on the PATH: the games run in its threads",
            fix=f"install Node {MIN_NODE} or newer",
        )
    version = node_version(node)
    major = re.match(r"v(\d+)\.", version)
    if major is None or int(major[1]) < MIN_NODE:
        raise ConfigurationError(
            f"node {version or 'without a version'} at {node} is too old: the games run in its threads",
            fix=f"install Node {MIN_NODE} or newer, first on the PATH",
        )
    return node


@functools.cache
def node_version(node: str) -> str:
    """What the program says of itself, such as `v20.19.4`; asked once. Empty where it cannot be run."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20, check=False)
        return answer.stdout.strip()[:80]
    return ""


def find_node_stepper(web_dir: Path | None = None) -> Path:
    """The built program that the threads run. Raises: ConfigurationError: when it was not built."""
    path = (web_dir or PACKAGE_DIR / "web") / "node-stepper" / "node-stepper.mjs"
    if not path.is_file():
        raise ConfigurationError(f"{path} is missing", fix="npm run build")
    return path
