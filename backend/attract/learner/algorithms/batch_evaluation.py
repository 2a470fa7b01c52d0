"""Log-probabilities and values of a whole batch under a policy's weights, without gradient."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.experience.batch import (
    Batch,
    Finals,
    finite_where_invalid,
    start_states,
)
from attract.policy.network import Policy
from attract.policy.precision import full_precision

CHUNK_STEPS = 32_768
"""Steps per pass through the network, at most: more at once are no faster."""
CHUNK_BYTES = 256 << 20
"""About what a pass may take for observations and activations; a pass is of one whole segment at least."""
ACTIVATION_COPIES = 2
"""Copies of a layer's output that exist at a time: before and after its non-linearity."""


@dataclass(frozen=True, slots=True)
class BatchEvaluation:
    """Numbers of one batch under one set of weights, in the batch's own places."""

    log_probs: Tensor
    """[T, S] float32, of the actions that were taken; numbers of invalid steps mean nothing."""
    values: Tensor
    """[T, S] float32."""
    final_values: Tensor
    """[T, S] float32, where an episode was truncated; elsewhere as the batch has them."""
    bootstrap_value: Tensor
    """[S] float32, rule E4."""
    next_states: Tensor
    """[S, state_size] float32, with which the slot's next segment begins (rules S3, S4)."""


@torch.no_grad()
@full_precision()
def evaluate_batch(
    policy: Policy, distribution: ActionDistribution, batch: Batch, *, from_zero: bool = False
) -> BatchEvaluation:
    """Log-probabilities and values of the batch under the policy's weights (rules C7, P4, P9).

    A recurrent policy is unrolled along each segment from its stored state (rules S3, S4). Final and
    bootstrap observations are read with the state after the step before them, without advancing it (rule E4).

    Args:
        policy: on the device of `batch`; not changed.
        distribution: of the game's actions.
        batch: with its bootstrap and final observations.
        from_zero: unroll from zeros instead of the stored states.
    """
    states = start_states(batch, policy.state_size, from_zero=from_zero)
    log_probs, values = torch.empty_like(batch.log_prob), torch.empty_like(batch.value)
    final_values, bootstrap = batch.final_value.clone(), torch.empty_like(batch.bootstrap_value)
    reset_after, next_states = batch.reset_after, torch.empty_like(states)
    num_steps, num_segments = batch.valid.shape
    for chosen in _chunks(num_steps, num_segments, step_bytes(policy, batch)):
        valid = batch.valid[:, chosen]
        observations = {key: array[:, chosen] for key, array in batch.observation.items()}
        preprocessed = policy.preprocess(finite_where_invalid(observations, valid))
        resets = reset_after[:, chosen]
        outputs, values[:, chosen], after = policy.unroll(preprocessed, states[chosen], resets)
        log_probs[:, chosen] = _log_probs(distribution, outputs, batch, chosen)
        carried = next_states[chosen] = after[-1].masked_fill(resets[-1].unsqueeze(1), 0.0)
        next_observations = {key: array[chosen] for key, array in batch.bootstrap_observation.items()}
        bootstrap[chosen] = policy.values_at(policy.preprocess(next_observations), carried)
        if batch.finals is not None:
            _read_finals(policy, batch.finals, chosen, after, final_values)
    # Rule E4: after a truncation the final observation's value, after a termination none.
    bootstrap = torch.where(batch.truncated[-1], final_values[-1], bootstrap)
    bootstrap = bootstrap.masked_fill_(batch.terminated[-1], 0.0)
    return BatchEvaluation(log_probs, values, final_values, bootstrap, next_states)


def _chunks(num_steps: int, num_segments: int, bytes_per_step: int) -> Iterator[slice]:
    num_at_once = min(CHUNK_STEPS, CHUNK_BYTES // bytes_per_step)
    size = max(1, num_at_once // num_steps)
    for start in range(0, num_segments, size):
        yield slice(start, min(start + size, num_segments))


@torch.no_grad()
def step_bytes(policy: Policy, batch: Batch) -> int:
    """About what one step's observation and activations take in a pass, in bytes; measured on one step."""
    sample = {key: array[:1, 0] for key, array in batch.observation.items()}
    preprocessed = policy.preprocess(sample)
    num_numbers = sum(array.numel() for array in preprocessed.values())

    def count(_module: torch.nn.Module, _inputs: object, output: object) -> None:
        nonlocal num_numbers
        if isinstance(output, Tensor):
            num_numbers += output.numel()

    leaves = [module for module in policy.modules() if not any(module.children())]
    hooks = [leaf.register_forward_hook(count) for leaf in leaves]
    try:
        policy.step(preprocessed, torch.zeros(1, policy.state_size, device=batch.valid.device))
    finally:
        for hook in hooks:
            hook.remove()
    return 4 * ACTIVATION_COPIES * max(1, num_numbers)


def _log_probs(distribution: ActionDistribution, outputs: Tensor, batch: Batch, chosen: slice) -> Tensor:
    valid, actions = batch.valid[:, chosen], batch.action[:, chosen]
    # An invalid step may hold any action; 0 exists in every space.
    actions = actions.masked_fill(~valid.view(*valid.shape, *(1,) * (actions.dim() - 2)), 0).flatten(0, 1)
    mask = None if batch.action_mask is None else batch.action_mask[:, chosen].flatten(0, 1)
    if not actions.is_floating_point():
        actions = actions.long()
    return distribution.log_prob_and_entropy(outputs.flatten(0, 1), actions, mask)[0].view(valid.shape)


def _read_finals(policy: Policy, finals: Finals, chosen: slice, after: Tensor, final_values: Tensor) -> None:
    """Write the values of the chosen segments' final observations into `final_values`."""
    mine = ((finals.column >= chosen.start) & (finals.column < chosen.stop)).nonzero().squeeze(1)
    if mine.numel() == 0:
        return
    step, column = finals.step[mine], finals.column[mine]
    preprocessed = policy.preprocess({key: array[mine] for key, array in finals.observation.items()})
    final_values[step, column] = policy.values_at(preprocessed, after[step, column - chosen.start])
