"""Updates of an algorithm with a replay buffer, taken one at a time, and its whole state."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from attract.experience.batch import Batch, load_batch
from attract.learner.algorithms.algorithm import Learnable, Progress
from attract.learner.replay.off_policy import OffPolicy
from attract.policy.network import Policy, build_distribution, build_policy
from attract.schema.game import GameDescription
from attract.settings.off_policy import OffPolicySettings
from attract.settings.run import PolicySettings
from learner_world import SignsFleet

HORIZON, SLOTS = 16, 8
"""Steps and slots of the batches of signs."""


Kind = TypeVar("Kind", bound=OffPolicy)
Chosen = TypeVar("Chosen", bound=OffPolicySettings)


def create(
    kind: Callable[[Learnable, Chosen], Kind],
    settings: type[Chosen],
    game: GameDescription,
    *,
    policy_id: str | None = None,
    seed: int = 3,
    hidden: int = 6,
    **given: object,
) -> tuple[Kind, Policy]:
    """The algorithm on a small policy, which learns from its second batch on; `given` are its settings."""
    policy = build_policy(PolicySettings(hidden_sizes=(hidden,)), game, seed=2)
    learnable = Learnable(policy, build_distribution(game), seed, policy_id)
    return kind(learnable, settings.model_validate({"learning_starts": 1, **given})), policy


def signs_fleet(folder: Path) -> SignsFleet:
    """The fleet that plays the batches of signs; `close` it."""
    return SignsFleet(folder / "store", num_slots=SLOTS, horizon=HORIZON, seed=1)


def signs_batches(fleet: SignsFleet) -> list[Batch]:
    """Three batches of random play, with steps in which the agent is dead."""
    return [load_batch(fleet.store, fleet.play(None, 0, invalid=0.3)).at_version(0) for _ in range(3)]


def take(algorithm: OffPolicy, batch: Batch, progress: Progress | None = None) -> dict[str, float]:
    """An update that counts; its metrics."""
    report = algorithm.update(batch, progress or Progress())
    shown = algorithm.commit()
    algorithm.moments = {name: seen.merge(shown[name]) for name, seen in algorithm.moments.items()}
    return {**report.metrics, **report.shared_metrics}


def state_of(algorithm: Any) -> dict[str, torch.Tensor]:
    """All that an update changes, but for the buffer."""
    state = {**algorithm.network.state_dict(), **algorithm.state().tensors, **algorithm.state().optimizer}
    state["random"] = algorithm.generator.get_state()
    return {name: tensor.clone() for name, tensor in state.items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Whether two states are equal bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def restore(one: OffPolicy, policy: Policy, other: OffPolicy, copied: Policy) -> None:
    """Make `other` what a checkpoint of `one` keeps, which is all but the buffer (rule D2)."""
    copied.load_state_dict(policy.state_dict())
    other.moments = one.moments
    other.load_state(copy.deepcopy(one.state()))
