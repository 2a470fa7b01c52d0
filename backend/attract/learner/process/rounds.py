"""Rounds of federated averaging as they change a trainer's state; between an update and its version."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from attract.learner.checkpoints.tensor_namespaces import strip_prefix, with_prefixes
from attract.learner.group.averaging import Averaging
from attract.learner.group.shares import FederatedStatistics, Share
from attract.learner.policies.training_state import TrainingState


def join(state: TrainingState, averaging: Averaging) -> None:
    """Begin with the weights that all trainers begin with; before version 0.

    Raises: FederationError: when the others are not there, or do not begin.
    """
    begun = averaging.join(_share_of(state))
    _load_weights(state, begun.share.weights)
    state.lineage = begun.lineage


def average(state: TrainingState, averaging: Averaging, rounds: Sequence[int]) -> tuple[int, ...]:
    """Do these rounds: weights, Adam's state and observation statistics become the average.

    All policies of a run are averaged in one round, each with its namesakes.

    Returns: whose shares are in the last round, by rank; empty when none was due.
    Raises: FederationError: when the others train something else; the state is as before that round.
    """
    federated = _federated(state)
    trainers: tuple[int, ...] = ()
    for _ in rounds:
        outcome = averaging.average(_share_of(state), state.lineage)
        result, trainers, state.lineage = outcome.share, outcome.trainers, outcome.lineage
        _load_weights(state, result.weights)
        names = list(state.policies)
        for policy_id, policy_state in state.policies.items():
            algorithm = policy_state.algorithm
            optimizer = strip_prefix(result.optimizer, policy_id, names)
            algorithm.load_state(replace(algorithm.state(), optimizer=optimizer))
            federated[policy_id].take_in(strip_prefix(result.common, policy_id, names))
            policy_state.statistics = federated[policy_id].common
            policy_state.apply_statistics()
    return trainers


def _federated(state: TrainingState) -> dict[str, FederatedStatistics]:
    found = {
        name: policy_state.federated
        for name, policy_state in state.policies.items()
        if policy_state.federated is not None
    }
    if len(found) < len(state.policies):
        raise RuntimeError("expected a state that averages with others, this one is alone")
    return found


def _share_of(state: TrainingState) -> Share:
    policies = state.policies.items()
    return Share(
        with_prefixes(
            {policy_id: dict(policy_state.policy.named_parameters()) for policy_id, policy_state in policies}
        ),
        with_prefixes(
            {policy_id: policy_state.algorithm.state().optimizer for policy_id, policy_state in policies}
        ),
        with_prefixes(
            {
                name: {} if policy_state.federated is None else policy_state.federated.own
                for name, policy_state in policies
            }
        ),
        with_prefixes(
            {
                name: {} if policy_state.federated is None else policy_state.federated.common
                for name, policy_state in policies
            }
        ),
    )


def _load_weights(state: TrainingState, weights: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for policy_id, policy_state in state.policies.items():
            own = strip_prefix(weights, policy_id, list(state.policies))
            for name, parameter in policy_state.policy.named_parameters():
                parameter.copy_(own[name])
