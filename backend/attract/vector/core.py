"""The vectorised environment without I/O: slots in groups that take strict turns (rules I1, I2, I3)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from attract.collection.leases import SILENCE_SECONDS
from attract.errors import ConfigurationError
from attract.schema.frames import malformed
from attract.schema.messages import Observe
from attract.vector.batch import StepBatch, VectorLayout
from attract.vector.group import Group, GroupMember, Part, StepRequest, even_parts


class VectorCore:
    """Decides which group steps when and puts its slots' outcomes together; decides no action, does no I/O.

    Its owner carries its orders out; `now` is monotonic seconds. The n-th `send` and the n-th `recv`
    serve group n mod `num_groups`; `send` may be ahead of `recv` by at most `num_groups`. So the groups
    alternate strictly, no two slots are ever more than one step apart, and while one group's observations are
    with the policy all other groups' games step.
    """

    def __init__(
        self,
        layout: VectorLayout,
        parts: Sequence[Part],
        *,
        num_groups: int,
        lease_seconds: float = SILENCE_SECONDS,
        tells_terminal: bool = False,
    ) -> None:
        """Rows are numbered group by group, and in a group in the order of `parts`.

        `tells_terminal`: workers give the final observations of terminated slots too.

        Raises: ConfigurationError: when a group would be empty.
        """
        self.layout = layout
        self.num_groups = num_groups
        self.lease_seconds = lease_seconds
        self.num_slots = 0
        self._groups: list[Group] = []
        self._sends = 0
        self._recvs = 0
        self._started = False
        for index in range(num_groups):
            own = [part for part in parts if part.group == index]
            if not own:
                raise ConfigurationError(
                    f"I2: group {index} of {num_groups} has no games",
                    setting="async_factor",
                    fix="use at most as many groups as games",
                )
            group = Group(layout, index, self.num_slots, own, tells_terminal=tells_terminal)
            self._groups.append(group)
            self.num_slots = group.slots.stop

    @classmethod
    def even(
        cls,
        layout: VectorLayout,
        *,
        num_games: int,
        num_groups: int,
        num_workers: int = 1,
        lease_seconds: float = SILENCE_SECONDS,
    ) -> Self:
        """Games 0 to `num_games` - 1 cut evenly into groups, and each group evenly among the workers.

        Raises: ConfigurationError: when some worker's share of a group would be empty.
        """
        parts = even_parts(num_games, num_groups, num_workers)
        return cls(layout, parts, num_groups=num_groups, lease_seconds=lease_seconds)

    @property
    def slot_ids(self) -> NDArray[np.int64]:
        """[num_slots] id of every row's slot."""
        return np.concatenate([group.slot_id for group in self._groups])

    def slots_of(self, group: int) -> slice:
        return self._groups[group].slots

    @property
    def is_ready(self) -> bool:
        """Whether everything has come that the next `reset` or `recv` returns."""
        if self._sends == 0:
            return self._started and all(group.is_complete for group in self._groups)
        return self.num_under_way > 0 and self._groups[self.next_received].is_complete

    @property
    def num_under_way(self) -> int:
        """Groups that have actions whose outcome has not been taken."""
        return self._sends - self._recvs

    @property
    def next_sent(self) -> int:
        """The group that the next `send` serves."""
        return self._sends % self.num_groups

    @property
    def next_received(self) -> int:
        """The group that the next `recv` serves."""
        return self._recvs % self.num_groups

    def columns_of(self, group: int) -> dict[int, slice]:
        """Each worker's columns of a group, by its id, in the order of the columns."""
        return {member.part.worker_id: member.columns for member in self._groups[group].members}

    @property
    def is_awaited(self) -> bool:
        """Whether any worker owes an answer."""
        return bool(self._awaited())

    @property
    def has_lost(self) -> bool:
        """Whether any worker was given up."""
        return any(member.is_lost for group in self._groups for member in group.members)

    def is_complete(self, group: int) -> bool:
        """Whether no answer of that group is awaited."""
        return self._groups[group].is_complete

    def start(self, now: float) -> list[StepRequest]:
        """Ask every worker what its games see; `reset` gives the answers once `is_ready`."""
        if self._started:
            raise RuntimeError("expected one start(), got a second")
        self._started = True
        return [order for group in self._groups for order in group.order(None, now)]

    def reset(self) -> tuple[StepBatch, ...]:
        """Observation 0 of every slot, a batch per group, not counted as a step (rule I1).

        Raises: RuntimeError: before `is_ready`, or after the first `send`.
        """
        if self._sends or not self.is_ready:
            raise RuntimeError(f"expected a started core that is ready, got one after {self._sends} sends")
        return tuple(group.deliver(counted=False) for group in self._groups)

    def send(self, actions: NDArray[Any], now: float) -> list[StepRequest]:
        """Actions for the next group in turn, [k, ...] in the order of its slots; what to tell the workers.

        Actions of slots that are not active are ignored.

        Raises: RuntimeError: when it is not this group's turn yet, or shape or dtype do not fit the game.
        """
        if self._sends == 0 and not self.is_ready:
            raise RuntimeError("expected reset() before the first send()")
        if self.num_under_way >= self.num_groups:
            raise RuntimeError(f"expected recv() first: all {self.num_groups} groups have their actions")
        group = self._groups[self.next_sent]
        checked = self._check_actions(actions, len(group.slot_id))
        self._sends += 1
        return group.order(checked, now)

    def recv(self) -> StepBatch:
        """The next group in turn: the outcome of its last actions and what it sees after them (rule I1).

        Raises: RuntimeError: when it has no actions yet, or not everything has come (see `is_ready`).
        """
        if not self.num_under_way:
            raise RuntimeError("expected send() first: no group has actions to answer for")
        if not self.is_ready:
            raise RuntimeError("expected is_ready: outcomes of this group are still under way")
        group = self._groups[self.next_received]
        self._recvs += 1
        return group.deliver(counted=True)

    def handle_observation(self, worker_id: int, message: Observe) -> None:
        """A worker's answer to an order; one of a worker that was given up is ignored.

        Raises: ProtocolError: nothing was asked, or it does not fit the game; nothing has changed then.
        """
        group = self._groups[message.group] if message.group < self.num_groups else None
        member = None if group is None else next(group.members_of(worker_id), None)
        if member is not None and member.is_lost:
            return
        if group is None or member is None or member.ordered_at is None:
            raise malformed(f"observe: group {message.group} was not asked", fix="one observe for each act")
        wants_outcome = self._sends > 0
        if (message.outcome is not None) != wants_outcome:
            raise malformed(
                f"observe.outcome: {'missing' if wants_outcome else 'present'}",
                fix="an act with an action is answered with its outcome, one without is not",
            )
        group.take(member, message)

    def touch_last_seen(self, worker_id: int, now: float) -> None:
        """A worker reports that it is alive: its answer is awaited for another lease."""
        for member in self._awaited():
            if member.part.worker_id == worker_id:
                member.ordered_at = now

    def deadline(self) -> float | None:
        """Latest time for the next `tick`; None while no answer is awaited."""
        times = [member.ordered_at for member in self._awaited() if member.ordered_at is not None]
        return min(times) + self.lease_seconds if times else None

    def tick(self, now: float) -> list[int]:
        """Give up the workers that have kept an order for a whole lease; their ids."""
        late = {
            member.part.worker_id
            for member in self._awaited()
            if member.ordered_at is not None and now >= member.ordered_at + self.lease_seconds
        }
        for worker_id in late:
            self.lose(worker_id)
        return sorted(late)

    def lose(self, worker_id: int) -> None:
        """A worker has vanished: its slots come back invalid from now on (rule I1)."""
        for group in self._groups:
            for member in group.members_of(worker_id):
                group.lose(member)

    def _awaited(self) -> list[GroupMember]:
        return [member for group in self._groups for member in group.members if member.ordered_at is not None]

    def _check_actions(self, actions: NDArray[Any], num_slots: int) -> NDArray[Any]:
        wanted = (num_slots, *self.layout.action_shape)
        given = np.asarray(actions)
        if given.shape != wanted:
            raise RuntimeError(f"expected actions of shape {wanted}, got {given.shape}")
        if not np.can_cast(given.dtype, self.layout.action_dtype, "same_kind"):
            raise RuntimeError(f"expected actions of dtype {self.layout.action_dtype}, got {given.dtype}")
        most = self.layout.num_actions
        if most is not None and (given.min() < 0 or given.max() >= most):
            raise RuntimeError(f"expected actions 0 to {most - 1}, got {given.min()} to {given.max()}")
        return np.ascontiguousarray(given, self.layout.action_dtype)


__all__ = ["Part", "StepRequest", "VectorCore", "even_parts"]
