"""Takes browsers' messages into a run: to the core, and experience into the store."""

import contextlib
import logging
from collections.abc import Generator

from attract.collection import message_handlers, trust_handlers
from attract.collection.effects import Note
from attract.errors import ConfigurationError, ProtocolError
from attract.experience.store import SegmentStore
from attract.experience.unpacking import BlockUnpacker
from attract.experience.validate import check_block
from attract.run import ending
from attract.run.effect_runner import EffectRunner
from attract.run.inference_relay import CentralRelay
from attract.run.outside_players import MakePlayers
from attract.run.ports import BrowserSockets
from attract.schema import close_codes
from attract.schema.base import GrantedTier
from attract.schema.messages import Answer, Ask, Block, FromBrowser, Hello, Observe
from attract.schema.tensor import from_numpy

log = logging.getLogger(__name__)


class BrowserSide:
    """Hears hosts and workers for one run; owned by the active run, used on its event loop."""

    def __init__(self, runner: EffectRunner, hub: BrowserSockets, outside: MakePlayers) -> None:
        """`hub`: where answers go; `outside`: makes the programs outside that play."""
        self.outside = outside(self._told)
        """Started when they are first asked."""
        self._hub = hub
        self.relay: CentralRelay | None = None
        """Where observations go that the server decides on; None: workers decide themselves."""
        self.store: SegmentStore | None = None
        """There once the game is known."""
        self.unpacker: BlockUnpacker | None = None
        """As the store."""
        self._is_closed = False
        self.faults = 0
        """How often a fault of our own closed a socket."""
        self._runner = runner

    @property
    def is_closed(self) -> bool:
        """Whether the run has ended, or is broken: what browsers still say means nothing."""
        return self._is_closed or self._runner.is_broken

    async def close(self) -> None:
        """The run has ended."""
        self._is_closed = True
        await self.outside.close()

    def connected(self, connection_id: int, hello: Hello, tier: GrantedTier, identity: str) -> None:
        """A host, or a worker of this run, said hello."""
        if self.is_closed:
            return
        with self._closing_on_error(f"the hello of a {hello.role}"):
            self._runner.collect(message_handlers.connected, connection_id, hello, tier, identity)

    def handle_message(self, connection_id: int, message: FromBrowser) -> None:
        """A message of a connected host or worker.

        Raises: ProtocolError: when it is not what this run's game and leases allow.
        """
        if self.is_closed:
            return
        with self._closing_on_error(message.type), self._counting_lies(connection_id):
            if isinstance(message, Block):
                self._take_block(connection_id, message)
                return
            if isinstance(message, Ask):
                self._take_ask(connection_id, message)
                return
            if isinstance(message, Observe) and self.relay is not None:
                self._runner.collection.answered(connection_id, message, self._runner.clock())
                self.relay.observe(connection_id, message)
                return
            try:
                self._runner.collect(message_handlers.message_received, connection_id, message)
            except ConfigurationError as error:
                # The game as described cannot be trained with these settings.
                self._runner.do(ending.fail, str(error), refused=True)

    def refused(self, connection_id: int, error: ProtocolError) -> None:
        """A socket is being closed for what came by it, which counts against its sender.

        If it was the admin's own host, asked to describe the game, the run ends: it would say the same again.
        """
        if self.is_closed or error.code not in ("malformed", "too_large"):
            return
        if error.code == "malformed":
            self._runner.collect(trust_handlers.frame_unreadable, connection_id, error.reason)
        if self._runner.collection.is_describing(connection_id):
            text = f"the game cannot be trained: {error.reason}; {error.fix}"
            self._runner.do(ending.fail, text, refused=True)

    def disconnected(self, connection_id: int) -> None:
        """A socket is gone."""
        if not self.is_closed:
            with contextlib.suppress(ProtocolError), self._closing_on_error("the end of a socket"):
                if self.relay is not None:
                    self.relay.gone(connection_id)
                self._runner.collect(message_handlers.disconnected, connection_id)

    @contextlib.contextmanager
    def _counting_lies(self, connection_id: int) -> Generator[None]:
        """Count a malformed message against its sender; the error still closes the socket."""
        try:
            yield
        except ProtocolError as error:
            if error.code == "malformed":
                self._runner.collect(trust_handlers.message_wrong, connection_id, error.reason)
            raise

    @contextlib.contextmanager
    def _closing_on_error(self, what: str) -> Generator[None]:
        """A fault of our own in dealing with a browser's words closes its socket: the run is everybody's.

        Raises: ProtocolError: in its place; the browser comes back, as after any other close.
        """
        try:
            yield
        except ProtocolError:
            raise
        except Exception as error:
            self.faults += 1
            log.exception("a browser's message (%s) could not be handled: its socket is closed", what)
            raise ProtocolError(
                f"the server could not handle {what}: {type(error).__name__}",
                code="internal",
                close_code=close_codes.INTERNAL,
                fix="the server's log has the fault; report it",
            ) from error

    def _take_ask(self, connection_id: int, ask: Ask) -> None:
        collection = self._runner.collection
        if not collection.asked_outside(connection_id, ask, self._runner.clock()):
            return
        description = collection.require_described().description
        questions = self.outside.questions(ask, description)

        async def answer() -> None:
            action = from_numpy(await self.outside.actions(questions, description))
            collection.answered_outside(connection_id, ask, self._runner.clock())
            self._hub.send(connection_id, Answer(run_id=ask.run_id, order_id=ask.order_id, action=action))

        self._runner.background.spawn(answer())

    def _told(self, text: str) -> None:
        """What is wrong with a program outside."""
        self._runner.take([Note("outside", text)], self._runner.clock())

    def _take_block(self, connection_id: int, block: Block) -> None:
        if self.store is None:
            raise ProtocolError("a block before any lease", close_code=close_codes.MALFORMED)
        was_deflated = any(packed.deflated for packed in block.packed.values())
        if self.unpacker is not None:
            block = self.unpacker.unpack(block)
        arrays = check_block(block, self.store.layout)
        collection = self._runner.collection
        verdict = collection.offer_block(
            connection_id, block, self._runner.clock(), was_deflated=was_deflated
        )
        if verdict.accepted and verdict.rows is not None:
            arrays["worker_id"] = verdict.worker_id
            try:
                self.store.write_block(verdict.rows, arrays)
            except BaseException:
                collection.withdraw_block(block, verdict)
                raise
        now = self._runner.clock()
        self._runner.take(collection.decide_block(connection_id, block, verdict, now), now)
