"""Door `sample`: which segments of guests are replayed, and what each replay shows (rule C10)."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

import numpy as np

from attract.collection.batches import AcceptedBlock
from attract.collection.effects import ForgerCaught
from attract.collection.leases import Lesson
from attract.collection.trust.replays import Beginning, Columns, History, Play, difference, order_of, play_of
from attract.collection.trust.verdict import MAX_OWED, AuditStanding
from attract.schema.episodes import Episode, Episodes
from attract.schema.frames import malformed
from attract.schema.messages import Block, ReplayOrder
from attract.schema.tensor import view

CONTROLS: Final = 4
"""Segments of the admin's own workers that are played again before any guest is accused."""
MAX_TRIES: Final = 3
MAX_SHORT: Final = 3
"""Leases closed with segments missing after which an identity is banned."""
MAX_WAITING: Final = 512
"""Segments that may wait for their replay; what would be drawn beyond that is owed."""
ORDERS_PER_LEASE: Final = 16
MAX_BYTES: Final = 64 << 20
"""Limit of all kept actions; a slot beyond it cannot be played again until its next episode."""
MAX_ORDER_BYTES: Final = 1 << 20

Outcome = Literal["valid", "forged", "unknown"]


@dataclass(eq=False)
class Held:
    """A block of an unproven identity, until all that was drawn of it is judged."""

    block: AcceptedBlock
    identity: str
    waiting: int = 0
    """Audits that decide about it."""
    is_lost: bool = False
    """Something of it could not be confirmed."""


@dataclass(eq=False)
class Item:
    """One segment that is to be played again."""

    identity: str
    worker_id: int
    order: ReplayOrder
    claimed: Play
    held: list[Held]
    is_control: bool = False
    answer: Play | None = None
    """What the first replay gave, if that differed."""
    tries: int = 0
    parts: list[Columns] = field(default_factory=list[Columns])
    """Blocks of the answer so far."""

    @property
    def is_late(self) -> bool:
        """Whether it is of an episode after the first: what an earlier one left behind may show in it."""
        return self.order.episode > 0


@dataclass(eq=False)
class Gathering:
    """One segment of one instance whose agents may come in several blocks."""

    num_agents: int
    parts: list[Columns] = field(default_factory=list[Columns])
    held: list[Held] = field(default_factory=list[Held])

    @property
    def is_whole(self) -> bool:
        """Whether all agents have come."""
        return sum(len(columns) for _, columns in self.parts) >= self.num_agents

    @cached_property
    def play(self) -> Play:
        """What it says its game did; read once it is whole."""
        return play_of(self.parts, self.num_agents)


