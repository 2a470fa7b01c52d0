"""The learner as the collection core sees it: its version, what it is doing, and the counters of rule T4."""

from dataclasses import dataclass, field
from typing import Literal

from attract.collection.batches import AcceptedBlock, ClosedBatch
from attract.schema.learner import Counters, Published, Ready, Train, Trained

Phase = Literal["absent", "warmup", "idle", "busy"]
"""`absent`: no process; `warmup`: it waits for, or works on, the first statistics; `busy`: in an update."""
ReadyOutcome = Literal["warmup", "fresh", "same", "finished", "lost"]
"""What a learner that came (back) means for the batch it was given: see `LearnerState.ready`."""


@dataclass(eq=False)
class CounterState:
    """Rule T4's counters, as they stand now; the core alone changes them."""

    collected_steps: int = 0
    agent_steps: int = 0
    ticks: int = 0
    episodes: int = 0
    global_episode_index: int = 0
    updates: int = 0

    def load(self, counters: Counters) -> None:
        """Go on from a checkpoint's."""
        for name, value in counters.model_dump().items():
            setattr(self, name, value)

    def after(self, batch: ClosedBatch) -> Counters:
        """As they stand once that batch is committed."""
        now = self.snapshot()
        return now.model_copy(
            update={"agent_steps": self.agent_steps + batch.valid_steps, "updates": self.updates + 1}
        )

    def snapshot(self) -> Counters:
        """As they stand now."""
        return Counters(
            collected_steps=self.collected_steps,
            agent_steps=self.agent_steps,
            ticks=self.ticks,
            episodes=self.episodes,
            global_episode_index=self.global_episode_index,
            updates=self.updates,
        )


@dataclass(eq=False)
class LearnerState:
    """What the learner was told last, and what it answered. Used by the core alone."""

    phase: Phase = "absent"
    version: int = -1
    """The last version trained; -1 before version 0."""
    public: int = -1
    """The last version published: no browser hears of a later one (rule D1)."""
    counters: CounterState = field(default_factory=CounterState)
    batch: ClosedBatch | None = None
    """The batch it works on, kept until its outcome is known, over a restart too."""
    train: Train | None = None
    """The message it got for `batch`."""
    num_updates: int = 0
    """Updates of this session."""
    warmup_blocks: list[AcceptedBlock] | None = None
    """Random play it was given, until version 0 is published."""

    @property
    def has_version(self) -> bool:
        """Whether there is a policy to play with."""
        return self.public >= 0

    def ready(self, ready: Ready) -> ReadyOutcome:
        """A learner process came up.

        Returns: `warmup`: it needs the first statistics; `fresh`: it is idle at its version; `same`: at the
            version `batch` was built for, it needs it again; `finished`: it had finished `batch` before it
            died; `lost`: it is at another version, `batch` is of no use.
        """
        if ready.needs_warmup:
            self.phase = "warmup"
            return "warmup"
        batch, self.phase = self.batch, "idle"
        self.public = ready.policy_version
        if batch is not None and ready.policy_version == batch.version:
            self.phase = "busy"
            self.version = ready.policy_version
            return "same"
        self.version = ready.policy_version
        self.counters.load(ready.counters)
        if batch is None:
            return "fresh"
        return "finished" if ready.policy_version == batch.version + 1 else "lost"

    def begin(self, batch: ClosedBatch) -> Train:
        """Give it a batch; the message to send."""
        self.batch, self.phase = batch, "busy"
        self.train = Train(
            batch_id=batch.batch_id,
            rows=list(batch.rows),
            verify_rows=list(batch.verify_rows),
            verify=batch.verify,
            counters=self.counters.after(batch),
            rows_by_policy=(
                {name: list(rows) for name, rows in batch.rows_by_policy.items()}
                if len(batch.rows_by_policy) > 1
                else {}
            ),
        )
        return self.train

    def end(self) -> ClosedBatch | None:
        """Its batch is finished; returns it."""
        batch, self.batch, self.train, self.phase = self.batch, None, None, "idle"
        return batch

    def commit(self, batch: ClosedBatch, outcome: Trained | Published) -> None:
        """Count an update that is done (rule T4): rejected rows do not count."""
        self.version = outcome.policy_version
        self.num_updates += 1
        self.counters.updates += 1
        self.counters.agent_steps += outcome.valid_steps if outcome.rejected else batch.valid_steps
