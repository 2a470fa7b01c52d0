"""Takes the learner's messages into a run: first into the record, then into the run core (rules D1, D2)."""

import logging
from collections.abc import Awaitable, Callable

from attract.collection.effects import Note
from attract.run import versions
from attract.run.effect_runner import EffectRunner
from attract.run.notifications import Notifications
from attract.run.record import RunRecord
from attract.runs.metrics import UpdateRow
from attract.schema.learner import Counters, Dropped, Noted, Published, Ready, Trained

log = logging.getLogger(__name__)


class LearnerMessages:
    """Hears the learner for one run, as the supervisor's `LearnerOwner`; owned by the active run.

    Each message is dealt with to its end, rows written, before the next is heard.
    """

    def __init__(
        self,
        runner: EffectRunner,
        record: RunRecord,
        notifications: Notifications,
        accept: Callable[[], Awaitable[None]],
    ) -> None:
        """`accept`: called when a learner has its policy, before anything is written of it."""
        self._accept = accept
        self._runner = runner
        self._progress = runner.core.progress
        self._record = record
        self._notifications = notifications

    async def learner_ready(self, ready: Ready) -> None:
        """A learner has its policy: fresh, or from the newest checkpoint (D2)."""
        for note in ready.notes:
            log.warning("%s", note)
        await self._accept()
        await self._record.rewind(ready.counters.updates)
        for row, counters in await self._record.lost_rows(ready.policy_version):
            # A checkpoint whose row was not written: its learner, or this server, was killed between.
            await self._commit_lost(row, counters)
        seconds, version = await self._record.newest_row()
        rows = await self._record.rows()
        self._runner.do(versions.learner_ready, ready, seconds=seconds, policy_version=version, rows=rows)
        await self._runner.writes.idle.wait()

    async def _commit_lost(self, row: UpdateRow, counters: Counters) -> None:
        log.info("the row of update %d is written from the checkpoint of its version", row.update)
        bodies = self._progress.events_of(row)[:-1]
        view = self._progress.view_after(row, counters, self._notifications.view())
        for event, (kind, body) in zip(
            await self._record.commit_update(row, view, bodies), bodies, strict=True
        ):
            self._notifications.publish_kept(event, kind, body)

    async def update_moved(self, message: Trained | Published | Dropped) -> None:
        """An update is trained, its version is durable (D1), or it was undone (P8)."""
        match message:
            case Trained():
                self._runner.do(versions.trained, message)
            case Published():
                self._runner.do(versions.published, message)
                await self._runner.writes.idle.wait()
            case Dropped():
                self._runner.do(versions.dropped, message)

    def stalled(self, reason: str | None) -> None:
        """A version waits for the disk, or no longer does."""
        self._record.disk.report("the learner", reason)

    def noted(self, noted: Noted) -> None:
        """The learner has something to tell."""
        self._notifications.note(Note(noted.kind, noted.text))

    def learner_lost(self) -> None:
        """The supervisor starts another learner; what this one had not made durable is collected again."""
        self.stalled(None)
        self._runner.do(versions.learner_lost)

    def learner_failed(self, why: str) -> None:
        """The supervisor gave up."""
        self._runner.do(versions.learner_failed, f"{why}; see {self._record.directory.logs}")
