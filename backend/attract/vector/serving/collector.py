"""Plays the leases of central inference: who steps when, by which policy, and what segments come of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attract.schema.messages import Act, Block, Lease, Observe, RolloutClose
from attract.schema.tensor import from_numpy
from attract.vector.batch import StepBatch, VectorLayout
from attract.vector.core import VectorCore
from attract.vector.group import Part, StepRequest
from attract.vector.serving.playing import LeaseQueues, Playing, StateMemory
from attract.vector.serving.segments import Decision, SegmentBuilder
from attract.vector.trace import POLICY_TRACK, Timeline, games_track

if TYPE_CHECKING:
    # It imports torch and ONNX Runtime, of which tests of the collector have no need.
    from attract.vector.serving.decider import OnnxDecider

Segment = tuple[Playing, int]
"""The lease that a worker plays in a round, and which of its segments."""


@dataclass(frozen=True, eq=False)
class Outgoing:
    """An act for a worker, or a block or a rollout's close in its name."""

    worker_id: int
    message: Act | Block | RolloutClose


@dataclass(eq=False)
class _Group:
    index: int
    builder: SegmentBuilder
    columns: dict[int, slice]
    """Per worker."""
    batch: StepBatch | None = None
    """Observations at a segment's boundary; None within a segment."""
    state: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """Before the decision under way, or before the next one."""
    decision: Decision | None = None
    decided_by: tuple[int, ...] = ()
    """Versions of the decision, per worker in the order of `columns`."""
    round: int = 0
    """Rounds begun; a round is one segment of every slot."""
    sent_at: float = 0.0
    step: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The slots' own steps at the decision under way."""


