"""Policies for tests: any spaces and settings in one line."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attract.learner.checkpoints.checkpoint import Snapshot, write_checkpoint
from attract.learner.checkpoints.tensor_namespaces import with_prefixes
from attract.policy.network import Policy, build_policy
from attract.policy.observation_inputs import Observations
from attract.policy.parity import probe
from attract.schema.game import GameDescription
from attract.schema.spaces import ActionSpace, BoxSpace, DiscreteSpace, ObservationSpace
from attract.settings.run import PolicySettings


def describe(
    observation: ObservationSpace | None = None,
    action: ActionSpace | None = None,
    *,
    action_mask: bool = False,
) -> GameDescription:
    """A game of one tick per step; by default four floats and three actions."""
    return GameDescription(
        id="Test-v1",
        tick_seconds=0.1,
        seconds_per_step=0.1,
        ticks_per_step=1,
        max_seconds=None,
        max_steps=None,
        observation=observation or BoxSpace(shape=[4]),
        action=action or DiscreteSpace(n=3),
        action_mask=action_mask,
    )


def create_policy(
    observation: ObservationSpace | None = None,
    action: ActionSpace | None = None,
    *,
    normalize: bool = True,
    seed: int = 1,
    num_bins: int = 0,
    **settings: Any,
) -> Policy:
    """A policy for `describe(observation, action)`; `settings` are those of `PolicySettings`."""
    return build_policy(
        PolicySettings(**settings),
        describe(observation, action),
        normalize_observations=normalize,
        num_bins=num_bins,
        seed=seed,
    )


def randomise(policy: Policy, seed: int) -> None:
    """Weights that give lopsided outputs, statistics that are not the identity, no tensor of zeros."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in policy.state_dict().items():
        # A wide layer's inputs add up: noise that keeps outputs of the order of 1.
        wide = max(1, tensor[0].numel()) if tensor.dim() > 1 else 4
        noise = torch.randn(tensor.shape, generator=generator) / wide**0.5
        tensor.copy_(1.0 + 0.25 * noise.abs() if name.endswith("inv_std") else noise)


def observations_for(policy: Policy, count: int | None = None) -> Observations:
    """Random observations that fit, 64 unless told; the same whatever the policy's statistics are."""
    plain = copy.deepcopy(policy)
    for normaliser in plain.normalisers.values():
        normaliser.set_statistics(torch.zeros(normaliser.mean.shape), torch.ones(normaliser.mean.shape))
    return {key: array[:count] for key, array in probe(plain).items()}


def normal_numbers(*shape, seed=5):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_as_reference(distribution, reference, outputs, actions, mask=None):
    """Compares log-probabilities, entropies and their gradients with those of a torch distribution."""
    ours, theirs = outputs.clone().requires_grad_(), outputs.clone().requires_grad_()
    log_probs, entropies = distribution.log_prob_and_entropy(ours, actions, mask)
    expected = reference(theirs)
    torch.testing.assert_close(log_probs, expected[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(entropies, expected[1], rtol=1e-5, atol=1e-6)
    # Different weights per row, so that no row's gradient can hide another's.
    weights = torch.arange(1.0, len(log_probs) + 1)
    (weights @ log_probs + 0.5 * (weights @ entropies)).backward()
    (weights @ expected[0] + 0.5 * (weights @ expected[1])).backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


def save_version(checkpoints: Path, version: int, parts: Mapping[str, Mapping[str, Tensor]]) -> Path:
    """A checkpoint of these state dicts, by policy id, with what algorithms keep beside them."""
    whole = {
        policy_id: {
            **state,
            "observation_statistics.count": state["value_head.bias"].double(),
            "exploration.weight": state["value_head.bias"],
        }
        for policy_id, state in parts.items()
    }
    document: dict[str, Any] = {"counters": {}}
    if len(parts) > 1:
        document["policies"] = {policy_id: {} for policy_id in parts}
    return write_checkpoint(checkpoints, Snapshot.take(version, with_prefixes(whole), {}, document))
