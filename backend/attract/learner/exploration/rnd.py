"""Random network distillation around any algorithm: intrinsic rewards beside the game's own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from attract.algorithm.annealing import scheduled
from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import (
    Algorithm,
    AlgorithmState,
    ExtraLoss,
    Learnable,
    Progress,
    Report,
)
from attract.learner.algorithms.wrapper import Wrapper
from attract.learner.checkpoints.state_tensors import random_state_of, restore_random_state, within
from attract.learner.exploration.intrinsic_value import IntrinsicEstimates, IntrinsicValue
from attract.learner.exploration.novelty import RandomNetworkDistillation, SeenNovelty
from attract.settings.rnd import RndSettings

PREFIX = "exploration."
_VALUE = f"{PREFIX}value."


@dataclass(frozen=True, slots=True)
class _Seen:
    """Observations of the last update; committed only after it has succeeded (rule P8)."""

    novelty: SeenNovelty
    intrinsic: IntrinsicEstimates | None


class WithRnd(Wrapper):
    """Another algorithm, with intrinsic rewards to its batches.

    With a value head of its own the intrinsic rewards have their own discount, run on across the ends of
    episodes, and reach the algorithm as advantages; with a shared one they are added to its rewards.

    Args:
        learnable: the policy that `inner` learns.
        inner: owns the policy's weights; what it does is left as it is.
        settings: of the run.

    Source: Burda et al. 2018 (arXiv:1810.12894), section 2.3.
    """

    def __init__(self, learnable: Learnable, inner: Algorithm, settings: RndSettings) -> None:
        super().__init__(inner)
        self._policy = learnable.policy
        self._settings = settings
        generator = learnable.generator("exploration")
        self._novelty = RandomNetworkDistillation(learnable.policy.entries, generator, learnable.device)
        self._value = None
        if settings.value_head == "own":
            num_features = sum(entry.num_features for entry in learnable.policy.entries)
            self._value = IntrinsicValue(num_features, generator, learnable.device)
        self._generator = generator
        self._seen: _Seen | None = None

    def update(self, batch: Batch, progress: Progress, extra_loss: ExtraLoss | None = None) -> Report:
        settings, intrinsic = self._settings, None
        seen = self._novelty.see(
            self._policy, batch, settings.gamma, is_episodic=settings.value_head == "shared"
        )
        coef = scheduled(settings.coef, settings.coef_schedule, progress.agent_steps, progress.schedule_steps)
        metrics = {
            "train/exploration_bonus": float((seen.bonus * coef)[batch.valid].mean()),
            "train/exploration_error": seen.error,
        }
        if self._value is None:
            batch = replace(batch, reward_bonus=seen.bonus * coef)
        else:
            intrinsic = self._value.estimate(
                seen, batch, gamma=settings.gamma, gae_lambda=settings.gae_lambda
            )
            metrics["train/exploration_explained_variance"] = intrinsic.explained_variance
            # In units of all rewards so far they would drown in the error of the other value function, which
            # is all that there is before the first reward. So in units of their own.
            spread = intrinsic.advantages[batch.valid].std(correction=0).clamp(min=1e-8)
            batch = replace(batch, advantage_bonus=intrinsic.advantages * (coef / spread))
        self._seen = _Seen(seen, intrinsic)
        return self._inner.update(batch, progress, extra_loss).with_metrics(metrics)

    def commit(self) -> Mapping[str, RunningMoments]:
        if self._seen is not None:
            seen, self._seen = self._seen, None
            self._novelty.take_over(seen.novelty, self._generator)
            if self._value is not None and seen.intrinsic is not None:
                self._value.learn(seen.intrinsic, self._generator)
        return self._inner.commit()

    def snapshot(self) -> Callable[[], None]:
        # Before `commit` only the observations of the update change.
        seen, undo_inner = self._seen, self._inner.snapshot()

        def undo() -> None:
            self._seen = seen
            undo_inner()

        return undo

    def state(self) -> AlgorithmState:
        own = {f"{PREFIX}{name}": tensor for name, tensor in self._novelty.tensors().items()}
        if self._value is not None:
            own |= {f"{_VALUE}{name}": tensor for name, tensor in self._value.tensors().items()}
        inner = self._inner.state()
        document = {"exploration": {"random_state": random_state_of(self._generator)}}
        return replace(inner, tensors={**inner.tensors, **own}, document={**inner.document, **document})

    def load_state(self, state: AlgorithmState) -> None:
        self._inner.load_state(state)
        own = within(state.tensors, PREFIX)
        if "exploration" not in state.document or not own:
            # A run that has not explored by RND until now starts it from the beginning.
            return
        restore_random_state(self._generator, state.document["exploration"]["random_state"])
        self._novelty.restore(own)
        value = within(state.tensors, _VALUE)
        if self._value is not None and value:
            self._value.restore(value)
