"""Rounds of federated averaging as they change a trainer's state; between an update and its version."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from attract.learner.federated import FederatedAveraging, FederatedStatistics, Share
from attract.learner.shared_names import joined, part_of
from attract.learner.state import TrainingState


def join(state: TrainingState, averaging: FederatedAveraging) -> None:
    """Begin with the weights that everybody begins with; before version 0.

    Raises: FederationError: when the others are not there, or do not begin.
    """
    _load_weights(state, averaging.join(_share_of(state)).weights)


def average(state: TrainingState, averaging: FederatedAveraging, rounds: Sequence[int]) -> None:
    """Do these rounds, in order: weights, Adam's state and observation statistics become the average.

    All policies of a run are averaged in one round, each with its namesakes. Once averaging is over, nothing
    changes any more.

    Raises: FederationError: when the others are not there; then the state is as it was before that round.
    """
    federated = _federated(state)
    for number in rounds:
        result = averaging.average(number, _share_of(state))
        if result is None:
            return
        _load_weights(state, result.weights)
        names = list(state.policies)
        for policy_id, one in state.policies.items():
            one.restore_optimizer(part_of(result.optimizer, policy_id, names))
            federated[policy_id].take_in(part_of(result.gathered, policy_id, names))
            one.statistics = federated[policy_id].common
            one.apply_statistics()


def _federated(state: TrainingState) -> dict[str, FederatedStatistics]:
    found = {name: one.federated for name, one in state.policies.items() if one.federated is not None}
    if len(found) < len(state.policies):
        raise RuntimeError("expected a state that averages with others, this one is alone")
    return found


def _share_of(state: TrainingState) -> Share:
    policies = state.policies.items()
    return Share(
        joined({policy_id: dict(one.policy.named_parameters()) for policy_id, one in policies}),
        joined({policy_id: one.optimizer_tensors() for policy_id, one in policies}),
        joined({name: {} if one.federated is None else one.federated.own for name, one in policies}),
    )


def _load_weights(state: TrainingState, weights: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for policy_id, one in state.policies.items():
            own = part_of(weights, policy_id, list(state.policies))
            for name, parameter in one.policy.named_parameters():
                parameter.copy_(own[name])
