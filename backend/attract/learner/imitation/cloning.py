"""A decaying cloning loss around any algorithm: what was demonstrated counts beside what was experienced."""

import torch
from torch import Tensor

from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Algorithm, ExtraLoss, Learnable, Progress, Report
from attract.learner.algorithms.wrapper import Wrapper
from attract.learner.imitation.demonstrations import on_device
from attract.learner.imitation.likelihood import CloningLoss
from attract.settings.cloning import CloningSettings


class WithCloning(Wrapper):
    """Another algorithm, each of whose minibatches also makes demonstrations likelier.

    The weight of that falls in a straight line over `share` of the run's schedule; then the algorithm is as
    it is without. It keeps no state: the minibatches of demonstrations are drawn by the update's generator.

    Args:
        learnable: the policy that `inner` learns.
        inner: owns the policy's weights; what it does is left as it is.
        settings: of the run.
        demonstrations: of the agents that this policy plays.

    Source: Rajeswaran et al. 2018 (arXiv:1709.10087), section V: a policy gradient augmented with
        demonstrations, whose weight decays.
    """

    def __init__(
        self, learnable: Learnable, inner: Algorithm, settings: CloningSettings, demonstrations: Batch
    ) -> None:
        super().__init__(inner)
        self._settings = settings
        self._loss = CloningLoss(
            learnable.policy,
            learnable.distribution,
            on_device(demonstrations, learnable.device),
            settings.minibatch_steps,
        )

    def update(self, batch: Batch, progress: Progress, extra_loss: ExtraLoss | None = None) -> Report:
        coef = self.coef(progress)
        if coef == 0.0:
            return self._inner.update(batch, progress, extra_loss)
        self._loss.refresh()

        def with_demonstrations(generator: torch.Generator) -> Tensor:
            loss = coef * self._loss.sample(generator)
            return loss if extra_loss is None else loss + extra_loss(generator)

        report = self._inner.update(batch, progress, with_demonstrations)
        return report.with_metrics({"train/cloning_coef": coef, "train/cloning_loss": self._loss.mean()})

    def coef(self, progress: Progress) -> float:
        """The weight of demonstrations in the next update; without a schedule it stays as it was at first."""
        settings = self._settings
        if progress.schedule_steps is None:
            return settings.coef
        until = settings.share * progress.schedule_steps
        return settings.coef * max(0.0, 1.0 - progress.agent_steps / until) if until > 0 else 0.0
