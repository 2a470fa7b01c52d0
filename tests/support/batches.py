"""Batches as a fleet would collect them, played or demonstrated, and updates on them taken one at a time."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.experience.batch import Batch, Finals, load_batch
from attract.experience.layout import RECURRENT_STATE, PolicyLayout, StoreLayout
from attract.experience.store import SegmentStore
from attract.learner.algorithms.algorithm import Learnable, Progress
from attract.learner.replay.off_policy import OffPolicy
from attract.policy.action_kinds.table import resolve_distribution
from attract.policy.network import Policy, build_distribution, build_policy
from attract.policy.observation_inputs import Entry
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, ObservationSpace
from attract.settings.off_policy import OffPolicySettings
from attract.settings.run import PolicySettings
from learner_world import SignsFleet

NAN = float("nan")


def build(
    observation: ObservationSpace | None = None,
    action: dict[str, Any] | None = None,
    *,
    normalize: bool = False,
    seed: int = 1,
    **settings: Any,
) -> tuple[Policy, ActionDistribution]:
    """A small policy with the distribution of its actions: by default 4 floats and 3 choices."""
    distribution = resolve_distribution(action or {"kind": "discrete", "n": 3})
    policy = Policy(
        observation or BoxSpace(shape=[4]),
        distribution,
        PolicySettings(**{"hidden_sizes": (8,), "recurrent_size": 5, **settings}),
        normalize_observations=normalize,
        generator=torch.Generator().manual_seed(seed),
    )
    # Heads as a trained policy has them: a fresh one's outputs hardly depend on what it sees.
    with torch.no_grad():
        policy.policy_head.weight.mul_(50)
    return policy, distribution


@torch.no_grad()
def play(
    policy: Policy,
    distribution: ActionDistribution,
    *,
    horizon: int = 6,
    slots: int = 4,
    runs: int = 2,
    ends: float = 0.15,
    invalid: float = 0.0,
    masks: int = 0,
    seed: int = 0,
) -> Batch:
    """`runs` consecutive segments of each slot, ordered by slot and first step.

    Args:
        ends: how often a step terminates, and how often it truncates.
        invalid: how often an agent whose episode ended is away for 2 steps, whose numbers are NaN (E9).
        masks: number of choices, of which random ones are forbidden; 0: none are.
    """
    generator = torch.Generator().manual_seed(seed)
    steps, rows = horizon * runs, []
    state = torch.zeros(slots, policy.state_size)
    away = torch.zeros(slots, dtype=torch.int64)
    observed = _draw(policy, slots, generator)
    starts, after, finals = [], [], []
    for step in range(steps):
        if step % horizon == 0:
            starts.append(state)
        mask = _draw_mask(slots, masks, generator)
        outputs, value, state = policy.step(policy.preprocess(observed), state)
        uniforms = torch.rand((slots, distribution.num_draws), generator=generator)
        action = distribution.sample(outputs, uniforms, mask)
        log_prob, _ = distribution.log_prob_and_entropy(outputs, action, mask)
        valid = away == 0
        terminated = valid & (torch.rand(slots, generator=generator) < ends)
        truncated = valid & (torch.rand(slots, generator=generator) < ends)
        following = _draw(policy, slots, generator)
        last = _draw(policy, slots, generator)
        final_value = policy.values_at(policy.preprocess(last), state)
        finals += [
            (step, slot, {key: array[slot] for key, array in last.items()})
            for slot in (truncated & ~terminated).nonzero().squeeze(1).tolist()
        ]
        row = {
            "action": action,
            "log_prob": log_prob,
            "value": value,
            "valid": valid,
            "mask": mask,
            "reward": torch.randn(slots, generator=generator),
            "terminated": terminated,
            "truncated": truncated,
            "final_value": torch.where(truncated, final_value, 0.0),
            "observed": observed,
        }
        rows.append(row)
        state = torch.where((terminated | truncated | ~valid).unsqueeze(1), 0.0, state)
        away = (away - 1).clamp(min=0)
        away[terminated & (torch.rand(slots, generator=generator) < invalid)] = 2
        observed = following
        if (step + 1) % horizon == 0:
            bootstrap = policy.values_at(policy.preprocess(observed), state)
            bootstrap = torch.where(truncated, final_value, bootstrap).masked_fill(terminated, 0.0)
            after.append((bootstrap, observed))

    def columns(values: list[Tensor]) -> Tensor:
        """[horizon, slots * runs, ...] from a tensor for each step."""
        stacked = torch.stack(values)
        cut = stacked.view(runs, horizon, slots, *stacked.shape[2:])
        return cut.permute(1, 2, 0, *range(3, cut.dim())).flatten(1, 2).contiguous()

    def per_segment(values: list[Tensor]) -> Tensor:
        """[slots * runs, ...] from a tensor for each run."""
        return torch.stack(values, 1).flatten(0, 1)

    steps_of = {
        name: columns([row[name] for row in rows]) for name in rows[0] if name not in ("observed", "mask")
    }
    keys = [entry.key for entry in policy.entries]
    batch = Batch(
        observation={key: columns([row["observed"][key] for row in rows]) for key in keys},
        action=steps_of["action"],
        log_prob=steps_of["log_prob"],
        value=steps_of["value"],
        reward=steps_of["reward"],
        terminated=steps_of["terminated"],
        truncated=steps_of["truncated"],
        valid=steps_of["valid"],
        final_value=steps_of["final_value"],
        bootstrap_value=per_segment([step[0] for step in after]),
        slot_id=torch.arange(slots).repeat_interleave(runs),
        first_step=torch.arange(runs).mul(horizon).repeat(slots),
        policy_version=torch.zeros(slots * runs, dtype=torch.int64),
        worker_id=torch.zeros(slots * runs, dtype=torch.int64),
        action_mask=columns([row["mask"] for row in rows]) if masks else None,
        recurrent_state={RECURRENT_STATE: per_segment(starts)} if policy.state_size else {},
        bootstrap_observation={key: per_segment([step[1][key] for step in after]) for key in keys},
        finals=Finals(
            torch.tensor([step % horizon for step, _, _ in finals], dtype=torch.int64),
            torch.tensor([slot * runs + step // horizon for step, slot, _ in finals], dtype=torch.int64),
            {key: torch.stack([final[2][key] for final in finals]) for key in keys} if finals else {},
        ),
    )
    return poisoned(batch)


def poisoned(batch: Batch) -> Batch:
    """The batch with NaN wherever nothing may be read: at invalid steps, and as final values elsewhere."""

    def spoil(array: Tensor, where: Tensor) -> Tensor:
        if not array.is_floating_point():
            return array
        return array.masked_fill(where.view(*where.shape, *(1,) * (array.dim() - 2)), NAN)

    gone = ~batch.valid
    return replace(
        batch,
        observation={key: spoil(array, gone) for key, array in batch.observation.items()},
        action=spoil(batch.action, gone),
        log_prob=spoil(batch.log_prob, gone),
        value=spoil(batch.value, gone),
        reward=spoil(batch.reward, gone),
        final_value=spoil(batch.final_value, ~batch.truncated),
    )


def _draw(policy: Policy, slots: int, generator: torch.Generator) -> dict[str, Tensor]:
    return {entry.key: _draw_entry(entry, slots, generator) for entry in policy.entries}


def _draw_entry(entry: Entry, slots: int, generator: torch.Generator) -> Tensor:
    shape = (slots, *entry.shape)
    if entry.kind == "one_hot":
        parts = [torch.randint(0, count, (slots,), generator=generator) for count in entry.choices]
        return torch.stack(parts, 1).view(shape).int()
    if entry.dtype == torch.uint8:
        return torch.randint(0, 2 if entry.kind == "bits" else 256, shape, generator=generator).to(
            torch.uint8
        )
    drawn = torch.randn(shape, generator=generator)
    if entry.kind == "set":
        drawn[..., -1] = (drawn[..., -1] > 0).float()
    return drawn


def _draw_mask(slots: int, choices: int, generator: torch.Generator) -> Tensor | None:
    if choices == 0:
        return None
    mask = torch.rand((slots, choices), generator=generator) < 0.6
    # The first of every two is always allowed, so that none of our spaces is left without.
    mask[:, ::2] = True
    return mask


def demonstrated_signs(
    *, episodes: int = 6, steps: int = 20, horizon: int = 8, seed: int = 5, num_inputs: int = 3
) -> Batch:
    """Right actions, reward 1 at the last step; the segments of each episode chained, the last filled up."""
    random = torch.Generator().manual_seed(seed)
    per_episode = -(-steps // horizon)
    seen = torch.randn(per_episode * horizon, episodes, num_inputs, generator=random)
    is_valid = (torch.arange(per_episode * horizon) < steps).unsqueeze(1).expand(-1, episodes)
    ends = torch.zeros_like(is_valid)
    ends[steps - 1] = True

    def cut(array: torch.Tensor) -> torch.Tensor:
        """[horizon, episodes * per_episode, ...], an episode's segments side by side."""
        parts = array.view(per_episode, horizon, *array.shape[1:]).movedim(0, 2)
        return parts.reshape(horizon, episodes * per_episode, *array.shape[2:])

    actions = (seen[..., 0] > 0).long()
    zeros = torch.zeros(horizon, episodes * per_episode)
    slots = torch.arange(episodes).repeat_interleave(per_episode)
    return Batch(
        observation={"obs": cut(seen)},
        action=cut(actions),
        log_prob=zeros,
        value=zeros,
        reward=cut(ends.float()),
        terminated=cut(ends),
        truncated=torch.zeros_like(cut(ends)),
        valid=cut(is_valid.contiguous()),
        final_value=zeros,
        bootstrap_value=zeros[0],
        slot_id=slots,
        first_step=torch.arange(per_episode).repeat(episodes) * horizon,
        policy_version=torch.zeros_like(slots),
        worker_id=torch.zeros_like(slots),
        bootstrap_observation={"obs": torch.zeros(episodes * per_episode, num_inputs)},
    )


