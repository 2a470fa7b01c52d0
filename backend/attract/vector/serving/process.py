"""The inference process: an inherited socket and two rings in, acts and blocks out; ends with its gateway."""

import json
import select
import signal
import socket
import sys
import time
import traceback
from pathlib import Path

import torch

from attract.errors import ProtocolError
from attract.experience.ring import FrameRing, RingPlace
from attract.schema.base import WireModel
from attract.schema.frames import LENGTH, decode_from_browser, decode_to_inference, encode, message_length
from attract.schema.inference import (
    BeginInference,
    CancelLease,
    EndInference,
    ForwardedFrame,
    Frame,
    InferenceFailed,
    InferPolicy,
    Observed,
    ObserveRefused,
    PolicyInferred,
    ServeLeases,
    ToInference,
    WorkerGone,
)
from attract.schema.messages import Act, Observe
from attract.vector.batch import VectorLayout
from attract.vector.serving.collector import CentralCollector, Outgoing
from attract.vector.serving.decider import OnnxDecider
from attract.vector.trace import Timeline

_TEXT_LIMIT = 20_000


class Pipe:
    """The inference process's end of the socket pair, used by its one thread."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(True)
        self._connection = connection
        self._buffer = bytearray()

    def receive(self) -> list[ToInference] | None:
        """All messages that have come, at least one: waits for it. None once the gateway has gone.

        Raises: ProtocolError: what came is no message to this process.
        """
        messages = self._take()
        while not messages or select.select([self._connection], [], [], 0)[0]:
            try:
                data = self._connection.recv(1 << 20)
            except ConnectionError:
                return None
            if not data:
                return None
            self._buffer += data
            messages += self._take()
        return messages

    def send(self, message: WireModel) -> None:
        """Write one message. A gateway that has gone is no error: `receive` reports it."""
        data = encode(message)
        try:
            self._connection.sendall(LENGTH.pack(len(data)) + data)
        except ConnectionError:
            return

    def _take(self) -> list[ToInference]:
        messages: list[ToInference] = []
        while len(self._buffer) >= LENGTH.size:
            end = LENGTH.size + message_length(self._buffer)
            if len(self._buffer) < end:
                break
            messages.append(decode_to_inference(bytes(self._buffer[LENGTH.size : end])))
            del self._buffer[:end]
        return messages


class Inference:
    """Carries out the collector's orders; owned by the process's one thread."""

    def __init__(self, begin: BeginInference, pipe: Pipe) -> None:
        """Raises: StoreError, ConfigurationError: the rings are not there, or the device cannot be used."""
        torch.set_num_threads(max(1, begin.num_threads))
        self._pipe = pipe
        self._inbound = FrameRing.open(Path(begin.inbound_path))
        self._outbound = FrameRing.open(Path(begin.outbound_path))
        self._timeline = None if begin.trace_path is None else Timeline()
        self._trace_path = begin.trace_path
        self._decider = OnnxDecider(
            begin.description,
            begin.seed,
            state_size=begin.state_size,
            device=begin.device,
            num_threads=max(1, begin.num_threads),
        )
        began = time.perf_counter()
        self._collector = CentralCollector(
            begin.run_id,
            VectorLayout.for_game(begin.description, begin.horizon),
            self._decider,
            num_groups=begin.num_groups,
            state_size=begin.state_size,
            max_columns=begin.max_columns,
            clock=lambda: time.perf_counter() - began,
            timeline=self._timeline,
        )

    def handle(self, message: ToInference) -> None:
        """Take one message in; `advance` does what follows from all of them."""
        match message:
            case InferPolicy():
                self._add_policy(message)
            case ServeLeases():
                for lease in message.leases:
                    self._collector.lease(lease.worker_id, lease.instance_ids, lease.lease)
            case CancelLease():
                self._collector.void(message.lease_id)
            case WorkerGone():
                self._collector.gone(message.worker_id)
            case Observed():
                self._observed(message)
            case BeginInference() | EndInference():
                raise RuntimeError(f"expected begin once and end last, got {message.type}")

    def advance(self) -> None:
        """Go on as far as possible."""
        for say in self._collector.advance():
            self._say(say)

    def close(self) -> None:
        """Write the timeline, if one is wanted."""
        if self._trace_path is not None and self._timeline is not None:
            Path(self._trace_path).write_text(json.dumps(self._timeline.to_json()), encoding="utf-8")
        self._inbound.close()
        self._outbound.close()

    def _add_policy(self, message: InferPolicy) -> None:
        started = time.perf_counter()
        self._decider.add(message.policy_version, message.onnx)
        self._decider.keep(self._collector.versions())
        milliseconds = (time.perf_counter() - started) * 1000
        self._pipe.send(PolicyInferred(policy_version=message.policy_version, create_ms=milliseconds))

    def _observed(self, message: Observed) -> None:
        frame = message.frame
        data = frame.data
        if data is None:
            data = self._inbound.take(RingPlace(frame.start, frame.length))
        observe = decode_from_browser(data)
        if not isinstance(observe, Observe):
            raise RuntimeError(f"expected an observe, got {observe.type}")
        try:
            self._collector.observe(message.worker_id, observe)
        except ProtocolError as error:
            # The others do not wait for it; the gateway handles the loss.
            self._collector.gone(message.worker_id)
            refused = ObserveRefused(
                worker_id=message.worker_id, reason=error.reason[:_TEXT_LIMIT], fix=error.fix
            )
            self._pipe.send(refused)

    def _say(self, say: Outgoing) -> None:
        data = encode(say.message)
        place = self._outbound.put(data)
        frame = Frame(data=data) if place is None else Frame(start=place.start, length=place.length)
        to_worker = isinstance(say.message, Act)
        self._pipe.send(ForwardedFrame(worker_id=say.worker_id, to_worker=to_worker, frame=frame))


def run(fd: int) -> int:
    """Serve one gateway over the socket `fd` until it sends `end_inference` or goes away.

    Returns: exit code: 0, or 1 after a failure, which was reported.
    """
    # Ctrl-C reaches the whole process group; the command line alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Pipe(socket.socket(fileno=fd))
    try:
        _serve(pipe)
    except Exception as error:
        stack = traceback.format_exc()
        print(stack, file=sys.stderr, flush=True)
        text = f"{type(error).__name__}: {error}"
        pipe.send(InferenceFailed(text=text[:_TEXT_LIMIT], stack=stack[-_TEXT_LIMIT:]))
        return 1
    return 0


def _serve(pipe: Pipe) -> None:
    inference: Inference | None = None
    while (messages := pipe.receive()) is not None:
        for message in messages:
            if isinstance(message, EndInference):
                if inference is not None:
                    inference.close()
                return
            if inference is None:
                if not isinstance(message, BeginInference):
                    raise RuntimeError(f"expected begin_inference first, got {message.type!r}")
                inference = Inference(message, pipe)
            else:
                inference.handle(message)
        if inference is not None:
            inference.advance()
