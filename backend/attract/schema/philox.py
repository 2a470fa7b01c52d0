"""Seeded random streams (rule C5), the numpy twin of the SDK's `random.ts`: same layout, same words.

Key = (low, high) 32 bits of the seed. Counter words = (block, episode, instance or slot, stream << 24).
A uniform is the top 24 bits of a word times 2^-24.
"""

import hashlib
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attract.schema.messages import Seed

Stream = Literal["game", "parameters", "action", "policy_init", "shuffle"]

STREAMS: Final[dict[Stream, int]] = {
    "game": 1,
    "parameters": 2,
    "action": 3,
    "policy_init": 4,
    "shuffle": 5,
}

_ROUNDS: Final = 10
_MULTIPLIERS: Final = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
_LOW_WORD: Final = np.uint64(0xFFFFFFFF)
_WORD_BITS: Final = np.uint64(32)


def philox4x32(counters: ArrayLike, key: tuple[int, int]) -> NDArray[np.uint32]:
    """Philox4x32-10 of many counters under one key.

    Args:
        counters: [..., 4] unsigned 32-bit words.
        key: two unsigned 32-bit words.

    Returns: [..., 4] uint32.
    Raises: ValueError: if the last axis is not 4.
    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; rule C5.
    """
    words = np.asarray(counters, dtype=np.uint64)
    if words.ndim == 0 or words.shape[-1] != 4:
        raise ValueError(f"expected counters of shape [..., 4], got {words.shape}")
    x0, x1, x2, x3 = (words[..., i] for i in range(4))
    for number in range(_ROUNDS):
        key0 = np.uint64((key[0] + number * _WEYL[0]) & 0xFFFFFFFF)
        key1 = np.uint64((key[1] + number * _WEYL[1]) & 0xFFFFFFFF)
        product0 = x0 * _MULTIPLIERS[0]
        product1 = x2 * _MULTIPLIERS[1]
        x0 = (product1 >> _WORD_BITS) ^ x1 ^ key0
        x1 = product1 & _LOW_WORD
        x2 = (product0 >> _WORD_BITS) ^ x3 ^ key1
        x3 = product0 & _LOW_WORD
    return np.stack([x0, x1, x2, x3], axis=-1).astype(np.uint32)


def uniforms(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """`words` as float64 in [0, 1): the top 24 bits times 2^-24, so exact in float32 too."""
    return (words >> np.uint32(8)).astype(np.float64) * 2.0**-24


def sequential_words(
    seed: Seed, stream: Stream, *, episode: int, instance: int, count: int, first_block: int = 0
) -> NDArray[np.uint32]:
    """The first `count` words a game (or a parameter draw) takes, from block `first_block` on.

    Returns: [count] uint32.
    """
    num_blocks = -(-count // 4)
    counters = np.empty((num_blocks, 4), dtype=np.uint64)
    counters[:, 0] = np.arange(first_block, first_block + num_blocks)
    counters[:, 1:] = (episode, instance, STREAMS[stream] << 24)
    return philox4x32(counters, (seed.low, seed.high)).reshape(-1)[:count]


def action_uniforms(
    seed: Seed, slots: ArrayLike, episodes: ArrayLike, steps: ArrayLike, num_components: int
) -> NDArray[np.float64]:
    """The uniforms that sample the actions of (slot, episode, step), whichever order they are asked in.

    Args:
        seed: the run's.
        slots, episodes, steps: [N] unsigned integers; `steps` counts within the episode from 0.
        num_components: draws per action (1 for a discrete action).

    Returns: [N, num_components] float64 in [0, 1).
    """
    first = np.asarray(steps, dtype=np.uint64)[:, None] * np.uint64(num_components)
    draws = first + np.arange(num_components, dtype=np.uint64)
    counters = np.empty((*draws.shape, 4), dtype=np.uint64)
    counters[..., 0] = draws >> np.uint64(2)
    counters[..., 1] = np.asarray(episodes, dtype=np.uint64)[:, None]
    counters[..., 2] = np.asarray(slots, dtype=np.uint64)[:, None]
    counters[..., 3] = STREAMS["action"] << 24
    blocks = philox4x32(counters, (seed.low, seed.high))
    chosen = (draws & np.uint64(3)).astype(np.int64)[..., None]
    return uniforms(np.take_along_axis(blocks, chosen, axis=-1)[..., 0])


def derive_seed(run_seed: int, name: str) -> Seed:
    """A 64-bit seed for purpose `name` of a run; different names give unrelated streams.

    Raises: ValueError: if `run_seed` is not in [0, 2^64).
    """
    if not 0 <= run_seed < 2**64:
        raise ValueError(f"expected a run seed in [0, 2^64), got {run_seed}")
    digest = hashlib.blake2b(run_seed.to_bytes(8, "little") + name.encode(), digest_size=8).digest()
    return Seed(low=int.from_bytes(digest[:4], "little"), high=int.from_bytes(digest[4:], "little"))
