"""Segments on their way through an audit: gathered from blocks, drawn, held until they are judged."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attract.collection.batches import AcceptedBlock
from attract.collection.replays import Columns, Play, play_of
from attract.schema.episodes import Episode, Episodes
from attract.schema.messages import Block, ReplayOrder, Tensor
from attract.schema.tensor import DTYPES


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
    """One segment of one instance whose agents come in several blocks."""

    parts: list[Columns] = field(default_factory=list[Columns])
    num_slots: int = 0
    held: list[Held] = field(default_factory=list[Held])


class LazyPlay:
    """What a segment says its game did, cut out of its blocks when it is asked for."""

    def __init__(self, parts: list[Columns], num_agents: int) -> None:
        self._parts = parts
        self._num_agents = num_agents
        self._play: Play | None = None

    def __call__(self) -> Play:
        """Cut out now, the first time."""
        if self._play is None:
            self._play = play_of(self._parts, self._num_agents)
        return self._play


@dataclass(frozen=True)
class Caught:
    """An identity whose segment differs from its replay."""

    identity: str
    worker_id: int
    what: str


def last_episodes(block: Block, num_agents: int) -> dict[int, Episode]:
    """By instance, the last episode that the block says has ended."""
    last: dict[int, Episode] = {}
    for episode in Episodes(block.episodes, num_agents):
        if episode.instance_id not in last or episode.step > last[episode.instance_id].step:
            last[episode.instance_id] = episode
    return last


def columns_of(block: Block, name: Literal["action", "valid"], columns: NDArray[np.int64]) -> NDArray[Any]:
    """[horizon, k, ...] of these columns, copied."""
    tensor: Tensor = getattr(block, name)
    return np.frombuffer(tensor.data, DTYPES[tensor.dtype]).reshape(tensor.shape)[:, columns]
