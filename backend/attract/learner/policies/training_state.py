"""Everything that training changes: how it starts, goes into checkpoints, and comes back (rule D2)."""

import contextlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import torch

from attract.errors import CheckpointError
from attract.learner.algorithms.algorithm import AlgorithmChoice
from attract.learner.checkpoints.checkpoint import Checkpoint, Snapshot, weights_sha256
from attract.learner.checkpoints.tensor_namespaces import with_prefixes
from attract.learner.group.shares import Lineage
from attract.learner.policies.policy_state import PolicyState
from attract.schema.game import GameDescription
from attract.schema.learner import Counters
from attract.settings.collection import MAIN
from attract.settings.run import PolicySettings


@dataclass(slots=True)
class TrainingState:
    """All policies of a run, at one version, and its counters: owned by the learner's main thread alone."""

    policies: Mapping[str, PolicyState]
    """By policy id; in the order in which they are trained."""
    policy_version: int = 0
    counters: Counters = field(default_factory=Counters)
    curriculum: dict[str, Any] = field(default_factory=dict[str, Any])
    lineage: Lineage = field(default_factory=Lineage)
    """For a trainer that averages with others: which round its weights come from."""

    @classmethod
    def create(
        cls,
        game: GameDescription,
        policy_settings: PolicySettings,
        algorithm: AlgorithmChoice,
        seed: int,
        device: torch.device,
        policy_ids: Sequence[str] = (MAIN,),
    ) -> Self:
        """Version 0 of a new run; the same seed gives the same bits, and each of several policies its own.

        Raises: ConfigurationError: when no network is built for the game's spaces.
        """
        return cls(
            {
                policy_id: PolicyState.create(
                    game, policy_settings, algorithm, seed, device, policy_id if len(policy_ids) > 1 else None
                )
                for policy_id in policy_ids
            }
        )

    @property
    def needs_statistics(self) -> bool:
        """Whether some policy has seen nothing yet of what it is to normalise (rule P7)."""
        return any(
            seen.count == 0
            for policy in self.policies.values()
            for seen in policy.observation_statistics.values()
        )

    def weights_sha256(self) -> str:
        """Hash of the version's state dicts: weights and normalisers of all policies."""
        return weights_sha256(
            with_prefixes(
                {name: policy_state.policy.state_dict() for name, policy_state in self.policies.items()}
            )
        )

    def snapshot(self, labels: Mapping[str, Any]) -> Snapshot:
        """The version as a checkpoint; `labels` are JSON values that are kept but never read back.

        Its document holds `weights_sha256`, the hash of the version's weights and normalisers, and
        with several policies what is each one's own under `policies`.
        """
        states = {policy_id: policy_state.state() for policy_id, policy_state in self.policies.items()}
        own = {policy_id: dict(state.document) for policy_id, state in states.items()}
        document = {
            "counters": self.counters.model_dump(),
            "curriculum": self.curriculum,
            **({"lineage": asdict(self.lineage)} if self.lineage != Lineage() else {}),
            **(next(iter(own.values())) if len(own) == 1 else {"policies": own}),
            "weights_sha256": self.weights_sha256(),
            **labels,
        }
        return Snapshot.take(
            self.policy_version,
            with_prefixes({policy_id: state.tensors for policy_id, state in states.items()}),
            with_prefixes({policy_id: state.optimizer for policy_id, state in states.items()}),
            document,
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Become the state that was saved, bit for bit (rule D2).

        Raises: CheckpointError: when it has other policies or networks, naming what differs.
        """
        for policy_id, part in self.parts(checkpoint).items():
            policy_state = self.policies[policy_id]
            policy_state.adopt(part)
            with _reading(checkpoint):
                policy_state.restore(part)
        with _reading(checkpoint):
            self.counters = Counters.model_validate(checkpoint.document["counters"])
            self.curriculum = checkpoint.document["curriculum"]
            self.lineage = Lineage(**checkpoint.document.get("lineage", {}))
        self.policy_version = checkpoint.policy_version

    def adopt(self, checkpoint: Checkpoint) -> None:
        """Take over weights and normalisers only: the start of another run.

        Each policy takes those of its name; where the checkpoint holds a sole policy, all begin as that one.

        Raises: CheckpointError: when it has none of that name, or its shape differs, naming each tensor.
        """
        for policy_id, policy_state in self.policies.items():
            policy_state.adopt(checkpoint.part(policy_id) if checkpoint.policy_ids else checkpoint)

    def parts(self, checkpoint: Checkpoint) -> dict[str, Checkpoint]:
        """The part of each policy in a checkpoint of this run.

        Raises: CheckpointError: when it holds other policies than this run has.
        """
        names = list(self.policies)
        if len(names) == 1 and not checkpoint.policy_ids:
            return {names[0]: checkpoint}
        if sorted(checkpoint.policy_ids) != sorted(names):
            held = ", ".join(checkpoint.policy_ids) or "one for all agents"
            raise CheckpointError(
                str(checkpoint.path),
                f"other policies; this run has {', '.join(names)}, the checkpoint {held}",
            )
        return {policy_id: checkpoint.part(policy_id) for policy_id in names}


@contextlib.contextmanager
def _reading(checkpoint: Checkpoint) -> Generator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        problem = f"fields for resuming are missing or damaged: {type(error).__name__}: {error}"
        raise CheckpointError(str(checkpoint.path), problem) from error