class CentralCollector:
    """The heart of the inference process, which owns it; sans-I/O.

    All workers that hold a lease play in step, in one `VectorCore`; a round is one segment of every slot. Who
    takes part changes only where all groups stand between two rounds.
    """

    def __init__(
        self,
        run_id: str,
        layout: VectorLayout,
        decider: "OnnxDecider",
        *,
        num_groups: int,
        state_size: int,
        max_columns: int,
        clock: Callable[[], float],
        timeline: Timeline | None = None,
    ) -> None:
        """`max_columns`: segments of a block at most; `clock`: monotonic seconds."""
        self.num_groups = num_groups
        self._run_id = run_id
        self._layout = layout
        self._decider = decider
        self._max_columns = max_columns
        self._clock = clock
        self._timeline = timeline
        self._memory = StateMemory(state_size)
        self._queues = LeaseQueues()
        self._closed_at: dict[int, float] = {}
        self._core: VectorCore | None = None
        self._is_reset = False
        self._groups: list[_Group] = []
        self._members: tuple[int, ...] = ()
        self._lost: set[int] = set()
        self._rounds: dict[int, dict[int, Segment]] = {}
        """Segments by worker of the rounds that some group has not finished."""
        self._says: list[Outgoing] = []

    # --- what comes in ---

    def lease(self, worker_id: int, instance_ids: Sequence[int], lease: Lease) -> None:
        """A worker got a lease, or the same again after it had been gone."""
        self._queues.add(worker_id, instance_ids, lease)

    def void(self, lease_id: int) -> None:
        """A lease is over before its time; its worker's slots are invalid until the others' boundary."""
        playing = self._queues.find(lease_id)
        if playing is not None:
            self._queues.remove(playing)
            if not self._is_reset or playing.begun > min(playing.finished):
                self._lose(playing.worker_id)

    def gone(self, worker_id: int) -> None:
        """A worker's socket is closed: the others do not wait for it, its leases do."""
        self._queues.leave(worker_id)
        self._lose(worker_id)

    def observe(self, worker_id: int, message: Observe) -> None:
        """A worker's answer; one that is not awaited any more is ignored. Raises: ProtocolError."""
        known = any(playing.lease.lease_id == message.lease_id for playing in self._queues.of(worker_id))
        if self._core is not None and known and worker_id in self._members and worker_id not in self._lost:
            self._core.handle_observation(worker_id, message)

    def versions(self) -> set[int]:
        """Policy versions that open leases name."""
        return self._queues.versions()

    def advance(self) -> list[Outgoing]:
        """Go on as far as possible; the messages to send, in order."""
        while self._gather() or self._reset() or self._begin() or self._take():
            pass
        says, self._says = self._says, []
        return says

    # --- who takes part ---

    def _gather(self) -> bool:
        """Between two rounds of all groups: let all play that can, and no others."""
        if self._core is not None and not self._is_reset:
            return False
        if any(group.batch is None for group in self._groups):
            return False
        able = self._queues.able()
        if not able or (able == self._members and not self._lost):
            return False
        for group in self._groups:
            for worker_id, columns in group.columns.items():
                if group.batch is not None and worker_id not in self._lost:
                    state = group.state[columns]
                    step = group.batch.slot_step[columns]
                    self._memory.keep(group.batch.slot_id[columns], step, state, state)
        self._members, self._lost = able, set()
        self._make_core()
        return True

    def _make_core(self) -> None:
        fronts = {worker: self._queues.next_of(worker) for worker in self._members}
        parts = [
            Part(worker, group, front.games_of(group))
            for group in range(self.num_groups)
            for worker, front in fronts.items()
            if front is not None
        ]
        core = VectorCore(self._layout, parts, num_groups=self.num_groups, lease_seconds=float("inf"))
        rounds = max((group.round for group in self._groups), default=0)
        self._groups = []
        for index in range(self.num_groups):
            slots = core.slots_of(index)
            builder = SegmentBuilder(self._layout, slots.stop - slots.start, self._memory.state_size)
            self._groups.append(_Group(index, builder, core.columns_of(index), round=rounds))
        self._core, self._is_reset = core, False
        self._rounds.clear()
        leases = {worker: front.lease.lease_id for worker, front in fronts.items() if front is not None}
        self._order(core.start(self._clock()), leases)

    def _reset(self) -> bool:
        if self._core is None or self._is_reset or not self._core.is_ready:
            return False
        for group, batch in zip(self._groups, self._core.reset(), strict=True):
            group.batch, group.state = batch, self._memory.recall(batch)
            group.decision = None
        self._is_reset = True
        return True

    def _lose(self, worker_id: int) -> None:
        if worker_id not in self._members or worker_id in self._lost or self._core is None:
            return
        self._lost.add(worker_id)
        for group in self._groups:
            columns = group.columns[worker_id]
            if group.decision is not None and group.batch is None:
                slot_id = self._core.slot_ids[self._core.slots_of(group.index)][columns]
                before, after = group.state[columns], group.decision.state[columns]
                self._memory.keep(slot_id, group.step[columns], before, after)
            elif group.batch is not None:
                state = group.state[columns]
                self._memory.keep(group.batch.slot_id[columns], group.batch.slot_step[columns], state, state)
        for playing in self._queues.of(worker_id):
            playing.restart()
        for segments in self._rounds.values():
            segments.pop(worker_id, None)
        self._core.lose(worker_id)

    # --- play ---

    def _begin(self) -> bool:
        """Begin the next round of the group whose turn it is to get actions, if it stands at a boundary."""
        if self._core is None or not self._is_reset:
            return False
        group = self._groups[self._core.next_sent]
        if group.batch is None:
            return False
        if group.index == 0:
            if self._queues.able() != self._members or self._lost:
                return False
            self._rounds[group.round + 1] = self._assign()
        elif self._groups[0].round == group.round:
            return False
        group.round += 1
        batch, group.batch = group.batch, None
        group.builder.begin(batch, group.state)
        versions = self._versions(group)
        if group.decision is None or group.decided_by != versions:
            self._decide(group, batch, versions)
        self._send(group, batch)
        return True

    def _assign(self) -> dict[int, Segment]:
        now, segments = self._clock(), dict[int, Segment]()
        for worker_id in self._members:
            playing = self._queues.next_of(worker_id)
            if playing is not None:
                playing.started = now if playing.started is None else playing.started
                segments[worker_id] = (playing, playing.begun)
                playing.begun += 1
        return segments

    def _take(self) -> bool:
        """Take the outcome of the group in turn, if it has come, and go on with it."""
        core = self._core
        if core is None or not self._is_reset or not core.num_under_way or not core.is_ready:
            return False
        group = self._groups[core.next_received]
        batch = core.recv()
        now = self._clock()
        if self._timeline is not None:
            track, seconds = games_track(group.index), batch.step_seconds
            self._timeline.span(track, f"step {batch.num_outcomes}", group.sent_at, now, game_seconds=seconds)
        for playing, _ in self._rounds.get(group.round, {}).values():
            playing.game_seconds += batch.step_seconds
        if group.decision is None:
            raise RuntimeError(f"expected a decision of group {group.index}, got none")
        group.state = group.builder.outcome(batch, group.decision)
        if group.builder.is_full:
            self._finish(group, batch)
        else:
            self._decide(group, batch, self._versions(group))
            self._send(group, batch)
        return True

    def _finish(self, group: _Group, batch: StepBatch) -> None:
        """A segment of every slot is complete: compute its bootstrap value, and hand out the blocks."""
        versions = self._versions(group)
        self._decide(group, batch, versions)
        assert group.decision is not None  # made in the line before
        finals = group.builder.finals()
        final_values = np.zeros(len(finals.column), np.float32)
        for version in set(versions):
            chosen = self._by_column(group, versions)[finals.column] == version
            if chosen.any():
                observation = {key: values[chosen] for key, values in finals.observation.items()}
                final_values[chosen] = self._decider.values(version, observation, finals.state[chosen])
        group.builder.finish(batch, group.decision.value, final_values)
        for playing, index in self._rounds[group.round].values():
            self._hand_out(group, playing, index)
        if group.index == self.num_groups - 1:
            del self._rounds[group.round]
        group.batch = batch

    def _hand_out(self, group: _Group, playing: Playing, index: int) -> None:
        worker_id, columns = playing.worker_id, group.columns[playing.worker_id]
        blocks = group.builder.blocks(
            playing.lease, index, columns, first_block=playing.num_blocks, max_columns=self._max_columns
        )
        playing.num_blocks += len(blocks)
        self._says += [Outgoing(worker_id, block) for block in blocks]
        playing.finish(group.index, group.builder.slot_id[columns], group.builder.bootstrap_value[columns])
        if playing.is_over:
            now = self._clock()
            started = now if playing.started is None else playing.started
            waited = started - self._closed_at.get(worker_id, started)
            self._closed_at[worker_id] = now
            self._queues.remove(playing)
            self._says.append(Outgoing(worker_id, playing.close(now, max(0.0, waited))))

    def _versions(self, group: _Group) -> tuple[int, ...]:
        """Policy version per worker; a lost worker gets the version of another. Empty: all are lost."""
        segments = self._rounds[group.round]
        if not segments:
            return ()
        shared = next(iter(segments.values()))[0].version
        return tuple(
            segments[worker][0].version if worker in segments else shared for worker in group.columns
        )

    def _by_column(self, group: _Group, versions: tuple[int, ...]) -> NDArray[np.int64]:
        sizes = [columns.stop - columns.start for columns in group.columns.values()]
        return np.repeat(np.array(versions, np.int64), sizes)

    def _decide(self, group: _Group, batch: StepBatch, versions: tuple[int, ...]) -> None:
        start = self._clock()
        made = {version: self._decider.decide(version, batch, group.state) for version in set(versions)}
        if not made:
            decision = self._nothing(group)
        elif len(made) == 1:
            (decision,) = made.values()
        else:
            version_of = self._by_column(group, versions)
            decision = _merge(
                {version: (version_of == version, decided) for version, decided in made.items()}
            )
        group.decision, group.decided_by = decision, versions
        end = self._clock()
        for playing, _ in self._rounds.get(group.round, {}).values():
            playing.inference_seconds += end - start
        if self._timeline is not None:
            self._timeline.span(POLICY_TRACK, f"policy, group {group.index}", start, end, group=group.index)

    def _nothing(self, group: _Group) -> Decision:
        num_slots = len(group.builder.slot_id)
        zeros = np.zeros(num_slots, np.float32)
        actions = np.zeros((num_slots, *self._layout.action_shape), self._layout.action_dtype)
        return Decision(actions, zeros, zeros, group.state)

    def _send(self, group: _Group, batch: StepBatch) -> None:
        if self._core is None or group.decision is None:
            raise RuntimeError(f"expected a decision of group {group.index} to send, got none")
        group.builder.decide(batch, group.decision, group.state)
        group.step = batch.slot_step.copy()
        group.sent_at = self._clock()
        orders = self._core.send(group.decision.action, group.sent_at)
        segments = self._rounds[group.round]
        self._order(orders, {worker: playing.lease.lease_id for worker, (playing, _) in segments.items()})

    def _order(self, orders: list[StepRequest], lease_ids: Mapping[int, int]) -> None:
        for order in orders:
            action = None if order.action is None else from_numpy(order.action)
            lease_id, group = lease_ids[order.worker_id], order.group
            act = Act(run_id=self._run_id, lease_id=lease_id, group=group, action=action)
            self._says.append(Outgoing(order.worker_id, act))


def _merge(parts: Mapping[int, tuple[NDArray[np.bool_], Decision]]) -> Decision:
    """One decision from several, each for the columns of its mask."""
    first = next(iter(parts.values()))[1]
    merged = Decision(first.action.copy(), first.log_prob.copy(), first.value.copy(), first.state.copy())
    for mask, decided in parts.values():
        merged.action[mask] = decided.action[mask]
        merged.log_prob[mask] = decided.log_prob[mask]
        merged.value[mask] = decided.value[mask]
        merged.state[mask] = decided.state[mask]
    return merged
