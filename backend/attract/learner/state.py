"""Everything that training changes: how it starts, goes into checkpoints, and comes back (rule D2)."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments
from attract.errors import CheckpointError
from attract.learner.checkpoint import Checkpoint, Snapshot, weights_sha256
from attract.learner.update import create_optimizer
from attract.learner.verification import Tolerance
from attract.policy.network import Policy, build_policy
from attract.schema.game import GameDescription
from attract.schema.learner import Counters
from attract.schema.philox import derive_seed
from attract.settings import PolicySettings, PpoSettings

_STATISTICS = "observation_statistics"
_ADAM_KEYS = ("step", "exp_avg", "exp_avg_sq")


@dataclass(slots=True)
class TrainingState:
    """Weights, optimizer, statistics, random state and counters: owned by the learner's main thread alone."""

    policy: Policy
    optimizer: torch.optim.Adam
    generator: torch.Generator
    """Shuffles minibatches; on the CPU whatever the device."""
    statistics: Mapping[str, RunningMoments]
    """Of each entry that is normalised, seen so far (rule P7); the policy has those of its version."""
    policy_version: int = 0
    counters: Counters = field(default_factory=Counters)
    curriculum: dict[str, Any] = field(default_factory=dict[str, Any])
    tolerance: Tolerance = field(default_factory=Tolerance)

    @classmethod
    def create(
        cls,
        game: GameDescription,
        policy_settings: PolicySettings,
        ppo: PpoSettings,
        seed: int,
        device: torch.device,
    ) -> Self:
        """Version 0 of a new run; the same seed gives the same bits.

        Raises: ConfigurationError: when no network is built for the game's spaces.
        """
        policy = build_policy(
            policy_settings,
            game,
            normalize_observations=ppo.normalize_observations,
            seed=_number(seed, "policy_init"),
        ).to(device)
        return cls(
            policy=policy,
            optimizer=create_optimizer(policy, ppo.learning_rate),
            generator=torch.Generator().manual_seed(_number(seed, "shuffle")),
            statistics={
                key: RunningMoments.empty(tuple(normaliser.mean.shape))
                for key, normaliser in policy.normalisers.items()
            },
        )

    def weights_sha256(self) -> str:
        """Hash of the version's state dict: weights and normaliser."""
        return weights_sha256(self.policy.state_dict())

    def apply_statistics(self) -> None:
        """Let the policy normalise by what was gathered; only between versions (rule P7)."""
        self.policy.set_statistics(self.statistics)

    def snapshot(self, labels: Mapping[str, Any]) -> Snapshot:
        """The version as a checkpoint; `labels` are JSON values that are kept but never read back.

        Its document holds `weights_sha256`, the hash of the version's weights and normaliser.
        """
        policy = dict(self.policy.state_dict())
        for key, prefix in self._statistics_names().items():
            moments = self.statistics[key]
            policy[f"{prefix}.count"] = torch.tensor(moments.count, dtype=torch.float64)
            policy[f"{prefix}.mean"] = moments.mean
            policy[f"{prefix}.squared_deviations"] = moments.squared_deviations
        optimizer = {
            f"{name}/{key}": cast("Tensor", self.optimizer.state[parameter][key])
            for name, parameter in self.policy.named_parameters()
            for key in _ADAM_KEYS
            if parameter in self.optimizer.state
        }
        document = {
            "counters": self.counters.model_dump(),
            "curriculum": self.curriculum,
            "random_state": {
                "shuffle": base64.b64encode(self.generator.get_state().numpy().tobytes()).decode()
            },
            "verification": {
                "num_checks": self.tolerance.num_checks,
                "largest_difference": self.tolerance.largest_difference,
            },
            "weights_sha256": self.weights_sha256(),
            **labels,
        }
        return Snapshot.take(self.policy_version, policy, optimizer, document)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Become the state that was saved, bit for bit (rule D2).

        Raises: CheckpointError: when the network's shape differs, naming each tensor that does.
        """
        self.adopt(checkpoint)
        document = checkpoint.document
        try:
            self._restore_optimizer(checkpoint.optimizer)
            state = bytearray(base64.b64decode(document["random_state"]["shuffle"]))
            self.generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
            self.counters = Counters.model_validate(document["counters"])
            self.curriculum = document["curriculum"]
            self.tolerance = Tolerance(**document["verification"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            problem = f"it lacks or spoils what resuming needs: {type(error).__name__}: {error}"
            raise CheckpointError(str(checkpoint.path), problem) from error
        self.policy_version = checkpoint.policy_version

    def adopt(self, checkpoint: Checkpoint) -> None:
        """Take over weights and normaliser only: the start of another run.

        Raises: CheckpointError: when the network's shape differs, naming each tensor that does.
        """
        self.policy.load_state_dict(matching_state(checkpoint, self.policy))
        statistics: dict[str, RunningMoments] = {}
        for key, prefix in self._statistics_names().items():
            names = [f"{prefix}.{name}" for name in ("count", "mean", "squared_deviations")]
            if not checkpoint.policy.keys() >= set(names):
                raise CheckpointError(str(checkpoint.path), "it has a normaliser without its statistics")
            count, mean, squared = (checkpoint.policy[name] for name in names)
            statistics[key] = RunningMoments(float(count), mean, squared)
        self.statistics = statistics

    def _statistics_names(self) -> dict[str, str]:
        """What the names of each entry's statistics in a checkpoint begin with."""
        return {
            entry.key: f"{_STATISTICS}{entry.suffix}"
            for entry in self.policy.entries
            if entry.key in self.statistics
        }

    def _restore_optimizer(self, tensors: Mapping[str, Tensor]) -> None:
        saved = self.optimizer.state_dict()
        names = [name for name, _ in self.policy.named_parameters()]
        saved["state"] = {
            index: {key: tensors[f"{name}/{key}"].clone() for key in _ADAM_KEYS}
            for index, name in enumerate(names)
            if f"{name}/step" in tensors
        }
        self.optimizer.load_state_dict(saved)


def matching_state(checkpoint: Checkpoint, policy: Policy) -> dict[str, Tensor]:
    """The checkpoint's state dict, when it fits this network.

    Raises: CheckpointError: when it does not, naming each tensor.
    """
    saved = {name: tensor for name, tensor in checkpoint.policy.items() if not name.startswith(_STATISTICS)}
    wanted = policy.state_dict()
    problems = [
        f"{name}: this network has {_shape(wanted.get(name))}, the checkpoint {_shape(saved.get(name))}"
        for name in sorted(wanted.keys() | saved.keys())
        if _shape(wanted.get(name)) != _shape(saved.get(name))
    ]
    if problems:
        raise CheckpointError(str(checkpoint.path), "another network; " + "; ".join(problems))
    return saved


def description_sha256(game: GameDescription) -> str:
    """Identifies what a game says of itself."""
    return hashlib.sha256(json.dumps(game.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def _shape(tensor: Tensor | None) -> str:
    return "none" if tensor is None else str(list(tensor.shape))


def _number(run_seed: int, name: str) -> int:
    seed = derive_seed(run_seed, name)
    return seed.low | seed.high << 32
