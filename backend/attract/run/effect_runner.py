"""The one place where a run's effects are applied: one queue, drained at the outermost level."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from attract.collection import effects as collecting
from attract.collection.core import CollectionCore
from attract.collection.core import Input as CollectionInput
from attract.run import ending, inputs
from attract.run.background import BackgroundTasks, WorkInOrder
from attract.run.core import Input, P, RunCore
from attract.run.effects import Effect

SPARED = (collecting.GameLogged, collecting.Note)
"""Notifications: a run continues if one of these fails."""
log = logging.getLogger(__name__)


class EffectRunner:
    """Brings inputs to the run core and applies what it answers; owned by the active run, on its event loop.

    An input may come while an effect is being applied, from whatever that effect calls: the core hears of it
    at once, and what it answers is applied after all that waits already. No effect is ever applied within
    another.
    """

    def __init__(
        self,
        core: RunCore,
        clock: Callable[[], float],
        num_refused: Callable[[], int],
    ) -> None:
        """`clock` is monotonic seconds; `num_refused`: sockets refused so far, for metrics."""
        self.ready = asyncio.Event()
        """There is a policy, and a learner that has it."""
        self.core = core
        """To look at."""
        self._apply: Callable[[Effect], None] = _unconnected
        self.clock = clock
        self._num_refused = num_refused
        self._queue: deque[Effect] = deque()
        self._is_applying = False
        self.is_broken = False
        """A fault of our own ended the run: nothing that browsers say is heard any more."""
        self.background = BackgroundTasks(self.broke)
        self.writes = WorkInOrder(self.background, self.broke)
        """What the record must keep."""
        self.notices = WorkInOrder(self.background, self.broke)
        """What pages are told of the run's state."""

    def connect(self, apply: Callable[[Effect], None]) -> None:
        """Say what does one effect; once, before any input."""
        self._apply = apply

    @property
    def collection(self) -> CollectionCore:
        """To look at, and for what it hears without emitting anything."""
        return self.core.collection

    def do(self, handler: Input[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """Give the run core an input, and apply what follows; a fault in that ends the run."""
        try:
            self.ask(handler, *args, **kwargs)
        except Exception as error:
            self.broke(error)

    def ask(self, handler: Input[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """As `do`, for an input that can be refused. Raises: as the input says."""
        self.core.sockets_refused = self._num_refused()
        self._queue.extend(self.core.handle(handler, self.clock(), *args, **kwargs))
        self._drain_unless_applying()

    def collect(self, handler: CollectionInput[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """Give the collection core an input, and apply what follows.

        Raises: what that core says of the input. What goes wrong after that is no fault of who spoke: it ends
            the run.
        """
        now = self.clock()
        self.take(self.core.collection.handle(handler, now, *args, **kwargs), now)

    def take(self, emitted: list[collecting.Effect], now: float) -> None:
        """Apply what the collection core emitted, and what the run core has to say of it."""
        try:
            self._queue.extend(self.core.handle(inputs.collected, now, emitted))
        except Exception as error:
            self._fail(error)
        self._drain_unless_applying()

    def broke(self, error: BaseException) -> None:
        """A part of the run failed where nothing should: it ends, and says why."""
        self._fail(error)
        self._drain_unless_applying()

    def _fail(self, error: BaseException) -> None:
        self.is_broken = True
        log.error("a part of run %s broke", self.core.progress.run_id, exc_info=error)
        self._queue.extend(self.core.handle(ending.broke, self.clock(), f"{type(error).__name__}: {error}"))

    def _drain_unless_applying(self) -> None:
        """Apply all that waits, one after another; who is applying an effect does so afterwards."""
        if self._is_applying:
            return
        self._is_applying = True
        try:
            while self._queue:
                self._apply_or_fail(self._queue.popleft())
        finally:
            self._is_applying = False
        if self.core.has_policy:
            self.ready.set()
        else:
            self.ready.clear()

    def _apply_or_fail(self, effect: Effect) -> None:
        try:
            self._apply(effect)
        except Exception as error:
            # The sender of the input is not to blame, and the other effects are not lost.
            if isinstance(effect, SPARED):
                log.exception("%s failed and is skipped", type(effect).__name__)
            else:
                self._fail(error)


def _unconnected(effect: Effect) -> None:
    raise RuntimeError(f"expected outputs to be connected before a {type(effect).__name__}")
