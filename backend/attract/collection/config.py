"""Configuration of the collection core, and the check that a fleet can satisfy it (rule S1)."""

import math
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np

from attract.collection.seating import Seating
from attract.errors import ConfigurationError
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.schema.game import GameDescription, GameReference
from attract.schema.messages import Seed
from attract.settings.collection import MAIN, CollectionSettings
from attract.settings.run import EXPECTED_STEPS, RunSettings

BLOCK_BYTES: Final = 1024 * 1024
"""A local worker's block holds as many slots as fit: the gateway's work is by the block, not by the byte."""
FAR_BLOCK_BYTES: Final = 256 * 1024
"""The same of a worker behind a network: when its socket breaks, little is to be sent again."""
MAX_SEGMENT_BYTES: Final = 4 * 1024 * 1024
MAX_LEASE_SEGMENTS: Final = 65_536
FRAME_OVERHEAD_BYTES: Final = 2048
USUAL_INSTANCES: Final = 64
PAGE_INSTANCES: Final = 8
"""Instances of a page game: more pages of a heavy engine push each other out of the caches."""
MIN_INSTANCES: Final = 4
MIN_UPDATES: Final = 64
"""A run of so few updates or fewer ends before it has learned: smaller batches give it more of them."""
MIN_INSTANCES_FOR_UPDATES: Final = 8
"""A batch of fewer games than this says too little for an update, however many updates there are."""
USUAL_GROWTH: Final = 4
"""Unless told, rows are kept for so many times the expected workers ..."""
MAX_WARMUP_SECONDS: Final = 10.0
"""Random play before the first update lasts at most this (rule P7)."""
GROWTH_BYTES: Final = 256 * 1024 * 1024
"""... if the rows that this adds take no more than this of shared memory."""
ENDLESS_STEPS: Final = 100_000
"""Steps after which an evaluation episode of a game without a time limit is stopped."""
OBSERVE_SLOT_BYTES: Final = 32
"""Bytes of a slot in an `observe` beside its observation: reward, flags, ticks, episode, final's column."""
PACKED_BYTES: Final = 384
"""Bytes of one packed observation in a block, beside one byte for each stack: names and headers."""
EPISODE_BYTES: Final = 512
"""Room for one episode result of one agent in a frame."""
RETURN_BYTES: Final = 9
"""One agent's return more."""


@dataclass(frozen=True)
class CollectionConfig:
    """Everything that decides how a run collects; built from the settings by the composition root."""

    run_id: str
    game: GameReference
    stream_seed: Seed
    """Key of the training streams (rule C5)."""
    run: RunSettings
    max_frame_bytes: int = MAX_SEGMENT_BYTES + FRAME_OVERHEAD_BYTES
    """Limit of the server's sockets: larger frames never reach the core."""
    first_lease_id: int = 1
    """Browsers outlive the server: a run that goes on must not give ids that they hold from before."""
    opponents: frozenset[int] = frozenset()
    """Versions of earlier sessions whose models are there: a resumed run plays against no others."""
    secret: int = 0
    """What spot checks and audits are drawn with (rules C7, C10): no worker may know it."""

    @property
    def settings(self) -> CollectionSettings:
        """Those of collection."""
        return self.run.collection

    @property
    def horizon(self) -> int:
        """Steps per segment."""
        return self.run.algorithm_settings.horizon

    @property
    def rollout_segments(self) -> int:
        """Segments per slot that a lease asks for when all workers are equally fast."""
        return self.run.algorithm_settings.rollout_segments

    @property
    def batch_segments(self) -> int | None:
        """Rule S1's target; None: what one rollout of the expected fleet gives."""
        return self.run.algorithm_settings.batch_segments

    @property
    def total_steps(self) -> int | None:
        """Agent steps after which the run ends; None: not known."""
        return self.run.total_steps

    @property
    def state_size(self) -> int:
        """Numbers of a slot's packed recurrent state; 0: feed-forward."""
        return self.run.policy.state_size

    @property
    def num_workers(self) -> int:
        """Workers expected: the first lease waits for them."""
        return self.settings.num_workers

    @property
    def num_groups(self) -> int:
        """Groups of central inference (rule I2); 0: workers run the policy themselves."""
        return self.settings.async_factor if self.settings.inference == "server" else 0

    def with_settings(self, **changes: Any) -> Self:
        """The same with other settings of collection."""
        collection = self.settings.model_copy(update=changes)
        return replace(self, run=self.run.model_copy(update={"collection": collection}))

    def fitted(self, description: GameDescription) -> "FittedConfig":
        """The same for a game that is known now: with a number of instances.

        Unless told, a worker has `USUAL_INSTANCES` (`PAGE_INSTANCES`), or by halves fewer, until the
        steps of the run (`EXPECTED_STEPS` where it has no end)

        - let every slot play to the game's time limit, down to `MIN_INSTANCES`: of few long episodes,
          side by side in too many games, none would end before the run does;
        - make `MIN_UPDATES` rollouts of the fleet, down to `MIN_INSTANCES_FOR_UPDATES`: a short run
          needs more updates rather than larger batches.
        """
        if description.page is not None and self.num_groups:
            raise ConfigurationError(
                f"{self.game.name} lives in a page, where the policy plays beside it",
                setting="collection.inference",
                fix="leave it at worker",
            )
        own = {each.name: getattr(self, each.name) for each in fields(CollectionConfig)}
        return FittedConfig(**own, description=description).with_instances().with_room()

    @property
    def row_workers(self) -> int:
        """Number of workers that rows are kept for; at least as many as are expected."""
        return max(self.num_workers, self.settings.max_workers or 0)

    @property
    def recorded_every(self) -> int:
        """Versions from one whose training episodes are kept to the next; 0: none are."""
        recording = self.run.recording
        return recording.every_updates if recording.keeps and not self.num_groups else 0

    @property
    def policy_layout(self) -> PolicyLayout:
        """What the policy adds to a segment: its packed recurrent state (rule S3)."""
        return PolicyLayout({"state": (self.state_size,)} if self.state_size else {})


