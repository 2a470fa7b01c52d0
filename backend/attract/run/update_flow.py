"""What the learner says and what follows: versions committed, announced, undone, lost (rules D1, P8)."""

import asyncio
import logging
from collections.abc import Callable

from attract.collection.core import CollectionCore
from attract.collection.effects import Note
from attract.errors import ConfigurationError
from attract.run.evaluation import Evaluator
from attract.run.notifications import Notifications
from attract.run.policy_cache import PolicyCache
from attract.run.progress import RunProgress
from attract.run.record import RunRecord
from attract.run.training_callbacks import RunControl, TrainingCallbacks
from attract.runs.metrics import UpdateRow
from attract.schema.api import GameReport
from attract.schema.learner import Counters, Dropped, Noted, Published, Ready, Train, Trained

MAX_DROPPED = 3
"""Rule P8: this many updates undone in a row pause the run."""
log = logging.getLogger(__name__)


class UpdateFlow:
    """Hears the learner for one run, as the supervisor's `LearnerOwner`; owned by the active run.

    Rule D1 in order: the learner says that a version is durable, its row is committed, workers hear of it.
    """

    def __init__(
        self,
        control: RunControl,
        course: TrainingCallbacks,
        core: CollectionCore,
        progress: RunProgress,
        record: RunRecord,
        news: Notifications,
        evaluator: Evaluator,
        clock: Callable[[], float],
    ) -> None:
        self.policies = PolicyCache(progress.run_id)
        self.ready = asyncio.Event()
        """There is a policy, and a learner that has it."""
        self.idle = asyncio.Event()
        """No update is under way."""
        self.idle.set()
        self.is_learner_ready = False
        """A learner has said that it has its policy, or waits for the first statistics."""
        self.num_dropped = 0
        """Updates that were undone (rule P8)."""
        self._control = control
        self._course = course
        self._core = core
        self._progress = progress
        self._record = record
        self._notifications = news
        self._evaluator = evaluator
        self._clock = clock
        self._in_flight: dict[int, Train] = {}
        """Updates whose version is not yet public, by batch; several while the disk is slow."""
        self._trained: dict[int, tuple[Counters, dict[str, float]]] = {}
        """Of those that are trained, in that order: the counters after them, and their metrics."""

    def begin(self, train: Train) -> Train:
        """An update is to be done; the message that tells the learner."""
        values = self._progress.metrics_so_far(train.counters, self._notifications.fleet())
        train = self._course.train_message(train).model_copy(update={"metrics": values})
        self._in_flight[train.batch_id] = train
        self.idle.clear()
        return train

    def forget(self) -> None:
        """What is in the learner's hands is lost."""
        self._in_flight.clear()
        self._trained.clear()
        self.idle.set()
        self.ready.clear()
        self.is_learner_ready = False

    async def learner_ready(self, ready: Ready) -> None:
        """A learner has its policy: fresh, or from the newest checkpoint (D2)."""
        for note in ready.notes:
            log.warning("%s", note)
        await self._record.rewind(ready.counters.updates)
        for row, counters in await self._record.lost_rows(ready.policy_version):
            # A checkpoint whose row was not written: its learner, or this server, was killed between.
            await self._commit_lost(row, counters)
        seconds, version = await self._record.newest_row()
        self._progress.ready(ready, seconds)
        self._progress.examine_again(await self._record.rows())
        if not ready.needs_warmup:
            if version != ready.policy_version:
                # Version 0 of a run without a warm-up, which no update made.
                row = self._progress.row(ready.policy_version, ready.counters, ready.weights_sha256, {})
                await self._record.commit_update(row, self._notifications.view())
            self._keep(ready)
            self.ready.set()
        try:
            self._course.learner_ready(ready)
        except ConfigurationError as error:
            self._control.fail(str(error))
            return
        self._control.apply_effects(self._core.learner_ready(ready, self._clock()))
        self.is_learner_ready = True
        await self._notifications.changed()

    async def _commit_lost(self, row: UpdateRow, counters: Counters) -> None:
        log.info("the row of update %d is written from the checkpoint of its version", row.update)
        bodies = self._progress.events_of(row)[:-1]
        view = self._progress.view_after(row, counters, self._notifications.view())
        for event, (kind, body) in zip(
            await self._record.commit_update(row, view, bodies), bodies, strict=True
        ):
            self._notifications.tell(event, kind, body)

    async def trained(self, trained: Trained) -> None:
        """An update is done: the next may begin while this one's version is written."""
        if self._count(trained):
            self._control.apply_effects(self._core.trained(trained, self._clock()))

    def _count(self, outcome: Trained | Published) -> bool:
        """Take account of an update, once; False when it is none of ours."""
        train = None if outcome.batch_id is None else self._in_flight.get(outcome.batch_id)
        if train is None or train.batch_id in self._trained:
            return False
        counters = train.counters
        if outcome.rejected:
            # Rejected rows do not count (T4).
            before, _ = next(reversed(self._trained.values()), (self._progress.counters, {}))
            agent_steps = before.agent_steps + outcome.valid_steps
            counters = counters.model_copy(update={"agent_steps": agent_steps})
        values = self._progress.metrics(outcome.metrics, counters, self._notifications.fleet())
        self._trained[train.batch_id] = counters, values
        self._course.trained(counters, values)
        return True

    async def published(self, published: Published) -> None:
        """A version is durable: commit its row, then let workers have it (D1)."""
        # A learner need not have said `trained` before.
        self._count(published)
        train = None if published.batch_id is None else self._in_flight.pop(published.batch_id, None)
        progress = self._progress
        counters, values = progress.counters, {}
        view = self._notifications.view()
        if train is not None:
            counters, values = self._trained.pop(train.batch_id)
            values |= published.metrics
        row = progress.row(published.policy_version, counters, published.weights_sha256, values)
        bodies = progress.events_of(row)
        events = await self._record.commit_update(row, progress.view_after(row, counters, view), bodies)
        progress.advance(row, counters)
        self._keep(published)
        self.ready.set()
        self._course.announce(row, published)
        for event, (kind, body) in zip(events, bodies, strict=True):
            self._notifications.tell(event, kind, body)
        if not self._in_flight:
            self.idle.set()
        await self._examine(row)
        await self._evaluator.mark_best_by_return(row)

    async def _examine(self, row: UpdateRow) -> None:
        """Say what the diagnosis has found, or no longer finds, in a version that is out."""
        findings = self._progress.examine(row)
        for finding in findings:
            self._notifications.publish("finding", finding)
        if findings:
            await self._notifications.changed()

    def _keep(self, said: Ready | Published) -> None:
        for policy_id, onnx in said.onnx.items():
            self.policies.keep(said.policy_version, onnx, policy_id=policy_id)
        self._progress.newest_model = said.policy_version

    async def dropped(self, dropped: Dropped) -> None:
        """An update was undone (P8): its rows are free, and three in a row pause the run."""
        self.num_dropped += 1
        train = self._in_flight.pop(dropped.batch_id, None)
        if train is not None:
            self._course.dropped(train)
        self._control.apply_effects(self._core.dropped(dropped, self._clock()))
        if not self._in_flight:
            self.idle.set()
        self._notifications.report(
            GameReport(kind="update", name="UpdateDropped", text=dropped.reason, stack=None)
        )
        if dropped.consecutive >= MAX_DROPPED:
            self._progress.error = (
                f"paused: {dropped.consecutive} updates in a row were undone; {dropped.reason}"
            )
            await self._control.pause()

    def stalled(self, reason: str | None) -> None:
        """A version waits for the disk, or no longer does."""
        self._record.disk.tell("the learner", reason)

    def noted(self, noted: Noted) -> None:
        """The learner has something to tell."""
        self._notifications.note(Note(noted.kind, noted.text))

    def learner_lost(self) -> None:
        """The supervisor starts another learner; what this one had not made durable is collected anew."""
        self.forget()
        self.stalled(None)
        self._control.apply_effects(self._core.learner_lost(self._clock()))
        self._course.learner_lost()

    def learner_failed(self, why: str) -> None:
        """The supervisor gave up."""
        self._control.fail(f"{why}; see {self._record.directory.logs}")
