"""The first version of a run, made from demonstrations instead of chance: everything but its folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from attract.collection.seating import Seating
from attract.learner.algorithms.algorithm import AlgorithmChoice
from attract.learner.algorithms.reward_scale import RETURNS, SlotReturns, scaled
from attract.learner.checkpoints.checkpoint import Snapshot
from attract.learner.imitation.demonstrations import Demonstrated, demonstration_batch, on_device
from attract.learner.imitation.fitting import Epoch, Fit, FitPlan, fit
from attract.learner.policies.policy_state import PolicyState
from attract.learner.policies.training_state import TrainingState
from attract.policy.network import build_distribution
from attract.schema.game import GameDescription, description_sha256
from attract.settings.collection import MAIN
from attract.settings.run import RunSettings


@dataclass(frozen=True, slots=True)
class ClonedStart:
    """Version 0 of a run that plays as demonstrated."""

    state: TrainingState
    fits: Mapping[str, Fit]
    """By policy id."""

    def snapshot(self, run_id: str, game: GameDescription, settings: RunSettings) -> Snapshot:
        """As a checkpoint, with its metrics."""
        labels: dict[str, Any] = {
            "run_id": run_id,
            "game_id": game.id,
            "description_sha256": description_sha256(game),
            "seed": settings.seed,
            "policy": settings.policy.model_dump(mode="json"),
            settings.algorithm: settings.hyperparameters.model_dump(mode="json"),
            "metrics": self.metrics(),
        }
        return self.state.snapshot(labels)

    def metrics(self) -> dict[str, float]:
        """Metrics of the row of version 0; a number that is not finite is left out."""
        found: dict[str, float] = {}
        for policy_id, result in self.fits.items():
            own = "" if len(self.fits) == 1 else f"/{policy_id}"
            values = {
                "train/cloning_loss": result.loss,
                "train/cloning_agreement": result.agreement,
                "train/cloning_epochs": float(result.epochs),
                "train/explained_variance": result.explained_variance,
                "train/cloning_held_out_loss": float("nan") if result.held_out is None else result.held_out,
            }
            found |= {f"{name}{own}": value for name, value in values.items() if value == value}
        return found


def clone(
    game: GameDescription,
    settings: RunSettings,
    algorithm: AlgorithmChoice,
    demonstrations: Sequence[Demonstrated],
    plan: FitPlan,
    device: torch.device,
    on_epoch: Callable[[str, Epoch], None],
) -> ClonedStart:
    """Fit each policy of a run to what the agents that it plays did.

    Observation and return statistics are those of the demonstrations (rules P7, P11), so that training goes
    on from the values as they are.

    Args:
        game: that was played.
        settings: of the run.
        algorithm: that will go on from it.
        demonstrations: at least one.
        plan: see there.
        device: where to compute.
        on_epoch: called after each epoch, with the policy's id.

    Raises: ConfigurationError: settings or spaces that cannot be trained, or nothing to learn from.
    """
    seating = Seating(tuple(settings.collection.seats) or (MAIN,) * game.num_agents)
    state = TrainingState.create(game, settings.policy, algorithm, settings.seed, device, seating.policy_ids)
    fits: dict[str, Fit] = {}
    for policy_id, policy_state in state.policies.items():
        agents = [agent for agent, name in enumerate(seating.seats) if name == policy_id]
        fits[policy_id] = _clone_one(
            policy_state,
            game,
            settings,
            demonstrations,
            agents,
            plan,
            lambda epoch, name=policy_id: on_epoch(name, epoch),
        )
    return ClonedStart(state, fits)


def _clone_one(
    state: PolicyState,
    game: GameDescription,
    settings: RunSettings,
    demonstrations: Sequence[Demonstrated],
    agents: Sequence[int],
    plan: FitPlan,
    on_epoch: Callable[[Epoch], None],
) -> Fit:
    device = next(state.policy.parameters()).device
    own = settings.algorithm_settings
    batch = on_device(demonstration_batch(demonstrations, agents, own.horizon), device)
    observed = state.policy.moments(batch.observation, batch.valid)
    if RETURNS in state.algorithm.moments:
        seen = SlotReturns().see(batch, own.gamma)
        rewards, _ = scaled(batch.reward, state.algorithm.moments[RETURNS], seen)
        batch = replace(batch, reward=rewards)
        moments = {**state.algorithm.moments, RETURNS: state.algorithm.moments[RETURNS].merge(seen.moments)}
        state.algorithm.moments = moments
    state.gather(observed)
    slots = [
        [number * len(agents) + place for place in range(len(agents))]
        for number in range(len(demonstrations))
    ]
    generator = torch.Generator().manual_seed(settings.seed)
    return fit(
        state.policy,
        build_distribution(game),
        batch,
        plan,
        generator,
        gamma=own.gamma,
        slots_of=slots,
        on_epoch=on_epoch,
    )
