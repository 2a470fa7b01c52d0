"""What browsers say to a run: to the core, and experience into the store."""

import contextlib
from collections.abc import Callable, Generator

from attract.collection.core import CollectionCore
from attract.errors import ConfigurationError, ProtocolError
from attract.experience.store import SegmentStore
from attract.experience.validate import check_block
from attract.schema import close_codes
from attract.schema.messages import Block, FromBrowser, Hello, Observe, RolloutClose
from attract.server.central_relay import CentralRelay
from attract.server.guard import Tier
from attract.server.run_course import RunControl
from attract.server.run_progress import RunProgress


class BrowserSide:
    """Hears hosts and workers for one run; owned by the active run, used on its event loop.

    `relay`: where observations go that the server decides on; None: workers decide themselves.
    """

    def __init__(
        self,
        control: RunControl,
        core: CollectionCore,
        progress: RunProgress,
        relay: CentralRelay | None,
        clock: Callable[[], float],
    ) -> None:
        self.store: SegmentStore | None = None
        """There once the game is known."""
        self.is_deaf = False
        """The run has ended: what browsers still say means nothing."""
        self._control = control
        self._core = core
        self._progress = progress
        self._relay = relay
        self._clock = clock

    def connected(self, connection_id: int, hello: Hello, tier: Tier, identity: str) -> None:
        """A host, or a worker of this run, said hello."""
        if self.is_deaf:
            return
        with self._ending_on_error():
            connect = self._core.connect_host if hello.role == "host" else self._core.connect_worker
            self._control.carry_out(connect(connection_id, hello, tier, self._clock(), identity))

    def received(self, connection_id: int, message: FromBrowser) -> None:
        """A message of a connected host or worker.

        Raises: ProtocolError: when it is not what this run's game and leases allow.
        """
        if self.is_deaf:
            return
        now = self._clock()
        with self._ending_on_error():
            if isinstance(message, Block):
                self._take_block(connection_id, message, now)
                return
            if isinstance(message, Observe) and self._relay is not None:
                self._core.answered(connection_id, now)
                self._relay.observe(connection_id, message)
                return
            if isinstance(message, RolloutClose):
                self._progress.statistics.closed(message)
            try:
                self._control.carry_out(self._core.receive(connection_id, message, now))
            except ConfigurationError as error:
                # The game as described cannot be trained with these settings.
                self._control.fail(str(error), refused=True)

    def disconnected(self, connection_id: int) -> None:
        """A socket is gone."""
        if not self.is_deaf:
            with self._ending_on_error():
                if self._relay is not None:
                    self._relay.gone(connection_id)
                self._control.carry_out(self._core.disconnect(connection_id, self._clock()))

    @contextlib.contextmanager
    def _ending_on_error(self) -> Generator[None]:
        """A fault of our own in dealing with a browser's words ends the run: that browser is not to blame."""
        try:
            yield
        except ProtocolError:
            raise
        except Exception as error:
            # What is known of the fleet may be half changed: nothing more is heard, and all are told to end.
            self.is_deaf = True
            self._control.broke(error)

    def _take_block(self, connection_id: int, block: Block, now: float) -> None:
        if self.store is None:
            raise ProtocolError("a block before any lease", close_code=close_codes.MALFORMED)
        arrays = check_block(block, self.store.layout)
        verdict = self._core.offer_block(connection_id, block, now)
        if verdict.accepted and verdict.rows is not None:
            arrays["worker_id"] = verdict.worker_id
            try:
                self.store.write_block(verdict.rows, arrays)
            except BaseException:
                self._core.withdraw_block(block, verdict)
                raise
        self._control.carry_out(self._core.commit_block(connection_id, block, verdict, now))
