"""Between workers and the inference process: who is where, and what is said in whose name (rules I1, I2)."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from attract.collection import trust_handlers
from attract.collection.effects import SendPolicy
from attract.errors import InferenceError, ProtocolError
from attract.experience.ring import FrameRing, RingPlace, ring_path
from attract.processes.children import InferenceLink, StartInference
from attract.run import ending
from attract.run.effect_runner import EffectRunner
from attract.run.policy_cache import PolicyCache
from attract.run.ports import BrowserSockets
from attract.schema.base import WireModel
from attract.schema.frames import decode_from_browser, encode, malformed
from attract.schema.inference import (
    BeginInference,
    CancelLease,
    ForwardedFrame,
    Frame,
    InferenceFailed,
    InferPolicy,
    Observed,
    ObserveRefused,
    PolicyInferred,
    ServedLease,
    ServeLeases,
    WorkerGone,
)
from attract.schema.messages import (
    Block,
    BlockAck,
    FromBrowser,
    Lease,
    LeaseVoid,
    Observe,
    PolicyAck,
    RolloutClose,
    WelcomeWorker,
)

RING_BYTES: Final = 32 << 20
"""Size of each ring; a frame that finds no room goes over the socket."""
log = logging.getLogger(__name__)


class CentralRelay:
    """Owned by the active run of a central inference, used on its event loop.

    To the collection core the inference process is the workers: it acknowledges their policies and sends
    their blocks. To the workers it is the server: their leases come from the core, their acts from it.
    """

    def __init__(
        self,
        run_id: str,
        start: StartInference,
        runner: EffectRunner,
        handle_message: Callable[[int, FromBrowser], None],
        hub: BrowserSockets,
        policies: PolicyCache,
        directory: Path,
    ) -> None:
        """`handle_message` takes a connection and a message in its worker's name, and raises ProtocolError.

        `hub`: where messages to browsers go; `directory`: the run's own.
        """
        self._run_id = run_id
        self._start = start
        self._runner = runner
        self._handle_message = handle_message
        self._hub = hub
        self._policies = policies
        self._directory = directory
        self._link: InferenceLink | None = None
        self._reading: asyncio.Task[None] | None = None
        self._rings: tuple[FrameRing, FrameRing] | None = None
        self._workers: dict[int, tuple[int, list[int]]] = {}
        """Connection to worker and its instances."""
        self._connections: dict[int, int] = {}
        """Worker to its connection."""
        self._ready: dict[int, PolicyInferred] = {}
        self._asked: set[int] = set()
        self._waiting: dict[int, list[tuple[int, str]]] = {}
        """Version to the connections, with the policy's id, that were sent it and have not acknowledged."""
        self._closing: set[int] = set()
        """Connections that are being closed for what was observed: nothing more is heard in their names."""
        self._served: set[int] = set()
        self._orders: list[ServedLease] = []
        self._ending = False

    async def start(self) -> None:
        """Start the process; it imports torch while browsers load the game. Raises: OSError."""
        self._link = await self._start()
        self._reading = asyncio.create_task(self._read(self._link))

    def begin(self, make_begin: Callable[[str, str], BeginInference]) -> None:
        """Tell the process what is played; `make_begin` gets the paths of both rings.

        Raises: StoreError: there is no room for them.
        """
        rings = tuple(
            FrameRing.create(ring_path(self._directory, self._run_id, name, RING_BYTES), RING_BYTES)
            for name in ("inbound", "outbound")
        )
        self._rings = (rings[0], rings[1])
        self._send(make_begin(str(rings[0].path), str(rings[1].path)))

    def policy(self, effect: SendPolicy) -> bool:
        """A worker is to get a version: the process makes it ready, once for all, and answers for the worker.

        Returns: False when the worker must get it itself: it is not admitted.
        """
        if effect.connection_id not in self._workers:
            return False
        version, ready = effect.policy_version, self._ready.get(effect.policy_version)
        if ready is not None:
            # Not now: the core is in the middle of saying what it wants.
            asyncio.get_running_loop().call_soon(
                self._acknowledge, effect.connection_id, effect.policy_id, ready
            )
            return True
        self._waiting.setdefault(version, []).append((effect.connection_id, effect.policy_id))
        onnx = self._policies.onnx(version, policy_id=effect.policy_id)
        if version not in self._asked and onnx is not None:
            self._asked.add(version)
            self._send(InferPolicy(policy_version=version, onnx=onnx))
        return True

    def is_for_worker(self, connection_id: int, message: WireModel) -> bool:
        """Take note of what the core says to a worker; whether the worker shall hear it."""
        match message:
            case WelcomeWorker():
                self._welcomed(connection_id, message)
            case LeaseVoid() if message.lease_id in self._served:
                self._send(CancelLease(lease_id=message.lease_id))
            case BlockAck():
                # The worker would not know what was acknowledged: the block was sent in its name.
                return message.lease_id not in self._served
            case Lease() if message.group_sizes:
                self._serve(connection_id, message)
            case Lease() if message.purpose != "warmup":
                # An evaluation is the worker's own: it needs the policy, which else is only here.
                seat = message.seats[0]
                frame = self._policies.frame(seat.policy_id, seat.policy_version)
                self._hub.send_policy(connection_id, frame, seat.policy_id, seat.policy_version)
            case _:
                pass
        return True

    def _flush(self) -> None:
        """The leases that were issued in one turn of the event loop begin together (rule C8)."""
        if self._orders:
            self._send(ServeLeases(leases=self._orders))
            self._orders = []

    def observe(self, connection_id: int, message: Observe) -> None:
        """A worker's answer to an act. Raises: ProtocolError: this worker was not admitted."""
        admitted = self._workers.get(connection_id)
        if admitted is None or self._rings is None:
            raise ProtocolError("an observe of a worker that was not admitted")
        data = encode(message)
        place = self._rings[0].put(data)
        frame = Frame(data=data) if place is None else Frame(start=place.start, length=place.length)
        self._send(Observed(worker_id=admitted[0], frame=frame))

    def gone(self, connection_id: int) -> None:
        """A socket is gone: the others do not wait for its worker."""
        self._closing.discard(connection_id)
        admitted = self._workers.pop(connection_id, None)
        if admitted is not None and self._connections.get(admitted[0]) == connection_id:
            del self._connections[admitted[0]]
            self._send(WorkerGone(worker_id=admitted[0]))

    def _welcomed(self, connection_id: int, welcome: WelcomeWorker) -> None:
        """A worker is admitted, perhaps on a new socket: what was under way on the old one is lost."""
        before = self._connections.get(welcome.worker_id)
        if before is not None and before != connection_id:
            self.gone(before)
        self._workers[connection_id] = (welcome.worker_id, list(welcome.instance_ids))
        self._connections[welcome.worker_id] = connection_id

    def _serve(self, connection_id: int, lease: Lease) -> None:
        worker_id, instance_ids = self._workers[connection_id]
        self._served.add(lease.lease_id)
        if not self._orders:
            asyncio.get_running_loop().call_soon(self._flush)
        self._orders.append(ServedLease(worker_id=worker_id, instance_ids=instance_ids, lease=lease))

    async def close(self) -> None:
        """End the process, which writes its timeline; may be called again."""
        self._ending = True
        link, self._link = self._link, None
        if link is not None:
            await link.close()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait((self._reading,))
        for ring in self._rings or ():
            ring.close(unlink=True)
        self._rings = None

    def _send(self, message: WireModel) -> None:
        if self._link is not None:
            self._link.send(message)

    async def _read(self, link: InferenceLink) -> None:
        last_error: str | None = None
        try:
            while (message := await link.receive()) is not None:
                match message:
                    case PolicyInferred():
                        self._inferred(message)
                    case ForwardedFrame():
                        self._said(message)
                    case ObserveRefused():
                        self._refused(message)
                    case InferenceFailed():
                        log.error("the inference process failed: %s\n%s", message.text, message.stack)
                        last_error = message.text
        except Exception as error:
            log.exception("a message of the inference process could not be handled")
            last_error = f"{type(error).__name__}: {error}"
        if not self._ending:
            why = f": {last_error}" if last_error else ""
            self._runner.do(ending.fail, f"the inference process ended{why}")

    def _inferred(self, message: PolicyInferred) -> None:
        self._ready[message.policy_version] = message
        for version in sorted(self._ready)[:-8]:
            del self._ready[version]
        for connection_id, policy_id in self._waiting.pop(message.policy_version, []):
            self._acknowledge(connection_id, policy_id, message)

    def _acknowledge(self, connection_id: int, policy_id: str, ready: PolicyInferred) -> None:
        if connection_id in self._workers:
            ack = PolicyAck(
                run_id=self._run_id,
                policy_id=policy_id,
                policy_version=ready.policy_version,
                create_ms=ready.create_ms,
            )
            self._handle_message(connection_id, ack)

    def _refused(self, message: ObserveRefused) -> None:
        connection_id = self._connections.get(message.worker_id)
        if connection_id is not None and connection_id not in self._closing:
            self._refuse(connection_id, malformed(message.reason, fix=message.fix))
            self._runner.collect(trust_handlers.message_wrong, connection_id, message.reason)

    def _refuse(self, connection_id: int, error: ProtocolError) -> None:
        self._closing.add(connection_id)
        self._hub.refuse(connection_id, error)

    def _said(self, message: ForwardedFrame) -> None:
        frame, connection_id = message.frame, self._connections.get(message.worker_id)
        data = frame.data
        if data is None:
            if self._rings is None:
                return
            data = self._rings[1].take(RingPlace(frame.start, frame.length))
        if connection_id is None or connection_id in self._closing:
            return
        if message.to_worker:
            # What the process says to workers are acts alone.
            self._runner.collection.asked(connection_id, self._runner.clock())
            self._hub.send_frame(connection_id, data)
            return
        said = decode_from_browser(data)
        if not isinstance(said, Block | RolloutClose):
            raise InferenceError(f"it said {said.type} in a worker's name")
        try:
            self._handle_message(connection_id, said)
        except ProtocolError as error:
            # What it observed made a block that cannot be: that is that worker's end, not the run's.
            self._refuse(connection_id, error)
            return
        if isinstance(said, RolloutClose):
            self._served.discard(said.lease_id)
            over = LeaseVoid(run_id=self._run_id, lease_id=said.lease_id, reason="played to its end")
            self._hub.send(connection_id, over)
