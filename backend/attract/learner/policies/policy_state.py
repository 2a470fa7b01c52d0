"""The state of one policy that training changes: created, saved in checkpoints, restored (rule D2)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Self

import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments
from attract.errors import CheckpointError
from attract.learner.algorithms.algorithm import (
    ALGORITHM_PREFIXES,
    Algorithm,
    AlgorithmChoice,
    AlgorithmState,
    Learnable,
    stream_seed,
)
from attract.learner.checkpoints.checkpoint import Checkpoint
from attract.learner.checkpoints.state_tensors import moments_of, moments_tensors
from attract.learner.group.shares import FederatedStatistics
from attract.learner.verification import Tolerance
from attract.policy.network import Policy, build_distribution, build_policy
from attract.schema.game import GameDescription
from attract.settings.run import PolicySettings

_STATISTICS = "observation_statistics"
_ALL, _COMMON, _OWN = "", "_common", "_own"
_OF_ALGORITHM = "//"
"""Prefix of the algorithm's own moments; keys of observation entries never begin with it."""


@dataclass(slots=True)
class PolicyState:
    """Weights, statistics and the algorithm's state of one policy: owned by the learner's main thread."""

    policy: Policy
    algorithm: Algorithm
    observation_statistics: Mapping[str, RunningMoments]
    """Statistics of each normalised entry, seen so far (rule P7); the policy has those of its version."""
    tolerance: Tolerance = field(default_factory=Tolerance)
    federated: FederatedStatistics | None = None
    """Origin of the statistics, for a trainer that averages with others."""

    @classmethod
    def create(
        cls,
        game: GameDescription,
        policy_settings: PolicySettings,
        algorithm: AlgorithmChoice,
        seed: int,
        device: torch.device,
        policy_id: str | None = None,
    ) -> Self:
        """Version 0; the same seed gives the same bits.

        Args:
            policy_id: of one among several, which gives it random streams of its own; None: the sole one.

        Raises: ConfigurationError: when no network is built for the game's spaces.
        """
        own = "" if policy_id is None else f"/{policy_id}"
        policy = build_policy(
            policy_settings,
            game,
            normalize_observations=algorithm.normalize_observations,
            num_bins=algorithm.num_bins,
            seed=stream_seed(seed, f"policy_init{own}"),
        ).to(device)
        return cls(
            policy=policy,
            algorithm=algorithm.create(
                Learnable(policy, build_distribution(game), seed, policy_id, game.num_agents)
            ),
            observation_statistics={
                key: RunningMoments.empty(tuple(normaliser.mean.shape))
                for key, normaliser in policy.normalisers.items()
            },
        )

    @property
    def statistics(self) -> dict[str, RunningMoments]:
        """All running moments that averaging merges: of observation entries, and the algorithm's own."""
        own = {f"{_OF_ALGORITHM}{name}": seen for name, seen in self.algorithm.moments.items()}
        return {**self.observation_statistics, **own}

    @statistics.setter
    def statistics(self, moments: Mapping[str, RunningMoments]) -> None:
        self.observation_statistics = {key: moments[key] for key in self.observation_statistics}
        self.algorithm.moments = {name: moments[f"{_OF_ALGORITHM}{name}"] for name in self.algorithm.moments}

    def apply_statistics(self) -> None:
        """Let the policy normalise by what was gathered; only between versions (rule P7)."""
        self.policy.set_statistics(self.observation_statistics)

    def gather(self, observed: Mapping[str, RunningMoments]) -> None:
        """More was seen, and the algorithm's last update counts (rules P7, P11); the next version goes by it.

        A key that is left out has seen nothing.
        """
        own = self.algorithm.commit()
        moments = {**observed, **{f"{_OF_ALGORITHM}{name}": seen for name, seen in own.items()}}
        self.statistics = _merged(self.statistics, moments)
        if self.federated is not None:
            self.federated.add(moments)
        self.apply_statistics()

    def begin_federated(self) -> None:
        """From now on keep this trainer's statistics apart from those of all."""
        empty = {key: RunningMoments.empty(tuple(seen.mean.shape)) for key, seen in self.statistics.items()}
        self.federated = FederatedStatistics(common=empty, own=empty)

    def state(self) -> AlgorithmState:
        """Its part of a checkpoint: the algorithm's state, with weights and all statistics. Not copied."""
        own = self.algorithm.state()
        tensors = dict(self.policy.state_dict())
        tensors |= self._to_tensors(_ALL, self.statistics)
        if self.federated is not None:
            tensors |= self._to_tensors(_COMMON, self.federated.common)
            tensors |= self._to_tensors(_OWN, self.federated.own)
        document = {**own.document, "verification": asdict(self.tolerance)}
        return replace(own, tensors={**tensors, **own.tensors}, document=document)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over what `adopt` leaves out: the algorithm's own state, and the tolerance.

        Raises: KeyError, TypeError, ValueError, RuntimeError: when something of it is missing or spoilt.
        """
        self.algorithm.load_state(
            AlgorithmState(checkpoint.policy, checkpoint.optimizer, checkpoint.document)
        )
        self.tolerance = Tolerance(**checkpoint.document["verification"])
        if self.federated is None:
            return
        own = self._from_tensors(_OWN, checkpoint.policy)
        common = self._from_tensors(_COMMON, checkpoint.policy)
        if own is None or common is None:
            # It trained alone until now: all that it has seen is its own.
            self.federated.add(self.statistics)
        else:
            self.federated = FederatedStatistics(common, own)

    def adopt(self, checkpoint: Checkpoint) -> None:
        """Take over weights and normaliser only.

        Raises: CheckpointError: when the network's shape differs, naming each tensor that does.
        """
        self.policy.load_state_dict(matching_state(checkpoint, self.policy))
        statistics = self._from_tensors(_ALL, checkpoint.policy)
        if statistics is None:
            raise CheckpointError(str(checkpoint.path), "it has a normaliser without its statistics")
        self.statistics = statistics

    def _to_tensors(self, whose: str, moments: Mapping[str, RunningMoments]) -> dict[str, Tensor]:
        """Moments of each entry, by the names they have in a checkpoint."""
        tensors: dict[str, Tensor] = {}
        for key, name in self._names(whose).items():
            tensors |= moments_tensors(name, moments[key])
        return tensors

    def _from_tensors(self, whose: str, tensors: Mapping[str, Tensor]) -> dict[str, RunningMoments] | None:
        """The inverse of `_to_tensors`; None when a tensor is missing.

        An algorithm's own tensors may be missing: another one, or other settings, made the checkpoint.
        """
        moments: dict[str, RunningMoments] = {}
        for key, start in self._names(whose).items():
            found = moments_of(start, tensors)
            if found is None and not key.startswith(_OF_ALGORITHM):
                return None
            moments[key] = found or RunningMoments.empty(tuple(self.statistics[key].mean.shape))
        return moments

    def _names(self, whose: str) -> dict[str, str]:
        """Prefix of each key's moments in a checkpoint."""
        names = {
            entry.key: f"{_STATISTICS}{whose}{entry.suffix}"
            for entry in self.policy.entries
            if entry.key in self.observation_statistics
        }
        return names | {f"{_OF_ALGORITHM}{name}": f"{name}{whose}" for name in self.algorithm.moments}