HORIZON, SLOTS = 16, 8
"""Steps and slots of the batches of signs."""


Kind = TypeVar("Kind", bound=OffPolicy)
Chosen = TypeVar("Chosen", bound=OffPolicySettings)


def create(
    kind: Callable[[Learnable, Chosen], Kind],
    settings: type[Chosen],
    game: GameDescription,
    *,
    policy_id: str | None = None,
    seed: int = 3,
    hidden: int = 6,
    num_bins: int = 0,
    **given: object,
) -> tuple[Kind, Policy]:
    """The algorithm on a small policy, which learns from its second batch on; `given` are its settings."""
    policy = build_policy(PolicySettings(hidden_sizes=(hidden,)), game, num_bins=num_bins, seed=2)
    learnable = Learnable(policy, build_distribution(game), seed, policy_id)
    return kind(learnable, settings.model_validate({"learning_starts": 1, **given})), policy


def signs_fleet(folder: Path) -> SignsFleet:
    """The fleet that plays the batches of signs; `close` it."""
    return SignsFleet(folder / "store", num_slots=SLOTS, horizon=HORIZON, seed=1)


def signs_batches(fleet: SignsFleet) -> list[Batch]:
    """Three batches of random play, with steps in which the agent is dead."""
    return [load_batch(fleet.store, fleet.play(None, 0, invalid=0.3)).at_version(0) for _ in range(3)]


