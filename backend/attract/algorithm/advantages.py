"""Advantages over the streams that accepted segments form: GAE, and V-trace for lagged experience."""

import torch
from torch import Tensor

from attract.algorithm.streams import discounted_sums, next_values, shifted


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
        next_segment: [S] int64, successor's column or -1, from `chain_segments`; None: no successors.
        gamma: discount per step (not per tick), in [0, 1].
        gae_lambda: in [0, 1].

    Returns: [T, S] float32, not normalised.
    Raises: ValueError: when shapes do not fit each other.
    Source: Schulman et al. 2016 (arXiv:1506.02438), section 3; truncation after Pardo et al. 2018
        (arXiv:1712.00378); rules E6, S2, S5.
    """
    _check_shapes(rewards, values, final_values, bootstrap_value, valid)
    following = next_values(values, final_values, bootstrap_value, terminated, truncated, next_segment)
    deltas = _differences(rewards, values, following, valid, gamma)
    decay = _decay(rewards, terminated, truncated, valid, gamma * gae_lambda)
    return discounted_sums(deltas, decay, next_segment)


def vtrace_from_segments(
    ratios: Tensor,
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
    rho_max: float,
    c_max: float,
) -> tuple[Tensor, Tensor]:
    """V-trace targets and advantages over streams of segments, for experience of an earlier version (P9).

        delta_t = r_t + gamma * next_v_t - V_t
        c_t = gae_lambda * min(c_max, ratio_t)
        v_t - V_t = min(rho_max, ratio_t) * delta_t + gamma * (1 - cut_t) * c_t * (v_{t+1} - V_{t+1})
        A_t = r_t + gamma * (gae_lambda * v_{t+1} + (1 - gae_lambda) * V_{t+1}) - V_t

    At a cut and at a stream's end both v_{t+1} and V_{t+1} are `next_v_t`, which is that of
    `advantages_from_segments`, as are streams, cuts and invalid steps. The advantage has no factor rho: PPO's
    own ratio stands for it. With all ratios 1 it is GAE, and the targets are GAE + V.

    Args:
        ratios: [T, S] float32, pi_start(a|s) / pi_behaviour(a|s); numbers of invalid steps do not matter.
        values, final_values, bootstrap_value: under the policy of pi_start.
        rho_max, c_max: > 0, clip the ratio of the correction and of the trace.
        rewards, terminated, truncated, valid, next_segment, gamma, gae_lambda: as in
            `advantages_from_segments`.

    Returns: advantages, not normalised, and value targets v_t; [T, S] float32 each.
    Raises: ValueError: when shapes do not fit each other.
    Source: Espeholt et al. 2018 (arXiv:1802.01561), section 4.1 with remark 2 (lambda); rule P9.
    """
    _check_shapes(rewards, values, final_values, bootstrap_value, valid)
    following = next_values(values, final_values, bootstrap_value, terminated, truncated, next_segment)
    deltas = _differences(rewards, values, following, valid, gamma)
    decay = _decay(rewards, terminated, truncated, valid, gamma * gae_lambda)
    ratios = torch.where(valid, ratios, 0.0)
    corrections = discounted_sums(
        ratios.clamp(max=rho_max) * deltas, ratios.clamp(max=c_max) * decay, next_segment
    )
    later = shifted(corrections, next_segment, torch.zeros_like(bootstrap_value))
    return torch.addcmul(deltas, decay, later), values + corrections


def _differences(rewards: Tensor, values: Tensor, following: Tensor, valid: Tensor, gamma: float) -> Tensor:
    """The deltas: r + gamma * next_v - v, 0 where invalid."""
    return torch.add(rewards - values, following, alpha=gamma).masked_fill_(~valid, 0.0)


def _decay(
    rewards: Tensor, terminated: Tensor, truncated: Tensor, valid: Tensor, gamma_lambda: float
) -> Tensor:
    """Factor of the recursion: gamma * lambda, 0 where the recursion is cut (E6) and where invalid."""
    decay = torch.full_like(rewards, gamma_lambda)
    return decay.masked_fill_(terminated | truncated | ~valid, 0.0)


def _check_shapes(
    rewards: Tensor, values: Tensor, final_values: Tensor, bootstrap_value: Tensor, valid: Tensor
) -> None:
    for name, array in (("values", values), ("final_values", final_values), ("valid", valid)):
        if array.shape != rewards.shape:
            raise ValueError(f"expected {name} of shape {tuple(rewards.shape)}, got {tuple(array.shape)}")
    num_segments = rewards.shape[1]
    if bootstrap_value.shape != (num_segments,):
        raise ValueError(
            f"expected bootstrap_value of shape ({num_segments},), got {tuple(bootstrap_value.shape)}"
        )
