"""PPO's hyperparameters: sizes, rates, losses, and how experience is drawn and corrected."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from attract.settings.base import Fraction, Positive, ScheduleName, Settings


class PpoSettings(Settings):
    """PPO's hyperparameters, under the names of common practice."""

    section: ClassVar[str] = "ppo"

    horizon: Annotated[int, Field(ge=1, le=65_536)] = 32
    """Steps per segment."""
    rollout_steps: Positive | None = None
    """Steps of each slot per lease, a multiple of `horizon`. None: one segment."""
    batch_segments: Positive | None = None
    """Segments per batch. None: one rollout of the whole fleet."""
    minibatch_steps: Positive | None = None
    """Maximum steps per minibatch. Give this or `num_minibatches`, not both. None: 256, unless the other one
    is given."""
    num_minibatches: Annotated[Positive | None, Field(title="Number of minibatches")] = None
    """Minibatches per epoch, instead of `minibatch_steps`. None: as many as `minibatch_steps` gives."""
    minibatch_unit: Literal["step", "segment"] | None = None
    """Unit of shuffling; it does not change the advantages. None: segments for recurrent policies and with
    `prio_alpha`, otherwise steps."""
    n_epochs: Annotated[int, Field(ge=1, le=1000, title="Epochs")] = 4
    """Passes over each batch."""

    learning_rate: Annotated[float, Field(gt=0)] = 2.5e-3
    """Step size of the optimizer, Adam. Too large a rate destroys what was learned. Too small a rate learns
    slowly."""
    learning_rate_schedule: Annotated[ScheduleName, Field(title="Learning rate schedule")] = "linear"
    """`constant`: stays. `linear`: falls over `schedule_steps` to a twentieth."""
    gamma: Annotated[Fraction, Field(title="Discount (gamma)")] = 0.99
    """Discount per step, not per tick. 0.99 looks about 100 steps ahead, 0.999 about 1,000."""
    gae_lambda: Annotated[Fraction | None, Field(title="GAE lambda")] = None
    """Weight between observed rewards (1) and the value prediction (0) in the advantages. None: 0.99 for
    zero-sum games, 0.9 for image observations, otherwise 0.95."""
    clip_range: Annotated[float, Field(gt=0)] = 0.2
    """Maximum relative change of an action's probability in one update; beyond it the gradient is 0."""
    clip_range_schedule: Annotated[ScheduleName, Field(title="Clip range schedule")] = "constant"
    """`constant`: stays. `linear`: falls over `schedule_steps` to a twentieth."""
    clip_range_vf: Annotated[float, Field(gt=0)] | None = None
    """Maximum change of the value prediction in one update. None: not clipped."""
    entropy_coef: Annotated[float, Field(ge=0, title="Entropy coefficient")] = 0.01
    """Weight of the entropy bonus in the loss. It keeps the policy exploring. Raise it a little if the policy
    becomes deterministic too early."""
    entropy_coef_schedule: Annotated[ScheduleName, Field(title="Entropy schedule")] = "linear"
    """`constant`: stays. `linear`: falls over `schedule_steps` to a twentieth."""
    value_coef: Annotated[float, Field(ge=0, title="Value coefficient")] = 0.5
    """Weight of the value loss relative to the policy loss."""
    normalize_value_loss: bool = True
    """Divide the value loss by the variance of the batch's value targets where that exceeds 1. Otherwise
    large returns dominate the shared trunk and the gradient norm."""
    max_grad_norm: Annotated[Annotated[float, Field(gt=0)] | None, Field(title="Max gradient norm")] = 0.5
    """Gradients with a larger norm are scaled down to it. None: not clipped."""
    target_kl: Annotated[Annotated[float, Field(gt=0)] | None, Field(title="Target KL")] = 0.03
    """An update stops early once a minibatch's approx_kl, less the batch's lag, exceeds 1.5 times this value.
    None: no early stop."""
    normalize_advantage: bool = True
    """Normalise advantages per minibatch to mean 0 and standard deviation 1, or less with
    `advantage_scale_decay`."""
    advantage_scale_decay: Annotated[float, Field(ge=0, lt=1)] | None = 0.98
    """Decay per update of a running average of the advantages' standard deviation. A quarter of it is the
    smallest divisor of `normalize_advantage`, so that noise without rewards is not amplified. None: no lower
    limit."""
    recompute_advantages: bool = False
    """Recompute values and advantages with the current weights before each epoch, instead of once."""
    lag_correction: Literal["none", "vtrace"] | None = None
    """Correction for experience of an earlier policy version. None: V-trace in `async`, otherwise none."""
    rho_max: Annotated[float, Field(gt=0)] = 1.0
    """Clip of V-trace's importance ratio rho, in the correction."""
    c_max: Annotated[float, Field(gt=0)] = 1.0
    """Clip of V-trace's importance ratio c, in the trace."""
    prio_alpha: Annotated[float, Field(ge=0)] = 0.0
    """Above 0, segments are sampled in proportion to their absolute advantage to this power."""
    prio_beta: Fraction = 0.4
    """Exponent of the importance weights that correct for `prio_alpha`; 1 corrects fully."""
    prio_beta_schedule: ScheduleName = "linear"
    """`constant`: `prio_beta` stays. `linear`: it rises to 1."""
    recurrent_start: Literal["stored", "zero"] = "stored"
    """Initial state in training a recurrent policy's segment: the recorded one, or zeros."""
    burn_in_steps: Annotated[int, Field(ge=0)] = 0
    """First steps of each segment that only warm up the recurrent state; no loss is computed for them."""
    normalize_rewards: bool = True
    """Divide rewards by the running scale of the discounted returns, so that a game's reward unit does not
    matter. Reports show raw rewards."""
    normalize_observations: bool = True
    """Normalise observations by running mean and variance, inside the ONNX graph; uint8 is never
    normalised."""
    schedule_steps: Positive | None = None
    """Agent steps over which schedules run; afterwards the values stay constant. None: the run's total, or
    1,000,000 without one."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.minibatch_steps is not None and self.num_minibatches is not None:
            raise ValueError(
                "minibatch_steps and num_minibatches cannot be combined: give exactly one of them"
            )
        if self.burn_in_steps >= self.horizon:
            raise ValueError(
                f"burn_in_steps {self.burn_in_steps} leaves nothing of a horizon of {self.horizon}; "
                f"at most {self.horizon - 1} does"
            )
        if self.prio_alpha > 0 and self.minibatch_unit == "step":
            raise ValueError("prio_alpha draws whole segments; minibatch_unit 'segment' works")
        if self.rollout_steps is not None and self.rollout_steps % self.horizon:
            below = self.rollout_steps // self.horizon * self.horizon
            near = f"{below} or {below + self.horizon}" if below else f"{self.horizon}"
            raise ValueError(
                f"rollout_steps {self.rollout_steps} is not a multiple of horizon {self.horizon}; {near} is"
            )
        return self

    @property
    def rollout_segments(self) -> int:
        """Segments of each slot under one lease."""
        return (self.rollout_steps or self.horizon) // self.horizon

    def unit_for(self, *, is_recurrent: bool) -> Literal["step", "segment"]:
        """Unit of shuffling for this kind of policy (rules S5, P3)."""
        return self.minibatch_unit or ("segment" if is_recurrent or self.prio_alpha > 0 else "step")

    def lambda_for(self, *, sees_pictures: bool, is_zero_sum: bool = False) -> float:
        """`gae_lambda`, or what was measured to be best (rule P14)."""
        if self.gae_lambda is not None:
            return self.gae_lambda
        if is_zero_sum:
            return 0.99
        return 0.9 if sees_pictures else 0.95

    @property
    def halved(self) -> Self:
        """The same with minibatches half as large."""
        if self.num_minibatches is not None:
            return self.model_copy(update={"num_minibatches": 2 * self.num_minibatches})
        return self.model_copy(update={"minibatch_steps": max(1, self.minibatch_limit // 2)})

    @property
    def minibatch_limit(self) -> int:
        """Steps per minibatch, at most, unless `num_minibatches` is given."""
        return self.minibatch_steps or DEFAULT_MINIBATCH_STEPS

    def minibatches_for(self, num_steps: int) -> int:
        """Minibatches per epoch for a batch of `num_steps` valid steps (rule S5); at least 1."""
        if self.num_minibatches is not None:
            return min(self.num_minibatches, max(1, num_steps))
        return max(1, -(-num_steps // self.minibatch_limit))


DEFAULT_MINIBATCH_STEPS = 256