class Audit:
    """Follows what strangers play, draws what is played again, and judges. Pure; used by the core alone.

    `secret` must not be known to any worker: with it, what is audited could be told in advance. The caller
    must look at `passed`, `lost`, `caught` and `notes` afterwards, and take out what is there.
    """

    def __init__(self, num_agents: int, secret: int) -> None:
        self.passed: list[AcceptedBlock] = []
        """Blocks that may be trained from now on."""
        self.lost: list[AcceptedBlock] = []
        """Blocks that never will."""
        self.caught: list[ForgerCaught] = []
        self.notes: list[str] = []
        self.off: str | None = None
        """Why this game cannot be audited."""
        self.is_off_reported = False
        """Whether a note said so."""
        self.num_held = 0
        """Segments that wait for a verdict."""
        self.num_replayed = 0
        self.is_missed = False
        """Whether a note said that no worker can replay segments."""
        self.is_able = False
        """Whether a worker can replay segments; set by the core."""
        self.waiting: deque[Item] = deque()
        self.standings: dict[str, AuditStanding] = {}
        self._num_agents = num_agents
        self._secret = secret
        self._histories: dict[int, History] = {}
        self._gathering: dict[tuple[int, int, int], Gathering] = {}
        self._held: dict[int, Held] = {}
        self._leased: dict[int, list[Item | None]] = {}
        """Orders by replay lease; None: answered."""
        self._suspects: list[tuple[Item, str]] = []
        """Segments that differ, kept until it is known whether the game can be replayed at all."""
        self._num_bytes = 0
        """Bytes of all histories."""
        self._controls = 0
        self._late_controls = 0
        self._controls_under_way = 0

    def of(self, identity: str) -> AuditStanding:
        """The standing of an identity; a new identity gets an empty one."""
        return self.standings.setdefault(identity, AuditStanding())

    @property
    def wants_control(self) -> bool:
        """Whether segments of the admin's own workers are to be followed, and some played again."""
        return self.off is None and (self._controls < CONTROLS or self._late_controls < 1)

    # --- what is played ---

    def must_wait(self, identity: str) -> bool:
        """Whether a block of it may not train before its verdict."""
        return self.off is None and self.is_able and not self.of(identity).is_proven

    def take(
        self,
        identity: str,
        worker_id: int,
        block: Block,
        accepted: AcceptedBlock | None,
        lesson: Lesson,
        *,
        only: int | None = None,
    ) -> None:
        """A block came in: follow its instances, and draw which of its segments are played again.

        Args:
            identity: whose it is.
            worker_id: which worker sent it.
            block: passed `check_block`, and the lease had a place for it.
            accepted: what waits for its verdict; None: it trains already, or never will.
            lesson: of its lease.
            only: a control of one of the admin's own workers: follow this instance alone.
        """
        if self.off is not None:
            if accepted is not None:
                self.passed.append(accepted)
            return
        held = None
        if accepted is not None:
            # One more than there are segments, until all of them were looked at.
            held = self._held[id(accepted)] = Held(accepted, identity, waiting=1)
            self.num_held += len(accepted.rows)
        instances = view(block.slot_id) // self._num_agents
        ended = sorted(Episodes(block.episodes, self._num_agents), key=lambda episode: episode.step)
        claimed = {episode.instance_id: episode for episode in ended}
        whole: list[tuple[int, Gathering]] = []
        for instance in np.unique(instances).tolist() if only is None else [only]:
            columns = np.flatnonzero(instances == instance)
            if not len(columns):
                continue
            key = (block.lease_id, block.segment_index, instance)
            gathering = self._gathering.setdefault(key, Gathering(self._num_agents))
            gathering.parts.append((block, columns))
            if held is not None:
                gathering.held.append(held)
                held.waiting += 1
            if gathering.is_whole:
                del self._gathering[key]
                whole.append((instance, gathering))
        if whole:
            self._draw(identity, worker_id, whole, lesson, claimed, is_control=only is not None)
        if held is not None:
            self._judged(held)

    def distrust(self, identity: str) -> None:
        """It sent impossible numbers: its segments wait for their verdicts again, as a stranger's do."""
        standing = self.standings.get(identity)
        if standing is not None:
            # Each audit under way adds one when it agrees: they are of segments from before, so the sum must
            # be 0 once the last of them has ended.
            standing.valid = -standing.ordered

    def drop(self, identity: str) -> None:
        """It is banned: its waiting segments never train, and a later return starts unproven."""
        self.distrust(identity)
        for held in self._held_of(identity):
            held.is_lost = True
            self._release(held)

    def withheld(self, identity: str, worker_id: int) -> None:
        """A lease of it was closed with segments missing."""
        standing = self.of(identity)
        standing.short += 1
        if standing.short >= MAX_SHORT:
            what = f"it withheld results {standing.short} times"
            self._leave_out(identity, worker_id, what)

    def worker_gone(self, instance_ids: Iterable[int]) -> None:
        """A worker left: its games are unknown from now on."""
        for instance in instance_ids:
            history = self._histories.pop(instance, None)
            if history is not None:
                self._num_bytes -= history.num_bytes

    def lease_over(self, lease_id: int) -> None:
        """Nothing more of that lease comes: what was incomplete of it cannot be played again."""
        for key in [key for key in self._gathering if key[0] == lease_id]:
            for held in self._gathering.pop(key).held:
                self._judged(held, is_good=False)

    def _draw(
        self,
        identity: str,
        worker_id: int,
        whole: list[tuple[int, Gathering]],
        lesson: Lesson,
        claimed: dict[int, Episode],
        *,
        is_control: bool,
    ) -> None:
        standing = self.of(identity)
        block = whole[0][1].parts[0][0]
        chances = np.random.default_rng(
            [self._secret, worker_id, block.lease_id, block.segment_index, whole[0][0]]
        )
        unknown: list[Gathering] = []
        for index in chances.permutation(len(whole)).tolist():
            instance, gathering = whole[index]
            first_step, beginning = self._follow(instance, gathering, lesson, claimed)
            if is_control:
                drawn = beginning is not None and self._is_control_due(beginning)
            else:
                drawn = beginning is not None and self.is_able and chances.random() < standing.chance
            if beginning is None or (drawn and len(self.waiting) >= MAX_WAITING):
                unknown.append(gathering)
            elif drawn:
                play = gathering.play
                order = order_of(instance, first_step, beginning, lesson, play)
                self._order(Item(identity, worker_id, order, play, gathering.held, is_control), standing)
            else:
                for held in gathering.held:
                    self._judged(held)
        for gathering in unknown:
            # An unknown beginning must not be a way out: as soon as one is known, it is made up for.
            is_due = self.is_able and not is_control and float(chances.random()) < standing.chance
            if is_due:
                standing.owed = min(standing.owed + 1, MAX_OWED)
            for held in gathering.held:
                self._judged(held, is_good=not is_due)

    def _follow(
        self, instance: int, gathering: Gathering, lesson: Lesson, claimed: dict[int, Episode]
    ) -> tuple[int, Beginning | None]:
        """The first step of a whole segment, and how its instance came there; None: that is not known."""
        block, columns = gathering.parts[0]
        first_step = int(view(block.first_step)[columns[0]])
        if len(gathering.parts) > 1:
            play = gathering.play
            action, valid = play.action, play.steps["valid"]
            ended = play.episodes[-1] if play.episodes else None
        else:
            action, valid = view(block.action)[:, columns], view(block.valid)[:, columns]
            ended = claimed.get(instance)
        empty = np.flatnonzero(~valid.astype(np.bool_).any(axis=1))
        failed_at = int(empty[-1]) if len(empty) else -1
        history = self._histories.setdefault(instance, History())
        before = history.num_bytes
        beginning = history.take(first_step, lesson, action, ended, failed_at)
        self._num_bytes += history.num_bytes - before
        if self._num_bytes > MAX_BYTES:
            self._num_bytes -= history.num_bytes
            history.forget()
        return first_step, beginning

    def _is_control_due(self, beginning: Beginning) -> bool:
        wanted = self._controls < CONTROLS or beginning.episode > 0
        return self.is_able and self.wants_control and wanted and not self._controls_under_way

    def _order(self, item: Item, standing: AuditStanding) -> None:
        if item.is_control:
            self._controls_under_way += 1
            self.waiting.appendleft(item)
        else:
            standing.ordered += 1
            standing.owed = max(0, standing.owed - 1)
            self.waiting.append(item)

    # --- what is played again ---

    def next_orders(self) -> list[Item]:
        """What the next replay lease is to hold; empty: nothing waits."""
        chosen: list[Item] = []
        num_bytes = 0
        while self.waiting and len(chosen) < ORDERS_PER_LEASE and num_bytes < MAX_ORDER_BYTES:
            item = self.waiting.popleft()
            if not item.is_control and self.of(item.identity).caught is not None:
                self._finish(item, "unknown")
                continue
            chosen.append(item)
            num_bytes += len(item.order.action.data)
        return chosen

    def leased(self, lease_id: int, items: list[Item]) -> None:
        """That lease orders these."""
        self._leased[lease_id] = list(items)

    def answer(self, block: Block) -> None:
        """A block of a replay lease. Raises: ProtocolError: when it was not ordered."""
        items = self._leased.get(block.lease_id, [])
        item = items[block.segment_index] if block.segment_index < len(items) else None
        slots = view(block.slot_id)
        if item is None or (slots // self._num_agents != item.order.instance_id).any():
            raise malformed(
                f"block.segment_index: {block.segment_index} of replay lease {block.lease_id}",
                fix="answer each order once, with blocks of its instance",
            )
        item.parts.append((block, np.arange(len(slots))))
        if sum(len(columns) for _, columns in item.parts) >= self._num_agents:
            items[block.segment_index] = None
            play, item.parts = play_of(item.parts, self._num_agents), []
            self._compare(item, play)

    def answered(self, lease_id: int) -> None:
        """The replay lease is over, in whatever way: what was not answered is ordered again, a few times."""
        for item in self._leased.pop(lease_id, []):
            if item is None:
                continue
            item.parts = []
            item.tries += 1
            if item.tries < MAX_TRIES:
                self.waiting.appendleft(item)
            else:
                self._finish(item, "unknown")

    def give_up(self) -> None:
        """Stop waiting for replays, since no worker can play them: what waits trains."""
        given_up = [*self.waiting, *(suspect for suspect, _ in self._suspects)]
        self.waiting.clear()
        self._suspects.clear()
        for item in given_up:
            self._finish(item, "unknown", is_let_go=True)
        for held in list(self._held.values()):
            self._release(held)

    def switch_off(self, why: str) -> None:
        """Audit no more, since the game cannot be audited: everything trains."""
        if self.off is None:
            self.off, self.is_off_reported = why, True
            self.notes.append(f"what visitors play is not verified: {why}")
            self.give_up()
            self._histories.clear()
            self._gathering.clear()

    # --- verdicts ---

    def _compare(self, item: Item, answer: Play) -> None:
        if self.off is not None:
            return
        self.num_replayed += 1
        what = difference(item.claimed, answer)
        if what is None:
            self._finish(item, "valid")
        elif item.answer is None:
            # Once more: a game that differs each time is no proof against the guest.
            item.answer = answer
            self.waiting.appendleft(item)
        elif (apart := difference(item.answer, answer)) is not None:
            self.switch_off(f"the game plays differently each time it is replayed ({apart})")
        elif item.is_control:
            self.switch_off(
                f"results of your own browser could not be replayed ({what}): "
                "the game is not decided by seed and actions alone, see `attract check`"
            )
        else:
            self._suspects.append((item, what))
            self._look_at_suspects()

    def _can_accuse(self, item: Item) -> bool:
        return self._controls >= 1 and (self._late_controls >= 1 or not item.is_late)

    def _leave_out(self, identity: str, worker_id: int, what: str) -> None:
        standing = self.of(identity)
        if standing.caught is None:
            standing.caught = what
            self.caught.append(ForgerCaught(identity, worker_id, what))
        self.drop(identity)

    def _finish(self, item: Item, outcome: Outcome, *, is_let_go: bool = False) -> None:
        standing = self.of(item.identity)
        if item.is_control:
            self._controls_under_way -= 1
            if outcome == "valid":
                self._controls += 1
                self._late_controls += int(item.is_late)
                self._look_at_suspects()
            return
        standing.ordered -= 1
        standing.judged += int(outcome != "unknown")
        if outcome == "valid":
            standing.valid += 1
        elif outcome == "forged":
            standing.valid = 0
        for held in item.held:
            self._judged(held, is_good=outcome == "valid" or is_let_go)
        for held in self._held_of(item.identity):
            self._release_if_clear(held)

    def _look_at_suspects(self) -> None:
        for item, what in list(self._suspects):
            if self._can_accuse(item):
                self._suspects.remove((item, what))
                # First: when its last audit is finished, what waits for it must not be clear.
                self._leave_out(item.identity, item.worker_id, what)
                self._finish(item, "forged")

    def _held_of(self, identity: str) -> list[Held]:
        return [held for held in self._held.values() if held.identity == identity]

    def _judged(self, held: Held, *, is_good: bool = True) -> None:
        held.is_lost = held.is_lost or not is_good
        held.waiting -= 1
        self._release_if_clear(held)

    def _release_if_clear(self, held: Held) -> None:
        """Segments that were not drawn also wait while drawn ones of an unproven identity are judged."""
        standing = self.of(held.identity)
        if held.waiting <= 0 and (held.is_lost or standing.is_proven or not standing.ordered):
            self._release(held)

    def _release(self, held: Held) -> None:
        if self._held.pop(id(held.block), None) is not None:
            self.num_held -= len(held.block.rows)
            (self.lost if held.is_lost else self.passed).append(held.block)
