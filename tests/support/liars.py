"""Guests of a simulated fleet that do not say what they played, by what they do."""

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from attract.schema.messages import Block, EpisodeColumns, FromBrowser, RolloutClose, Tensor
from attract.schema.tensor import DTYPES, from_numpy
from simulated_peer import Lie, Peer

Change = Callable[[Block], Block]


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.frombuffer(tensor.data, DTYPES[tensor.dtype]).reshape(tensor.shape).copy()


def _changing(change: Change) -> Lie:
    def lie(peer: Peer, said: list[FromBrowser]) -> list[FromBrowser]:
        return [
            change(message) if isinstance(message, Block) and _is_training(peer, message) else message
            for message in said
        ]

    return lie


def _is_training(peer: Peer, block: Block) -> bool:
    # The lease of the block is the one in play, or the one just closed.
    return peer.worker.last_purpose == "train"


def forged_numbers(block: Block) -> Block:
    """Observations that the game never showed."""
    return block.model_copy(
        update={"observation": {"obs": from_numpy(-_array(block.observation["obs"]) - 1)}}
    )


def rewards_times_100(block: Block) -> Block:
    """Every reward a hundredfold."""
    return block.model_copy(update={"reward": from_numpy(_array(block.reward) * np.float32(100))})


def erased_ends(block: Block) -> Block:
    """No episode ever ends."""
    return block.model_copy(
        update={
            "truncated": from_numpy(np.zeros_like(_array(block.truncated))),
            "final_observations": None,
            "episodes": EpisodeColumns(),
        }
    )


def _old_again() -> Lie:
    """What was played once is sent under every later lease."""
    kept: dict[int, Block] = {}

    def change(block: Block) -> Block:
        first = int(_array(block.slot_id)[0])
        old = kept.setdefault(first, block)
        names = ("lease_id", "segment_index", "block_index", "policy_version", "first_step")
        return old.model_copy(update={name: getattr(block, name) for name in names})

    return _changing(change)


def _stale() -> Lie:
    """Each segment carries what was played two before it, and says that it is new."""
    kept: dict[int, deque[Block]] = {}

    def change(block: Block) -> Block:
        first = int(_array(block.slot_id)[0])
        past = kept.setdefault(first, deque(maxlen=3))
        past.append(block)
        names = ("lease_id", "segment_index", "block_index", "policy_version", "first_step")
        return past[0].model_copy(update={name: getattr(block, name) for name in names})

    return _changing(change)


def _withheld() -> Lie:
    """Half of the blocks never come, and the lease is closed as if they had."""
    draw = random.Random(5)

    def lie(peer: Peer, said: list[FromBrowser]) -> list[FromBrowser]:
        if peer.worker.last_purpose != "train":
            return said
        return [message for message in said if not isinstance(message, Block) or draw.random() < 0.5]

    return lie


def progress_only(peer: Peer, said: list[FromBrowser]) -> list[FromBrowser]:
    """Never a block and never a close: only signs of life."""
    return [
        message for message in said if not isinstance(message, Block | RolloutClose)
    ] + peer.worker.progress()


def liars() -> dict[str, Callable[[], Lie]]:
    """A maker of each kind that sends segments, by name."""
    return {
        "forged numbers": lambda: _changing(forged_numbers),
        "rewards x 100": lambda: _changing(rewards_times_100),
        "erased ends": lambda: _changing(erased_ends),
        "replays": _old_again,
        "stale": _stale,
        "withheld": _withheld,
    }
