"""The scheduled numbers of an update, and what it reports (rules P5, P10)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from attract.algorithm.annealing import annealed_to_one, scheduled
from attract.settings.ppo import PpoSettings


@dataclass(frozen=True, slots=True)
class ScheduledHyperparameters:
    """The scheduled numbers, fixed for one update (rule P10)."""

    learning_rate: float
    clip_range: float
    entropy_coef: float
    prio_beta: float = 1.0
    is_policy_frozen: bool = False
    """Whether advantages count for nothing: the critic learns, and entropy counts."""

    def metrics(self) -> dict[str, float]:
        """Under the names that dashboards and TensorBoard show."""
        return {
            "train/learning_rate": self.learning_rate,
            "train/clip_range": self.clip_range,
            "train/entropy_coef": self.entropy_coef,
        }


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Metrics of one update; means over its minibatches unless stated otherwise (rule P5)."""

    policy_loss: float
    value_loss: float
    entropy: float
    """Nats."""
    loss: float
    approx_kl: float
    clip_fraction: float
    """Both over all steps of all minibatches."""
    grad_norm: float
    """Before clipping."""
    explained_variance: float
    """Explained variance of the first value targets under the values before the update, over the batch."""
    advantage_variance: float
    """Variance of the batch's first advantages, before they are normalised."""
    num_steps: int
    """Steps of the batch that were learned from: valid, and past any burn-in."""
    num_epochs: int
    """Epochs begun; fewer than asked for after a KL stop."""
    num_minibatches: int
    """Optimizer steps taken."""
    stopped_by_kl: bool
    details: Mapping[str, float] = field(default_factory=dict[str, float])
    """More, under their names: of V-trace and of prioritised segments, where they were used."""

    def metrics(self) -> dict[str, float]:
        """Under the names that dashboards and TensorBoard show."""
        return {
            "train/policy_gradient_loss": self.policy_loss,
            "train/value_loss": self.value_loss,
            "train/entropy": self.entropy,
            "train/entropy_loss": -self.entropy,
            "train/loss": self.loss,
            "train/approx_kl": self.approx_kl,
            "train/clip_fraction": self.clip_fraction,
            "train/grad_norm": self.grad_norm,
            "train/explained_variance": self.explained_variance,
            "train/num_minibatches": float(self.num_minibatches),
            "train/num_epochs": float(self.num_epochs),
            **self.details,
        }


def scheduled_hyperparameters(
    settings: PpoSettings, agent_steps: int, schedule_steps: int | None
) -> ScheduledHyperparameters:
    """Learning rate, clip range, entropy coefficient and beta at this point of the run (rule P10)."""
    return ScheduledHyperparameters(
        scheduled(settings.learning_rate, settings.learning_rate_schedule, agent_steps, schedule_steps),
        scheduled(settings.clip_range, settings.clip_range_schedule, agent_steps, schedule_steps),
        scheduled(settings.entropy_coef, settings.entropy_coef_schedule, agent_steps, schedule_steps),
        annealed_to_one(settings.prio_beta, settings.prio_beta_schedule, agent_steps, schedule_steps),
    )