def take(algorithm: OffPolicy, batch: Batch, progress: Progress | None = None) -> dict[str, float]:
    """An update that counts; its metrics."""
    report = algorithm.update(batch, progress or Progress())
    shown = algorithm.commit()
    algorithm.moments = {name: seen.merge(shown[name]) for name, seen in algorithm.moments.items()}
    return {**report.metrics, **report.shared_metrics}


def state_of(algorithm: Any) -> dict[str, torch.Tensor]:
    """All that an update changes, but for the buffer."""
    state = {**algorithm.network.state_dict(), **algorithm.state().tensors, **algorithm.state().optimizer}
    state["random"] = algorithm.generator.get_state()
    return {name: tensor.clone() for name, tensor in state.items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Whether two states are equal bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def restore(one: OffPolicy, policy: Policy, other: OffPolicy, copied: Policy) -> None:
    """Make `other` what a checkpoint of `one` keeps, which is all but the buffer (rule D2)."""
    copied.load_state_dict(policy.state_dict())
    other.moments = one.moments
    other.load_state(copy.deepcopy(one.state()))


PLAYED_HORIZON, PLAYED_SLOTS, RUNS = 6, 4, 2


class PlayedFleet:
    """Two segments of each of four slots at a time, played by the policy it is handed; `horizon`, `path` and
    `description` are what `learner_world.begin_for` needs."""

    def __init__(self, path: Path, description: GameDescription, settings: PolicySettings) -> None:
        self.path, self.description, self.horizon = path, description, PLAYED_HORIZON
        state = {"state": (settings.state_size,)} if settings.state_size else {}
        layout = StoreLayout.for_run(description, PolicyLayout(state), PLAYED_HORIZON, PLAYED_SLOTS * RUNS)
        self.store = SegmentStore.create(path, layout)
        self._settings = settings
        self._batches = 0

    def play(self, policy: Policy | None, version: int) -> list[int]:
        """Rows of a batch of its own slots, whose first step is 0; None: some other policy plays."""
        distribution = build_distribution(self.description)
        policy = policy or build_policy(self._settings, self.description, seed=9)
        choices = distribution.output_sizes[0] if self.description.action_mask else 0
        batch = play(
            policy,
            distribution,
            horizon=PLAYED_HORIZON,
            slots=PLAYED_SLOTS,
            runs=RUNS,
            invalid=0.5,
            masks=choices,
        )
        self.store.write_block(np.arange(PLAYED_SLOTS * RUNS), self._arrays(batch, version))
        self._batches += 1
        return list(range(PLAYED_SLOTS * RUNS))

    def _arrays(self, batch: Batch, version: int) -> dict[str, np.ndarray | int]:
        assert batch.finals is not None
        segments = PLAYED_SLOTS * RUNS
        arrays: dict[str, np.ndarray | int] = {
            "action": _array(batch.action),
            "log_prob": _array(batch.log_prob),
            "value": _array(batch.value),
            "reward": _array(batch.reward),
            "terminated": _array(batch.terminated),
            "truncated": _array(batch.truncated),
            "valid": _array(batch.valid),
            "executed_ticks": _array(batch.valid),
            "bootstrap_value": _array(batch.bootstrap_value),
            "slot_id": _array(batch.slot_id) + PLAYED_SLOTS * self._batches,
            "first_step": _array(batch.first_step),
            "lease_id": 0,
            "segment_index": 0,
            "policy_version": version,
            "worker_id": 0,
        }
        for key, tensor in batch.observation.items():
            arrays[f"obs.{key}"] = _array(tensor)
            arrays[f"bootstrap_obs.{key}"] = _array(batch.bootstrap_observation[key])
        if batch.action_mask is not None:
            arrays["action_mask"] = _array(batch.action_mask)
        for key, tensor in batch.recurrent_state.items():
            arrays[f"recurrent_state.{key}"] = _array(tensor)
        step, column = _array(batch.finals.step), _array(batch.finals.column)
        if len(step):
            arrays |= {"final_step": step, "final_column": column}
            arrays["final_value"] = _array(batch.final_value)[step, column]
            arrays |= {f"final_obs.{key}": _array(values) for key, values in batch.finals.observation.items()}
        assert segments == len(batch.slot_id)
        return arrays

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.store.close(unlink=True)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.numpy()