def _merged(
    seen: Mapping[str, RunningMoments], more: Mapping[str, RunningMoments]
) -> dict[str, RunningMoments]:
    return {key: moments.merge(more[key]) if key in more else moments for key, moments in seen.items()}


def matching_state(checkpoint: Checkpoint, policy: Policy) -> dict[str, Tensor]:
    """The checkpoint's state dict, when it fits this network.

    Raises: CheckpointError: when it does not, naming each tensor.
    """
    wanted = policy.state_dict()
    saved = {name: tensor for name, tensor in checkpoint.policy.items() if _is_of_network(name)}
    problems = [
        f"{name}: this network has {_shape(wanted.get(name))}, the checkpoint {_shape(saved.get(name))}"
        for name in sorted(wanted.keys() | saved.keys())
        if _shape(wanted.get(name)) != _shape(saved.get(name))
    ]
    if problems:
        raise CheckpointError(str(checkpoint.path), "another network; " + "; ".join(problems))
    return saved


def _is_of_network(name: str) -> bool:
    """Statistics and what algorithms keep have names with these beginnings; no part of a network does."""
    return not name.startswith((_STATISTICS, *ALGORITHM_PREFIXES))


def _shape(tensor: Tensor | None) -> str:
    return "none" if tensor is None else str(list(tensor.shape))