@dataclass(frozen=True)
class FittedConfig(CollectionConfig):
    """A configuration for a game that is known, as `CollectionConfig.fitted` makes it."""

    description: GameDescription = field(kw_only=True)

    def with_room(self) -> Self:
        """With `max_workers`: unless told, `USUAL_GROWTH` times the expected, by halves fewer of large rows.

        Central inference cuts its groups for the expected workers alone.
        """
        if self.num_groups:
            return self.with_settings(max_workers=self.num_workers)
        if self.settings.max_workers is not None:
            return self
        growth = USUAL_GROWTH
        while growth > 1:
            room = self.with_settings(max_workers=growth * self.num_workers)
            if room.growth_bytes <= GROWTH_BYTES:
                return room
            growth //= 2
        return self.with_settings(max_workers=self.num_workers)

    def with_instances(self) -> Self:
        """With `instances_per_worker`, as `fitted` says."""
        if self.settings.instances_per_worker is not None:
            return self
        steps = (self.total_steps or EXPECTED_STEPS) // (self.description.num_agents * self.num_workers)
        for_episodes = steps // max(1, self.time_limit)
        for_updates = steps // (self.horizon * self.rollout_segments * MIN_UPDATES)
        most = min(for_episodes, max(for_updates, MIN_INSTANCES_FOR_UPDATES))
        chosen = USUAL_INSTANCES if self.description.page is None else PAGE_INSTANCES
        while chosen > most and chosen > max(MIN_INSTANCES, self.num_groups):
            chosen //= 2
        return self.with_settings(instances_per_worker=max(chosen, self.num_groups))

    @property
    def growth_bytes(self) -> int:
        """Bytes of the store that are kept for more workers than expected."""
        layout = StoreLayout.for_run(self.description, self.policy_layout, self.horizon, 1)
        expected = self.with_settings(max_workers=self.num_workers)
        more = self.store_capacity - expected.store_capacity
        return more * layout.row_bytes

    @property
    def num_instances(self) -> int:
        """Games of each worker."""
        return self.settings.instances_per_worker or 0

    @property
    def group_sizes(self) -> list[int]:
        """Instances of each of a worker's groups, as even as can be; empty without central inference."""
        cuts = [self.num_instances * cut // max(1, self.num_groups) for cut in range(self.num_groups + 1)]
        return [end - start for start, end in pairwise(cuts)]

    @property
    def slots_per_worker(self) -> int:
        """Slots of each worker: instances times agents."""
        return self.num_instances * self.description.num_agents

    @property
    def learning_slots(self) -> int:
        """Slots of each worker whose segments are trained on."""
        return self.num_instances * self.num_learning

    @property
    def num_learning(self) -> int:
        """Agents of each game that learn."""
        return self.run.self_play.num_learning or self.description.num_agents

    def batch_target(self, num_workers: int = 0) -> int:
        """`batch_segments`, or its default: one rollout of the expected fleet, or of a larger one here.

        `num_workers`: who is here; up to `max_workers` of them make the batch larger. Were it not to grow,
        they would wait: no lease may be issued more than a batch or two ahead of the learner.
        """
        workers = max(self.num_workers, min(num_workers, self.row_workers))
        return self.batch_segments or workers * self.learning_slots * self.rollout_segments

    @property
    def lease_segments(self) -> int:
        """Segments per slot with which one lease per expected worker fills a batch; at least a rollout."""
        slots = self.num_workers * self.learning_slots
        return max(self.rollout_segments, math.ceil(self.batch_target() / slots))

    @property
    def time_limit(self) -> int:
        """The game's own time limit in steps; 0 without one."""
        if self.description.max_steps is not None:
            return self.description.max_steps
        if self.description.max_seconds is None:
            return 0
        return max(1, round(self.description.max_seconds / self.description.seconds_per_step))

    @property
    def longest_episode(self) -> int:
        """Steps after which an evaluation episode is stopped."""
        return self.time_limit or ENDLESS_STEPS

    @property
    def desync_limit(self) -> int:
        """Range of rule E7's cut in steps, 0 when off."""
        return (self.settings.desync_steps or self.time_limit) if self.settings.desync_episodes else 0

    @property
    def warmup_segments(self) -> int:
        """Segments per slot of the warm-up rollout, which is no longer than the run; 0 is none."""
        slots = self.num_workers * self.slots_per_worker
        steps = min(self.settings.warmup_steps, self.total_steps or self.settings.warmup_steps)
        return math.ceil(steps / (slots * self.horizon))

    @property
    def store_capacity(self) -> int:
        """Rows of the store: two batches (one in training, one filling), two leases per worker in flight.

        In `async` one more batch waits, and with `prefetch` more leases are in flight. Each part counts at
        least one lease of each of `max_workers`, so that no worker waits for a row while the learner keeps
        up. Even more workers share these rows: a lease reserves its rows when it is issued, and waits when
        there are none.
        """
        expected = self.num_workers * self.slots_per_worker
        lease = max(self.lease_segments, self.warmup_segments) * expected
        lease = max(lease, self.row_workers * self.slots_per_worker * self.rollout_segments)
        num_batches = 3 if self.settings.schedule == "async" else 2
        batch = max(self.batch_target(self.row_workers), lease)
        return num_batches * batch + (1 + max(1, self.settings.prefetch)) * lease

    @property
    def seating(self) -> Seating:
        """Who plays which agent."""
        return Seating(self.settings.seats or (MAIN,) * self.description.num_agents)

    @property
    def batch_targets(self) -> dict[str, int]:
        """Segments each policy gets of a batch, by its id: every lease gives each those of all its slots."""
        seating, segments = self.seating, self.batch_target()
        return {
            policy_id: segments * len(seating.agents_of(policy_id)) // len(seating.seats)
            for policy_id in seating.policy_ids
        }

    def store_layout(self) -> StoreLayout:
        """Layout of this run's store. Raises: ConfigurationError: as `check_satisfiable`."""
        check_satisfiable(self)
        capacity = self.store_capacity
        return StoreLayout.for_run(self.description, self.policy_layout, self.horizon, capacity)

    def segment_bytes(self, horizon: int | None = None) -> int:
        """Most bytes a segment of this run can take on the wire; `horizon` replaces the configured one."""
        return segment_bytes(self.description, horizon or self.horizon, self.state_size)

    def frame_bytes(self, *, is_local: bool = True) -> int:
        """`max_frame_bytes` of a worker: room for a block, or what cannot be cut where that is larger."""
        largest = max(self.segment_bytes(), self.observe_bytes)
        wanted = BLOCK_BYTES if is_local else FAR_BLOCK_BYTES
        return max(min(wanted, self.max_frame_bytes), largest + FRAME_OVERHEAD_BYTES)

    @property
    def observe_bytes(self) -> int:
        """Most bytes of an `observe` of central inference: the largest group's games all end at once."""
        layout = StoreLayout.for_run(self.description, PolicyLayout(), 1, 1)
        seen = sum(
            math.prod(field.shape) * np.dtype(field.dtype).itemsize
            for field in layout.fields
            if field.kind == "step" and (field.name.startswith("obs.") or field.name == "action_mask")
        )
        # Each observation twice, the second as it was before the reset.
        per_game = self.description.num_agents * (2 * seen + OBSERVE_SLOT_BYTES) + episode_bytes(
            self.description
        )
        return max(self.group_sizes, default=0) * per_game


def episode_bytes(description: GameDescription) -> int:
    """Room for one episode result in a frame: each agent has a return."""
    return EPISODE_BYTES + RETURN_BYTES * (description.num_agents - 1)


def segment_bytes(description: GameDescription, horizon: int, state_size: int = 0) -> int:
    """Most bytes one segment can take on the wire.

    Every step is truncated, each with its final observation and, with `state_size` numbers of recurrent
    state, the state beside it; every eighth step ends an episode; no stack of pictures continues another.
    """
    layout = StoreLayout.for_run(description, PolicyLayout(), horizon, 1)
    per_step = sum(
        math.prod(field.shape) * np.dtype(field.dtype).itemsize
        for field in layout.fields
        if field.kind != "row"
    )
    per_row = sum(
        math.prod(field.shape) * np.dtype(field.dtype).itemsize
        for field in layout.fields
        if field.kind == "row"
    )
    state, episode = 4 * state_size, episode_bytes(description)
    # One byte for each observation of each stack says how it was packed.
    kinds = (2 * horizon + 1 + PACKED_BYTES) * len(description.picture_stacks)
    return horizon * (per_step + state + episode // 8) + per_row + state + episode + kinds


def check_satisfiable(config: FittedConfig) -> None:
    """Refuse what no fleet could satisfy (rule S1).

    Raises: ConfigurationError: with the numbers and the nearest settings that work.
    """
    description = config.description
    if len(config.settings.seats) not in (0, description.num_agents):
        raise ConfigurationError(
            f"{len(config.settings.seats)} seats for the {description.num_agents} agents of {description.id}",
            setting="collection.seats",
            fix=f"name one policy for each of the {description.num_agents}, or none",
        )
    players = config.run.self_play.seats
    if len(players) not in (0, description.num_agents):
        raise ConfigurationError(
            f"{len(players)} players for the {description.num_agents} seats of {description.id}",
            setting="self_play.seats",
            fix=f"name one player for each of the {description.num_agents}, or none",
        )
    if config.num_groups and len(set(config.settings.seats)) > 1:
        raise ConfigurationError(
            f"I1: central inference runs one policy, the seats name {len(set(config.settings.seats))}",
            setting="collection.inference",
            fix="`worker` plays with several",
        )
    limit = min(MAX_SEGMENT_BYTES, config.max_frame_bytes - FRAME_OVERHEAD_BYTES)
    size = config.segment_bytes()
    if size > limit:
        low, high = 1, config.horizon
        while high - low > 1:
            middle = (low + high) // 2
            fits = config.segment_bytes(middle) <= limit
            low, high = (middle, high) if fits else (low, middle)
        if config.segment_bytes(low) > limit:
            raise ConfigurationError(
                f"one step of {description.id} has more than the {limit} bytes of a segment",
                setting=f"{config.run.algorithm}.horizon",
                fix="make the game's observation smaller"
                + (", or `policy.recurrent_size`" * bool(config.state_size)),
            )
        raise ConfigurationError(
            f"a segment of {config.horizon} steps of {description.id} has up to {size} bytes, "
            f"at most {limit} can travel",
            setting=f"{config.run.algorithm}.horizon",
            fix=f"the largest horizon that fits is {low}",
        )
    if config.num_groups > config.num_instances:
        raise ConfigurationError(
            f"I2: {config.num_instances} instances of a worker cannot be cut into {config.num_groups} groups",
            setting="collection.async_factor",
            fix=f"the largest that works is {config.num_instances}",
        )
    observed = config.observe_bytes
    if observed > limit:
        games = max(config.group_sizes)
        fits = max(1, games * limit // observed)
        raise ConfigurationError(
            f"I1: what {games} games of a group see has up to {observed} bytes, "
            f"at most {limit} can travel at once",
            setting="collection.instances_per_worker",
            fix=f"the largest that works with {config.num_groups} groups is {fits * config.num_groups}",
        )
    slots = config.learning_slots
    most = MAX_LEASE_SEGMENTS * slots * config.num_workers
    if config.lease_segments > MAX_LEASE_SEGMENTS:
        raise ConfigurationError(
            f"{config.batch_target()} segments are too many: one lease for each of "
            f"{config.num_workers} workers with {slots} slots gives at most {most}",
            setting=f"{config.run.algorithm}.batch_segments",
            fix=f"the largest that works is {most}; or use more workers or instances",
        )
