"""Streams that accepted segments of a slot form, and the backward recursions that run over them (S2)."""

import torch
from torch import Tensor


def chain_segments(
    slot_id: Tensor, first_step: Tensor, horizon: int, first_valid: Tensor | None = None
) -> Tensor | None:
    """Which segment follows which: the same slot's, with consecutive steps (rule S2).

    None follows that begins with an invalid step: its game had failed, and what stands there is not what the
    step before led to, which that one's own bootstrap tells.

    Args:
        slot_id: [S] integer.
        first_step: [S] integer, the slot's own step counter at the segment's first step.
        horizon: steps per segment.
        first_valid: [S] bool, of each segment's first step; None: all are.

    Returns: [S] int64, the column of the successor, -1 at the end of a run; None when every run has length 1.
    """
    slots, steps = slot_id.long(), first_step.long()
    by_step = torch.argsort(steps, stable=True)
    order = by_step[torch.argsort(slots[by_step], stable=True)]
    slots, steps = slots[order], steps[order]
    follows = (slots[1:] == slots[:-1]) & (steps[1:] == steps[:-1] + horizon)
    if first_valid is not None:
        follows &= first_valid[order][1:]
    if not bool(follows.any()):
        return None
    successors = torch.full_like(order, -1)
    successors[order[:-1]] = torch.where(follows, order[1:], -1)
    return successors


def shifted(rows: Tensor, next_segment: Tensor | None, after: Tensor) -> Tensor:
    """The entries one step later in the stream.

    Args:
        rows: [T, S].
        next_segment: [S] int64 from `chain_segments`, or None.
        after: [S], what follows the last step of a segment without a successor.

    Returns: [T, S].
    """
    following = after if next_segment is None else _follow(rows[0], next_segment, after)
    return torch.cat((rows[1:], following.unsqueeze(0)))


def next_values(
    values: Tensor,
    final_values: Tensor,
    bootstrap_value: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    next_segment: Tensor | None,
) -> Tensor:
    """Value of what follows each step (rules E1, E2, E6): 0 where terminated, else V(final) where truncated.

    Args:
        values: [T, S] float32, V(observation before the step).
        final_values: [T, S] float32, V(final observation); read only where truncated and not terminated.
        bootstrap_value: [S] float32, rule E4; read only for segments without a successor.
        terminated, truncated: [T, S] bool.
        next_segment: [S] int64 from `chain_segments`, or None.

    Returns: [T, S] float32.
    """
    following = shifted(values, next_segment, bootstrap_value)
    return torch.where(truncated, final_values, following).masked_fill_(terminated, 0.0)


def discounted_sums(terms: Tensor, decay: Tensor, next_segment: Tensor | None) -> Tensor:
    """x_t = terms_t + decay_t * x_{t+1} over streams of segments; x is 0 after the end of a stream.

    Args:
        terms: [T, S] float32, finite.
        decay: [T, S] float32, 0 where nothing passes back.
        next_segment: [S] int64 from `chain_segments`, or None.

    Returns: [T, S] float32.
    """
    # Each segment alone first: one small operation per step, whatever the number of segments.
    sums = torch.empty_like(terms)
    rows, term_rows, decay_rows = sums.unbind(0), terms.unbind(0), decay.unbind(0)
    rows[-1].copy_(term_rows[-1])
    for t in range(len(rows) - 2, -1, -1):
        torch.addcmul(term_rows[t], decay_rows[t], rows[t + 1], out=rows[t])
    if next_segment is None:
        return sums
    # The recursion is linear: a carry from the successor adds (product of the decays from here on) * carry.
    weight = torch.cumprod(decay.flip(0), dim=0).flip(0)
    return sums.addcmul_(weight, _carries(sums[0], weight[0], next_segment))


def _follow(first: Tensor, next_segment: Tensor, otherwise: Tensor) -> Tensor:
    """`first` of each segment's successor, `otherwise` where there is none; [S] each."""
    return torch.where(next_segment >= 0, first[next_segment.clamp(min=0)], otherwise)


def _carries(first: Tensor, weight: Tensor, next_segment: Tensor) -> Tensor:
    """Sum at the first step of each segment's successor, 0 where there is none; [S].

    Runs are followed by pointer doubling, so a run of n segments takes log2(n) rounds.
    """
    # The successor's sum is first' + weight' * (its own carry): compose until every run has ended.
    zero = torch.zeros_like(first)
    offset, factor = _follow(first, next_segment, zero), _follow(weight, next_segment, zero)
    target = next_segment
    while bool((target >= 0).any()):
        offset = torch.addcmul(offset, factor, _follow(offset, target, zero))
        factor = factor * _follow(factor, target, zero)
        target = _follow(target, target, torch.full_like(target, -1))
    return offset
