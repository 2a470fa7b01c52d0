"""Advantage estimates over the streams that accepted segments form."""

import torch
from torch import Tensor


def advantages_from_segments(
    rewards: Tensor,
    values: Tensor,
    final_values: Tensor,
    bootstrap_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    valid: Tensor,
    next_segment: Tensor | None,
    *,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalised advantage estimates over streams of segments that may cross episode ends.

        delta_t = r_t + gamma * next_v_t - v_t
        A_t = delta_t + gamma * gae_lambda * (1 - cut_t) * A_{t+1},    cut_t = terminated_t or truncated_t
        next_v_t = 0 where terminated, else final_values_t where truncated, else v_{t+1}

    After a segment's last step comes the first step of the segment that follows it in its stream (S2);
    where none does, v_{t+1} is the segment's own bootstrap value and A_{t+1} is 0. Invalid steps have
    advantage 0 and pass nothing back (S5); whatever their numbers are, NaN included, does not matter. A
    valid step before an invalid one carries a flag (E9): no value is read across.

    Args:
        rewards: [T, S] float32, summed over each step's ticks, raw or scaled.
        values: [T, S] float32, V(observation before the step).
        final_values: [T, S] float32, V(final observation); read only where truncated and not terminated.
        bootstrap_value: [S] float32, rule E4; read only for segments without a successor.
        terminated, truncated, valid: [T, S] bool, rules E1, S5.
        next_segment: [S] int64, successor's column or -1, from `chain_segments`; None: none has one.
        gamma: discount per step (not per tick), in [0, 1].
        gae_lambda: in [0, 1].

    Returns: [T, S] float32, not normalised.
    Raises: ValueError: when shapes do not fit each other.
    Source: Schulman et al. 2016 (arXiv:1506.02438), section 3; truncation after Pardo et al. 2018
        (arXiv:1712.00378); rules E6, S2, S5.
    """
    num_steps, num_segments = rewards.shape
    for name, array in (("values", values), ("final_values", final_values), ("valid", valid)):
        if array.shape != rewards.shape:
            raise ValueError(f"expected {name} of shape {tuple(rewards.shape)}, got {tuple(array.shape)}")
    if bootstrap_value.shape != (num_segments,):
        raise ValueError(
            f"expected bootstrap_value of shape ({num_segments},), got {tuple(bootstrap_value.shape)}"
        )

    following = bootstrap_value if next_segment is None else _follow(values[0], next_segment, bootstrap_value)
    next_values = torch.cat((values[1:], following.unsqueeze(0)))
    next_values = torch.where(truncated, final_values, next_values).masked_fill_(terminated, 0.0)
    deltas = torch.add(rewards - values, next_values, alpha=gamma)
    deltas.masked_fill_(~valid, 0.0)
    decay = torch.full_like(rewards, gamma * gae_lambda)
    decay.masked_fill_(terminated | truncated | ~valid, 0.0)

    # Each segment alone first: one small operation per step, whatever the number of segments.
    advantages = torch.empty_like(deltas)
    rows, delta_rows, decay_rows = advantages.unbind(0), deltas.unbind(0), decay.unbind(0)
    rows[-1].copy_(delta_rows[-1])
    for t in range(num_steps - 2, -1, -1):
        torch.addcmul(delta_rows[t], decay_rows[t], rows[t + 1], out=rows[t])
    if next_segment is None:
        return advantages
    # The recursion is linear: a carry from the successor adds (product of the decays from here on) * carry.
    weight = torch.cumprod(decay.flip(0), dim=0).flip(0)
    return advantages.addcmul_(weight, _carries(advantages[0], weight[0], next_segment))


def chain_segments(slot_id: Tensor, first_step: Tensor, horizon: int) -> Tensor | None:
    """Which segment follows which: the same slot's, with consecutive steps (rule S2).

    Args:
        slot_id: [S] integer.
        first_step: [S] integer, the slot's own step counter at the segment's first step.
        horizon: steps per segment.

    Returns: [S] int64, the column of the successor, -1 at the end of a run; None when every run has length 1.
    """
    slots, steps = slot_id.long(), first_step.long()
    by_step = torch.argsort(steps, stable=True)
    order = by_step[torch.argsort(slots[by_step], stable=True)]
    slots, steps = slots[order], steps[order]
    follows = (slots[1:] == slots[:-1]) & (steps[1:] == steps[:-1] + horizon)
    if not bool(follows.any()):
        return None
    successors = torch.full_like(order, -1)
    successors[order[:-1]] = torch.where(follows, order[1:], -1)
    return successors


def _follow(first: Tensor, next_segment: Tensor, otherwise: Tensor) -> Tensor:
    """`first` of each segment's successor, `otherwise` where there is none; [S] each."""
    return torch.where(next_segment >= 0, first[next_segment.clamp(min=0)], otherwise)


def _carries(first: Tensor, weight: Tensor, next_segment: Tensor) -> Tensor:
    """Advantage of each segment's successor at its first step, 0 where there is none; [S].

    Runs are followed by pointer doubling, so a run of n segments takes log2(n) rounds.
    """
    # The successor's advantage is first' + weight' * (its own carry): compose until every run has ended.
    zero = torch.zeros_like(first)
    offset, factor = _follow(first, next_segment, zero), _follow(weight, next_segment, zero)
    target = next_segment
    while bool((target >= 0).any()):
        offset = torch.addcmul(offset, factor, _follow(offset, target, zero))
        factor = factor * _follow(factor, target, zero)
        target = _follow(target, target, torch.full_like(target, -1))
    return offset
