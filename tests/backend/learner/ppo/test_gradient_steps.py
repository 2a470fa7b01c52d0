import pytest
import torch

from attract.learner.ppo.gradient_steps import AutogradSteps
from attract.learner.ppo.minibatches import Minibatches
from attract.learner.ppo.report import ScheduledHyperparameters
from attract.learner.ppo.update import create_optimizer
from attract.settings.run import PpoSettings
from played_batches import build, play

RATES = ScheduledHyperparameters(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.1, prio_beta=0.4)


def steps_of(settings: PpoSettings) -> AutogradSteps:
    policy, distribution = build()
    batch = play(policy, distribution)
    inputs = Minibatches(policy, batch, settings, 0.0).inputs
    optimizer = create_optimizer(policy, 1e-3)
    generator = torch.Generator().manual_seed(1)
    return AutogradSteps(policy, optimizer, inputs, distribution, settings, RATES, None, generator)


def test_a_step_without_losses_is_refused() -> None:
    with steps_of(PpoSettings()) as steps, pytest.raises(RuntimeError, match="expected losses before"):
        steps.step()
