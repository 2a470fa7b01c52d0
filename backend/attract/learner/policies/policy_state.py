"""What training changes of one policy: how it starts, goes into checkpoints, and comes back (rule D2)."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor

from attract.algorithm.normalisation import RunningMoments
from attract.errors import CheckpointError
from attract.learner.checkpoints.checkpoint import Checkpoint
from attract.learner.checkpoints.state_tensors import (
    adam_tensors,
    moments_of,
    moments_tensors,
    restore_adam,
    within,
)
from attract.learner.federated.averaging import FederatedStatistics
from attract.learner.ppo.novelty import RandomNetworkDistillation
from attract.learner.ppo.reward_history import RewardHistory
from attract.learner.ppo.reward_scale import SlotReturns
from attract.learner.ppo.update import create_optimizer
from attract.learner.verification import Tolerance
from attract.policy.network import Policy, build_policy
from attract.schema.game import GameDescription
from attract.schema.philox import derive_seed
from attract.settings.run import PolicySettings, PpoSettings

_STATISTICS, _RETURNS = "observation_statistics", "return_statistics"
_ALL, _COMMON, _OWN = "", "_common", "_own"
_SLOTS = f"{_RETURNS}.slots."
_NOVELTY = "exploration."
RETURNS = "//returns"
"""Key of the moments of discounted returns beside those of observation entries; no entry is called so."""


@dataclass(slots=True)
class PolicyState:
    """Weights, optimizer, statistics and random state of one policy: owned by the learner's main thread."""

    policy: Policy
    optimizer: torch.optim.Adam
    generator: torch.Generator
    """Shuffles minibatches; on the CPU whatever the device."""
    statistics: Mapping[str, RunningMoments]
    """Of each entry that is normalised, seen so far (rule P7); the policy has those of its version. Under
    `RETURNS` those of discounted returns, where rewards are scaled by them (rule P11)."""
    slot_returns: SlotReturns = field(default_factory=SlotReturns)
    rewards: RewardHistory | None = None
    """None before there was one."""
    tolerance: Tolerance = field(default_factory=Tolerance)
    novelty: RandomNetworkDistillation | None = None
    """What pays for the unseen, where that is asked for."""
    federated: FederatedStatistics | None = None
    """Where the statistics come from, for a trainer that averages with others."""

    @classmethod
    def create(
        cls,
        game: GameDescription,
        policy_settings: PolicySettings,
        ppo: PpoSettings,
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
            normalize_observations=ppo.normalize_observations,
            seed=_number(seed, f"policy_init{own}"),
        ).to(device)
        return cls(
            policy=policy,
            optimizer=create_optimizer(policy, ppo.learning_rate),
            generator=torch.Generator().manual_seed(_number(seed, f"shuffle{own}")),
            statistics={
                key: RunningMoments.empty(tuple(normaliser.mean.shape))
                for key, normaliser in policy.normalisers.items()
            }
            | ({RETURNS: RunningMoments.empty(())} if ppo.normalize_rewards else {}),
            novelty=RandomNetworkDistillation(
                policy.entries,
                torch.Generator().manual_seed(_number(seed, f"exploration{own}")),
                device,
            )
            if ppo.exploration == "rnd"
            else None,
        )

    def apply_statistics(self) -> None:
        """Let the policy normalise by what was gathered; only between versions (rule P7)."""
        self.policy.set_statistics(self.observation_statistics)

    @property
    def observation_statistics(self) -> dict[str, RunningMoments]:
        """Those that belong to the policy's version, and to its graph."""
        return {key: seen for key, seen in self.statistics.items() if key != RETURNS}

    def gather(self, moments: Mapping[str, RunningMoments]) -> None:
        """More was seen (rules P7, P11); the next version normalises by it too.

        A key that is left out has seen nothing.
        """
        self.statistics = _merged(self.statistics, moments)
        if self.federated is not None:
            self.federated.add(moments)
        self.apply_statistics()

    def begin_federated(self) -> None:
        """From now on keep apart what this trainer has seen and what all have seen."""
        empty = {key: RunningMoments.empty(tuple(seen.mean.shape)) for key, seen in self.statistics.items()}
        self.federated = FederatedStatistics(common=empty, own=empty)

    def tensors(self) -> dict[str, Tensor]:
        """State dict and observation statistics, as a checkpoint names them. Not copied."""
        tensors = dict(self.policy.state_dict())
        tensors |= self._to_tensors(_ALL, self.statistics)
        if self.federated is not None:
            tensors |= self._to_tensors(_COMMON, self.federated.common)
            tensors |= self._to_tensors(_OWN, self.federated.own)
        if RETURNS in self.statistics:
            tensors |= {f"{_SLOTS}{name}": tensor for name, tensor in self.slot_returns.tensors().items()}
        if self.novelty is not None:
            tensors |= {f"{_NOVELTY}{name}": tensor for name, tensor in self.novelty.tensors().items()}
        return tensors

    def document(self) -> dict[str, Any]:
        """What a checkpoint's document holds of it."""
        return {
            "random_state": {
                "shuffle": base64.b64encode(self.generator.get_state().numpy().tobytes()).decode()
            },
            "rewards": None if self.rewards is None else self.rewards.to_document(),
            "verification": {
                "num_checks": self.tolerance.num_checks,
                "largest_difference": self.tolerance.largest_difference,
            },
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over what `adopt` leaves out: optimizer, random state, running returns and tolerance.

        Raises: KeyError, TypeError, ValueError, RuntimeError: when something of it is missing or spoilt.
        """
        self.restore_optimizer(checkpoint.optimizer)
        state = bytearray(base64.b64decode(checkpoint.document["random_state"]["shuffle"]))
        self.generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
        self.tolerance = Tolerance(**checkpoint.document["verification"])
        known = checkpoint.document.get("rewards")
        self.rewards = None if known is None else RewardHistory.restore(known)
        slots, novelty = within(checkpoint.policy, _SLOTS), within(checkpoint.policy, _NOVELTY)
        if slots:
            self.slot_returns.restore(slots)
        if self.novelty is not None and novelty:
            self.novelty.restore(novelty)
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

    def remember(self) -> Callable[[], None]:
        """What undoes everything that updates do to weights, optimizer and random state from here on."""
        weights = {name: tensor.detach().clone() for name, tensor in self.policy.state_dict().items()}
        optimizer = {name: tensor.clone() for name, tensor in self.optimizer_tensors().items()}
        random_state = self.generator.get_state()

        def undo() -> None:
            self.policy.load_state_dict(weights)
            self.restore_optimizer(optimizer)
            self.optimizer.zero_grad(set_to_none=True)
            self.generator.set_state(random_state)

        return undo

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """Adam's state by `<parameter>/<key>`; empty before the first update. Not copied."""
        return adam_tensors(self.optimizer, self.policy)

    def restore_optimizer(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `optimizer_tensors` gave."""
        restore_adam(self.optimizer, self.policy, tensors)

    def _to_tensors(self, whose: str, moments: Mapping[str, RunningMoments]) -> dict[str, Tensor]:
        """Moments of each entry, by the names they have in a checkpoint."""
        tensors: dict[str, Tensor] = {}
        for key, name in self._names(whose).items():
            tensors |= moments_tensors(name, moments[key])
        return tensors

    def _from_tensors(self, whose: str, tensors: Mapping[str, Tensor]) -> dict[str, RunningMoments] | None:
        """What `_to_tensors` made; None when something of it is missing.

        Of returns nothing need be there: rewards were not scaled then.
        """
        moments: dict[str, RunningMoments] = {}
        for key, start in self._names(whose).items():
            found = moments_of(start, tensors)
            if found is None and key != RETURNS:
                return None
            moments[key] = found or RunningMoments.empty(())
        return moments

    def _names(self, whose: str) -> dict[str, str]:
        """How the names of each key's moments begin in a checkpoint."""
        names = {
            entry.key: f"{_STATISTICS}{whose}{entry.suffix}"
            for entry in self.policy.entries
            if entry.key in self.statistics
        }
        return names | ({RETURNS: f"{_RETURNS}{whose}"} if RETURNS in self.statistics else {})


def _merged(
    seen: Mapping[str, RunningMoments], more: Mapping[str, RunningMoments]
) -> dict[str, RunningMoments]:
    return {key: one.merge(more[key]) if key in more else one for key, one in seen.items()}


def matching_state(checkpoint: Checkpoint, policy: Policy) -> dict[str, Tensor]:
    """The checkpoint's state dict, when it fits this network.

    Raises: CheckpointError: when it does not, naming each tensor.
    """
    saved = {
        name: tensor
        for name, tensor in checkpoint.policy.items()
        if not name.startswith((_STATISTICS, _RETURNS, _NOVELTY))
    }
    wanted = policy.state_dict()
    problems = [
        f"{name}: this network has {_shape(wanted.get(name))}, the checkpoint {_shape(saved.get(name))}"
        for name in sorted(wanted.keys() | saved.keys())
        if _shape(wanted.get(name)) != _shape(saved.get(name))
    ]
    if problems:
        raise CheckpointError(str(checkpoint.path), "another network; " + "; ".join(problems))
    return saved


def _shape(tensor: Tensor | None) -> str:
    return "none" if tensor is None else str(list(tensor.shape))


def _number(run_seed: int, name: str) -> int:
    seed = derive_seed(run_seed, name)
    return seed.low | seed.high << 32
