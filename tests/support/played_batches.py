"""Batches as a fleet would collect them, played step by step by a torch policy on games of random numbers."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.experience.batch import Batch, Finals
from attract.experience.layout import RECURRENT_STATE
from attract.policy.action_kinds.table import resolve_distribution
from attract.policy.network import Policy
from attract.policy.observation_inputs import Entry
from attract.schema.spaces import BoxSpace, ObservationSpace
from attract.settings.run import PolicySettings

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
    return torch.randn(shape, generator=generator)


def _draw_mask(slots: int, choices: int, generator: torch.Generator) -> Tensor | None:
    if choices == 0:
        return None
    mask = torch.rand((slots, choices), generator=generator) < 0.6
    # The first of every two is always allowed, so that none of our spaces is left without.
    mask[:, ::2] = True
    return mask
