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
    """Steps of each slot under one lease: a multiple of `horizon`; None: one segment."""
    batch_segments: Positive | None = None
    """How many segments close a batch; None: what one rollout of the whole fleet gives."""
    minibatch_steps: Positive | None = None
    """Steps per minibatch, at most; this or `num_minibatches`, never both. None: 256, unless the other one is
    given."""
    num_minibatches: Annotated[Positive | None, Field(title="Number of minibatches")] = None
    """Minibatches of each epoch, in place of `minibatch_steps`. None: as many as those steps make."""
    minibatch_unit: Literal["step", "segment"] | None = None
    """What is shuffled; advantages run over streams either way. None: segments where they must stay whole,
    for recurrent policies and with `prio_alpha`, else steps."""
    n_epochs: Annotated[int, Field(ge=1, le=1000, title="Epochs")] = 4
    """Passes over each batch: how often it is learned from."""

    learning_rate: Annotated[float, Field(gt=0)] = 2.5e-3
    """How large the steps of the optimizer, Adam, are. Too large: it breaks what it learned. Too small: it
    takes for ever."""
    learning_rate_schedule: Annotated[ScheduleName, Field(title="Learning rate over time")] = "linear"
    """`constant`: stays. `linear`: falls over `schedule_steps` to a twentieth."""
    gamma: Annotated[Fraction, Field(title="Discount (gamma)")] = 0.99
    """How much the future counts, per step, not per tick: 0.99 looks about 100 steps ahead, 0.999 about
    1,000."""
    gae_lambda: Annotated[Fraction | None, Field(title="GAE lambda")] = None
    """How far advantages look along the rewards that came (1), or trust the value prediction (0). None: 0.99
    where what one agent wins another loses, 0.9 where a picture is observed, otherwise 0.95."""
    clip_range: Annotated[float, Field(gt=0)] = 0.2
    """How far one update may move an action's probability before it is no longer pushed, as a share."""
    clip_range_schedule: Annotated[ScheduleName, Field(title="Clip range over time")] = "constant"
    """`constant`: stays. `linear`: falls over `schedule_steps` to a twentieth."""
    clip_range_vf: Annotated[float, Field(gt=0)] | None = None
    """Clips the change of the value prediction; None: not clipped."""
    entropy_coef: Annotated[float, Field(ge=0, title="Entropy bonus")] = 0.01
    """Weight of the entropy in the loss: above 0 the policy is kept from settling early. Raise it a little
    when it settles too early all the same."""
    entropy_coef_schedule: Annotated[ScheduleName, Field(title="Entropy bonus over time")] = "linear"
    """`constant`: stays. `linear`: falls over `schedule_steps` to a twentieth."""
    value_coef: Annotated[float, Field(ge=0, title="Value coefficient")] = 0.5
    """Weight of the value loss beside the policy's."""
    normalize_value_loss: bool = True
    """Divide the value loss by the variance of the batch's value targets where that exceeds 1: large returns
    would drown the policy's gradient, in a shared trunk and in the common gradient norm."""
    max_grad_norm: Annotated[Annotated[float, Field(gt=0)] | None, Field(title="Largest gradient norm")] = 0.5
    """Longer gradients are cut to this length. None: not cut."""
    target_kl: Annotated[Annotated[float, Field(gt=0)] | None, Field(title="Target KL")] = 0.03
    """An update ends early once a minibatch's approx_kl, less its batch's lag, exceeds 1.5 times this. None:
    never."""
    normalize_advantage: bool = True
    """Per minibatch: mean 0, deviation 1, or less where `advantage_scale_decay` has it so."""
    advantage_scale_decay: Annotated[float, Field(ge=0, lt=1)] | None = 0.98
    """Advantages are divided by no less than a quarter of their deviation over the updates before, each of
    which counts for this share of the next one: noise where nothing is paid is not made as loud as rewards.
    None: by that of their minibatch alone."""
    recompute_advantages: bool = False
    """Values and advantages anew under the current weights before each epoch, instead of once."""
    lag_correction: Literal["none", "vtrace"] | None = None
    """What corrects experience that an earlier version played; None: V-trace in `async`, none otherwise."""
    rho_max: Annotated[float, Field(gt=0)] = 1.0
    """Clips V-trace's ratio in its correction."""
    c_max: Annotated[float, Field(gt=0)] = 1.0
    """Clips V-trace's ratio in its trace."""
    prio_alpha: Annotated[float, Field(ge=0)] = 0.0
    """Above 0 segments are drawn by the size of their advantages to this power."""
    prio_beta: Fraction = 0.4
    """How far importance weights correct for that; 1 is wholly."""
    prio_beta_schedule: ScheduleName = "linear"
    """`linear`: rises to 1."""
    recurrent_start: Literal["stored", "zero"] = "stored"
    """State a recurrent policy's segment is trained from: the one it began with, or zeros."""
    burn_in_steps: Annotated[int, Field(ge=0)] = 0
    """First steps of each segment that only carry a recurrent state, and are not learned from."""
    normalize_rewards: bool = True
    """Divide rewards by the size of the discounted returns seen so far, so that it does not matter
    in what unit a game counts them. Reports show them as the game gave them."""
    normalize_observations: bool = True
    """Running mean and variance inside the ONNX graph; uint8 never is."""
    schedule_steps: Positive | None = None
    """Agent steps over which schedules run; None: the run's total, or 1,000,000 without one. From
    then on rates stay as they are."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.minibatch_steps is not None and self.num_minibatches is not None:
            raise ValueError(
                "minibatch_steps and num_minibatches both say how a batch is cut: give exactly one of them"
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
                f"rollout_steps {self.rollout_steps} is no multiple of horizon {self.horizon}; {near} is"
            )
        return self

    @property
    def rollout_segments(self) -> int:
        """Segments of each slot under one lease."""
        return (self.rollout_steps or self.horizon) // self.horizon

    def unit_for(self, *, is_recurrent: bool) -> Literal["step", "segment"]:
        """What is shuffled, for a policy of this kind (rules S5, P3)."""
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
