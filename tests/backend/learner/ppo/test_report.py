import math

import pytest

from attract.learner.ppo.report import (
    ScheduledHyperparameters,
    UpdateReport,
    scheduled_hyperparameters,
)
from attract.settings.run import PpoSettings

RATES = ScheduledHyperparameters(learning_rate=1e-3, clip_range=0.2, entropy_coef=0.01)


def test_P10_the_rates_of_a_moment():
    settings = PpoSettings(
        learning_rate=0.004,
        learning_rate_schedule="linear",
        clip_range=0.2,
        entropy_coef=0.01,
        entropy_coef_schedule="linear",
        prio_beta=0.6,
    )
    # A quarter of the way: 0.004 * 3/4, 0.2 unchanged, 0.01 * 3/4, 1 - 0.4 * 3/4
    rates = scheduled_hyperparameters(settings, 250, 1000)
    expected = ScheduledHyperparameters(pytest.approx(0.003), 0.2, pytest.approx(0.0075), pytest.approx(0.7))
    assert rates == expected


def test_P5_the_names_are_those_of_the_charts():
    report = UpdateReport(
        policy_loss=0.1,
        value_loss=0.2,
        entropy=0.3,
        loss=0.4,
        approx_kl=0.5,
        clip_fraction=0.6,
        grad_norm=0.7,
        explained_variance=0.8,
        advantage_variance=0.9,
        num_steps=100,
        num_epochs=2,
        num_minibatches=8,
        stopped_by_kl=False,
        details={"train/prio_beta": 0.9},
    )
    metrics = report.metrics() | RATES.metrics()
    assert metrics["train/policy_gradient_loss"] == 0.1 and metrics["train/value_loss"] == 0.2
    assert metrics["train/approx_kl"] == 0.5 and metrics["train/clip_fraction"] == 0.6
    assert metrics["train/grad_norm"] == 0.7 and metrics["train/explained_variance"] == 0.8
    assert metrics["train/entropy"] == 0.3 and metrics["train/entropy_loss"] == -0.3
    assert metrics["train/learning_rate"] == 1e-3 and metrics["train/prio_beta"] == 0.9
    assert all(math.isfinite(value) for value in metrics.values())
