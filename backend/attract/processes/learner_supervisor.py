"""Keeps one run's learner alive: starts it, reads from it, replaces it when it dies; sockets outlive it."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from attract.errors import AttractError, LearnerError
from attract.processes.children import LearnerLink, StartLearner
from attract.schema.base import WireModel
from attract.schema.learner import (
    Begin,
    Dropped,
    Export,
    Exported,
    Failed,
    Noted,
    Published,
    Ready,
    Stalled,
    Trained,
)

MAX_DEATHS = 3
"""Deaths in a row without an update between them after which there is no other learner."""
log = logging.getLogger(__name__)


class LearnerOwner(Protocol):
    """What the supervisor reports to the run; all on the event loop, one message at a time."""

    async def learner_ready(self, ready: Ready) -> None:
        """The policy exists."""
        ...

    async def update_moved(self, message: Trained | Published | Dropped) -> None:
        """An update is trained, its version is durable, or it was undone."""
        ...

    def stalled(self, reason: str | None) -> None:
        """A version waits for the disk, or (None) no longer does."""
        ...

    def noted(self, noted: Noted) -> None:
        """A person should know this."""
        ...

    def learner_lost(self) -> None:
        """The learner died and another is being started: its unfinished work is lost."""
        ...

    def learner_failed(self, why: str) -> None:
        """There is no learner and there will be none."""
        ...


class LearnerSupervisor:
    """Owns the link to the learner; owned by the active run."""

    def __init__(self, start_learner: StartLearner, owner: LearnerOwner) -> None:
        self._start_learner = start_learner
        self._owner = owner
        self._link: LearnerLink | None = None
        self._reading: asyncio.Task[None] | None = None
        self._make_begin: Callable[[], Begin] | None = None
        self._exporting: asyncio.Future[Exported] | None = None
        self._deaths = 0
        self.restarts = 0
        """Number of learners that replaced one that died."""
        self._ending = False
        self._last_error: str | None = None
        self._is_final = False

    async def start(self) -> None:
        """Start the first learner; it gets ready and waits for `begin`.

        Raises: LearnerError, OSError: when none can be started.
        """
        await self._connect()

    def begin(self, make_begin: Callable[[], Begin]) -> None:
        """Give the learner, and each that follows it, its first message, built again each time."""
        self._make_begin = make_begin
        self.send(make_begin())

    def send(self, message: WireModel) -> None:
        """Send a message; without a learner it is dropped, the next one starts from the last checkpoint."""
        if self._link is not None:
            self._link.send(message)

    @property
    def is_alive(self) -> bool:
        """Whether there is a learner to talk to."""
        return self._link is not None

    async def export(self, order: Export) -> Exported:
        """Have a policy written out.

        Raises: LearnerError: when it could not be, or the learner died over it.
        """
        if self._link is None:
            raise LearnerError("there is no learner to export with")
        self._exporting = asyncio.get_running_loop().create_future()
        self._link.send(order)
        exported = await self._exporting
        if exported.error is not None:
            raise LearnerError(f"the export failed: {exported.error}")
        return exported

    async def close(self, *, at_once: bool = False) -> None:
        """Let the learner finish what it is writing, or not, and end it; may be called again."""
        self._ending = True
        link, self._link = self._link, None
        if link is not None and self._make_begin is not None and not at_once:
            await link.close()
        elif link is not None:
            # It has nothing to finish, and may still be importing torch; or it is not to finish.
            await link.kill()
        if self._exporting is not None and not self._exporting.done():
            self._exporting.set_exception(LearnerError("the learner was ended while it exported"))
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait((self._reading,))

    async def _connect(self) -> None:
        link = await self._start_learner()
        self._link = link
        self._reading = asyncio.create_task(self._read(link))
        self._reading.add_done_callback(self._read_ended)
        if self._make_begin is not None:
            link.send(self._make_begin())

    async def _read(self, link: LearnerLink) -> None:
        while (message := await link.receive()) is not None:
            match message:
                case Ready():
                    await self._owner.learner_ready(message)
                case Trained() | Published() | Dropped():
                    if isinstance(message, Published):
                        self._deaths = 0
                    await self._owner.update_moved(message)
                case Exported():
                    if self._exporting is not None and not self._exporting.done():
                        self._exporting.set_result(message)
                case Stalled():
                    self._owner.stalled(message.reason)
                case Noted():
                    self._owner.noted(message)
                case Failed():
                    log.error("the learner failed: %s", f"{message.text}\n{message.stack}".rstrip())
                    self._last_error = message.text
                    self._is_final = message.is_final
        await self._died(link)

    async def _died(self, link: LearnerLink) -> None:
        if self._ending:
            return
        self._link = None
        code = await link.kill()
        if self._exporting is not None and not self._exporting.done():
            self._exporting.set_exception(LearnerError("the learner died while it exported"))
        self._owner.learner_lost()
        self._deaths += 1
        why = f": {self._last_error}" if self._last_error else ""
        if self._is_final:
            self._owner.learner_failed(f"the learner cannot continue{why}")
            return
        if self._deaths >= MAX_DEATHS:
            self._owner.learner_failed(f"the learner died {self._deaths} times in a row{why}")
            return
        log.warning("the learner died (exit code %s)%s; starting another", code, why)
        try:
            await self._connect()
            self.restarts += 1
        except (AttractError, OSError) as error:
            self._owner.learner_failed(f"no learner could be started: {error}")

    def _read_ended(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            log.error("the learner's message could not be handled", exc_info=error)
            self._owner.learner_failed(f"{type(error).__name__}: {error}")
