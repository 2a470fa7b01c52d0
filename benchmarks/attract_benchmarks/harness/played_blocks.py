"""Blocks of a game's shape, made without the game: for sockets and stores under load."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import ormsgpack

from attract.schema.episodes import Episode, columns_of
from attract.schema.game import GameDescription
from attract.schema.messages import Block, FinalObservations, Lease, WelcomeWorker
from attract.schema.spaces import BoxSpace
from attract.schema.tensor import from_numpy

CARTPOLE = GameDescription.model_validate(
    {
        "id": "CartPole-v1",
        "tick_seconds": 0.02,
        "seconds_per_step": 0.02,
        "ticks_per_step": 1,
        "max_seconds": 10.0,
        "max_steps": 500,
        "observation": {"kind": "box", "shape": [4]},
        "action": {"kind": "discrete", "n": 2},
    }
)
"""Sizes and limits of the bundled game."""
HARVEST = GameDescription.model_validate(
    {
        "id": "Harvest-v1",
        "tick_seconds": 0.1,
        "seconds_per_step": 0.1,
        "ticks_per_step": 1,
        "max_seconds": 20.0,
        "max_steps": 200,
        "observation": {"kind": "box", "dtype": "uint8", "shape": [24, 24, 3]},
        "action": {"kind": "discrete", "n": 3},
    }
)
"""The same of the bundled game of pixels."""
DESCRIPTIONS = {"cartpole": CARTPOLE, "harvest": HARVEST}
EPISODE_STEPS = 200
"""Mean length of an episode; one in ten ends at its time limit, and sends its final observation."""
TRUNCATED = 0.1


class PlayedBlocks:
    """The frames of one worker, one for each segment of a lease: all its slots in one block.

    Every frame holds the same play; only what names it differs.
    """

    def __init__(self, welcome: WelcomeWorker) -> None:
        """`welcome`: the worker's instances. Raises: RuntimeError: when a segment does not fit a frame."""
        self._welcome = welcome
        self._message = played_block(
            welcome.run_id, welcome.instance_ids, welcome.horizon, welcome.description
        ).model_dump()
        self._steps = 0
        self.sample = self._frame(0, 0, 0)
        """A frame of no lease."""
        size = len(self.sample)
        if size > welcome.max_frame_bytes:
            raise RuntimeError(f"expected frames of at most {welcome.max_frame_bytes} bytes, got {size}")

    def frames(self, lease: Lease) -> Iterator[bytes]:
        """The frames of a lease, in order."""
        version = lease.seats[0].policy_version
        for segment in range(lease.num_segments):
            yield self._frame(lease.lease_id, segment, version)
            self._steps += self._welcome.horizon

    def _frame(self, lease_id: int, segment: int, version: int) -> bytes:
        slots = len(self._welcome.instance_ids)
        named = {
            "lease_id": lease_id,
            "segment_index": segment,
            "block_index": segment,
            "policy_version": version,
            "first_step": from_numpy(np.full(slots, self._steps, np.int32)).model_dump(),
        }
        return ormsgpack.packb(self._message | named)


def played_block(run_id: str, instance_ids: list[int], horizon: int, description: GameDescription) -> Block:
    """One block of these instances, of lease 0, always the same; of a game that shows one box."""
    space = description.observation
    if not isinstance(space, BoxSpace):
        raise RuntimeError(f"expected a box, got {space!r}")
    dtype, extents = space.dtype, space.shape
    random = np.random.default_rng(0)
    slots = len(instance_ids)
    shape = (horizon, slots)

    def floats(*shape: int) -> Any:
        return from_numpy(random.standard_normal(shape, np.float32))

    def observations(*leading: int) -> Any:
        if dtype == "uint8":
            return from_numpy(random.integers(0, 256, (*leading, *extents), np.uint8))
        return floats(*leading, *extents)

    ends = random.random(shape) < 1 / EPISODE_STEPS
    truncated = ends & (random.random(shape) < TRUNCATED)
    steps, columns = np.nonzero(truncated)
    episodes = [
        Episode(
            instance_id=instance_ids[column],
            episode=int(column),
            step=int(step),
            returns=[float(EPISODE_STEPS)],
            length_steps=EPISODE_STEPS,
            length_ticks=EPISODE_STEPS,
            end_reason="time_limit" if truncated[step, column] else "terminated",
        )
        for step, column in zip(*np.nonzero(ends), strict=True)
    ]
    return Block(
        run_id=run_id,
        lease_id=0,
        segment_index=0,
        block_index=0,
        policy_version=0,
        slot_id=from_numpy(np.array(instance_ids, np.int32)),
        first_step=from_numpy(np.zeros(slots, np.int32)),
        observation={"obs": observations(horizon, slots)},
        action=from_numpy(random.integers(0, 2, shape, np.int32)),
        log_prob=from_numpy(np.log(random.uniform(0.1, 1.0, shape)).astype(np.float32)),
        value=floats(horizon, slots),
        reward=from_numpy(np.ones(shape, np.float32)),
        terminated=from_numpy(ends & ~truncated),
        truncated=from_numpy(truncated),
        valid=from_numpy(np.ones(shape, np.uint8)),
        executed_ticks=from_numpy(np.ones(shape, np.uint16)),
        bootstrap_observation={"obs": observations(slots)},
        bootstrap_value=floats(slots),
        final_observations=FinalObservations(
            step=from_numpy(steps.astype(np.int32)),
            column=from_numpy(columns.astype(np.int32)),
            observation={"obs": observations(len(steps))},
            value=floats(len(steps)),
        )
        if len(steps)
        else None,
        episodes=columns_of(episodes),
    )
