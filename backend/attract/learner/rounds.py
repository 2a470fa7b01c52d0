"""Rounds of federated averaging as they change a trainer's state; between an update and its version."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from attract.learner.federated import FederatedAveraging, Share
from attract.learner.state import TrainingState


def join(state: TrainingState, averaging: FederatedAveraging) -> None:
    """Begin with the weights that everybody begins with; before version 0.

    Raises: FederationError: when the others are not there, or do not begin.
    """
    _load_weights(state, averaging.join(_share_of(state)).weights)


def average(state: TrainingState, averaging: FederatedAveraging, rounds: Sequence[int]) -> None:
    """Do these rounds, in order: weights, Adam's state and observation statistics become the average.

    Once averaging is over, nothing changes any more.

    Raises: FederationError: when the others are not there; then the state is as it was before that round.
    """
    federated = state.federated
    if federated is None:
        raise RuntimeError("expected a state that averages with others, this one is alone")
    for number in rounds:
        result = averaging.average(number, _share_of(state))
        if result is None:
            return
        _load_weights(state, result.weights)
        state.restore_optimizer(result.optimizer)
        federated.take_in(result.gathered)
        state.statistics = federated.common
        state.apply_statistics()


def _share_of(state: TrainingState) -> Share:
    gathered = {} if state.federated is None else state.federated.own
    return Share(dict(state.policy.named_parameters()), state.optimizer_tensors(), gathered)


def _load_weights(state: TrainingState, weights: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in state.policy.named_parameters():
            parameter.copy_(weights[name])
