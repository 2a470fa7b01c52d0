"""PPO's hyperparameters: sizes, rates, losses, and how experience is drawn and corrected."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from attract.errors import ConfigurationError
from attract.settings.algorithm import GameContext, RunContext
from attract.settings.base import Fraction, Positive, ScheduleName, Settings

DEFAULT_MINIBATCH_STEPS: Final = 256
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "classic-control": {
        "horizon": 32,
        "minibatch_steps": 512,
        "n_epochs": 4,
        "learning_rate": 2.5e-3,
        "gamma": 0.98,
        "gae_lambda": 0.9,
        "entropy_coef": 0.0,
        "target_kl": 0.1,
    },
    "reflex": {"gamma": 0.98, "gae_lambda": 0.9},
    "long-run": {"horizon": 128, "gamma": 0.998, "gae_lambda": 0.97},
    # The intrinsic reward explores, so a small entropy bonus is enough. The short discount makes detours
    # costly: otherwise the most probable actions walk in circles where sampled ones reach the goal.
    "explore": {"horizon": 128, "gamma": 0.98, "gae_lambda": 0.95, "entropy_coef": 0.001},
    "pixels": {"horizon": 64, "learning_rate": 7e-4, "n_epochs": 3},
    "memory": {"learning_rate": 1e-3, "num_minibatches": 8, "entropy_coef": 0.02},
    "segments-64": {
        "horizon": 64,
        "num_minibatches": 32,
        "n_epochs": 1,
        "gamma": 0.977,
        "gae_lambda": 0.916,
        "clip_range": 0.1,
        "value_coef": 0.44,
        "entropy_coef": 0.0021,
        "max_grad_norm": 0.5,
    },
    "slow-page": {"n_epochs": 8},
}
ADVICE: Final[Mapping[str, tuple[str, str]]] = {
    "entropy-collapsed/discrete": ("Raise the entropy bonus: `{setting}`", "--ppo.entropy-coef 0.03"),
    "entropy-collapsed/rate": ("Lower the learning rate: `{setting}`", "--ppo.learning-rate 0.0025"),
    "kl-high": ("Lower the learning rate: `{setting}`", "--ppo.learning-rate {lower_rate:.2g}"),
    "return-fell": ("Stop an update before the policy changes too much: `{setting}`", "--ppo.target-kl 0.01"),
    "policy-unchanged": ("Raise the learning rate: `{setting}`", "--ppo.learning-rate 0.0025"),
    "short-sighted": ("Raise gamma, so that later rewards count: `{setting}`", "--ppo.gamma 0.99"),
    "stands-still/unexplored": (
        "If it could do better, turn on exploration: `{setting}`. Or train again with another seed: which "
        "way of playing is found first is partly chance",
        "--preset explore",
    ),
    "workers-wait": ("Use fewer epochs per update: `{setting}`", "--ppo.n-epochs {fewer_epochs}"),
    "few-decisions": (
        "Train by an algorithm that learns more from each: `{setting}`",
        "--preset slow-page --algorithm {algorithm}",
    ),
}
RATES: Final = ("learning_rate", "clip_range", "entropy_coef", "prio_beta")
"""Those with a schedule."""


class PpoSettings(Settings):
    """PPO's hyperparameters, under the names of common practice."""

    section: ClassVar[str] = "ppo"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS
    chosen_by: ClassVar[tuple[str, ...]] = ()
    advice: ClassVar[Mapping[str, tuple[str, str]]] = ADVICE
    derived: ClassVar[tuple[str, ...]] = (
        "batch_segments",
        "num_minibatches",
        "minibatch_steps",
        "gae_lambda",
    )
    refuses: ClassVar[Mapping[str, str]] = {}
    kept: ClassVar[tuple[str, ...]] = ("normalize_observations",)
    studied_copies: ClassVar[tuple[int, ...]] = (8, 16, 32, 64)
    shares_trunk: ClassVar[bool] = False
    has_fused_steps: ClassVar[bool] = True

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

    @property
    def scheduled_rates(self) -> list[str]:
        return [
            name
            for name in RATES
            if getattr(self, f"{name}_schedule") != "constant"
            and getattr(self, name) != 0.0
            and (name != "prio_beta" or self.prio_alpha > 0.0)
        ]

    @property
    def search_space(self) -> dict[str, Any]:
        rate, entropy = self.learning_rate, self.entropy_coef
        space: dict[str, Any] = {
            "learning_rate": {"low": rate / 4, "high": max(rate, min(rate * 4, 0.02)), "log": True},
            "gamma": _around(self.gamma, 0.97, 0.98, 0.99, 0.995, 0.998),
            "gae_lambda": _around(self.gae_lambda, 0.9, 0.95, 0.98),
            "n_epochs": _around(self.n_epochs, 1, 2, 4, 8),
            "horizon": _around(self.horizon, 16, 32, 64, 128),
            "entropy_coef": {"low": min(entropy, 0.001), "high": max(entropy, 0.05), "log": True}
            if entropy > 0
            else [0.0, 0.003, 0.01, 0.03],
        }
        if self.num_minibatches is not None:
            space["num_minibatches"] = _around(self.num_minibatches, 2, 4, 8, 16)
        elif self.batch_segments is None:
            space["minibatch_steps"] = _around(self.minibatch_steps, 128, 512, 1024)
        return space

    @staticmethod
    def promising(usual: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What solved plain games sooner than the defaults; see `AlgorithmSettings`.

        Of 27 combinations on eight games these two did (`docs/notebook/learning.md`): half the passes at
        twice the rate, and twice the minibatch at twice the rate.
        """
        if not {"learning_rate", "n_epochs", "minibatch_steps"} <= usual.keys():
            return []
        twice = {"learning_rate": 2 * usual["learning_rate"]}
        return [
            {**twice, "n_epochs": max(1, usual["n_epochs"] // 2)},
            {**twice, "minibatch_steps": 2 * (usual["minibatch_steps"] or DEFAULT_MINIBATCH_STEPS)},
        ]

    @staticmethod
    def drop_excluded(merged: dict[str, Any], given: Mapping[str, Any]) -> None:
        """See `AlgorithmSettings`: rule S5, and a rollout that is no multiple of the horizon."""
        one, other = "minibatch_steps", "num_minibatches"
        for first, second in ((one, other), (other, one)):
            if given.get(first) is not None and given.get(second) is None:
                merged.pop(second, None)
        horizon, rollout = given.get("horizon"), merged.get("rollout_steps")
        if isinstance(horizon, int) and isinstance(rollout, int) and "rollout_steps" not in given:
            fits = horizon >= 1 and rollout % horizon == 0
            merged["rollout_steps"] = rollout if fits else None

    def resolve(self, run: RunContext) -> dict[str, Any]:
        """See `AlgorithmSettings`: unless told, lag is corrected in `async` alone (rule P9)."""
        return {
            "rollout_steps": self.rollout_segments * self.horizon,
            "minibatch_unit": self.unit_for(is_recurrent=run.is_recurrent),
            "lag_correction": self.lag_correction or ("vtrace" if run.schedule == "async" else "none"),
            "schedule_steps": run.schedule_steps,
        }

    def resolve_for_game(self, run: RunContext, game: GameContext) -> tuple[dict[str, Any], dict[str, str]]:
        """See `AlgorithmSettings`. Of the two settings that cut a batch, one follows from the other."""
        found, undecided = dict[str, Any](), dict[str, str]()
        cuts = {name: self._cut(run, segments) for name, segments in game.batches.items()}
        if self.num_minibatches is None:
            found["minibatch_steps"] = self.minibatch_limit
            cut, numbers = "num_minibatches", {name: parts for name, (parts, _) in cuts.items()}
        else:
            cut, numbers = "minibatch_steps", {name: steps for name, (_, steps) in cuts.items()}
        if len(set(numbers.values())) == 1:
            found[cut] = next(iter(numbers.values()))
        else:
            undecided[cut] = ", ".join(f"{value} for {name}" for name, value in numbers.items()) + "."
        usual = self.lambda_for(sees_pictures=game.sees_pictures)
        zero_sum = self.lambda_for(sees_pictures=False, is_zero_sum=True)
        if game.has_opponents and usual != zero_sum:
            undecided["gae_lambda"] = (
                f"{usual:g}, or {zero_sum:g} as long as what one agent wins another loses: the rewards tell."
            )
        else:
            found["gae_lambda"] = usual
        return found, undecided

    def check_policy(self, *, is_recurrent: bool) -> None:
        if is_recurrent and self.minibatch_unit == "step":
            raise ValueError(
                "a recurrent policy is trained over whole segments; ppo.minibatch_unit 'segment' works"
            )
        if not is_recurrent and self.burn_in_steps > 0:
            raise ValueError(
                "ppo.burn_in_steps is for recurrent policies; this one carries no state: 0 works"
            )

    def check_batch(self, run: RunContext, segments: int, policy: str) -> None:
        unit = self.unit_for(is_recurrent=run.is_recurrent)
        units = segments if unit == "segment" else segments * self.horizon
        if self.num_minibatches is not None and self.num_minibatches > units:
            whose = f"for {policy} " if policy else ""
            raise ConfigurationError(
                f"a batch of {segments} segments {whose}has {units} {unit}s, "
                f"too few for {self.num_minibatches} minibatches",
                setting="ppo.num_minibatches",
                fix=f"the largest that works is {units}",
            )
        if self.minibatch_steps is not None and unit == "segment" and self.minibatch_steps < self.horizon:
            raise ConfigurationError(
                f"minibatches of {self.minibatch_steps} steps cannot hold a whole segment of {self.horizon}",
                setting="ppo.minibatch_steps",
                fix=f"the smallest that works is {self.horizon}",
            )

    def update_text(self, run: RunContext, segments: int) -> str:
        parts, steps = self._cut(run, segments)
        unit = self.unit_for(is_recurrent=run.is_recurrent)
        drawn = f"segments drawn by priority (alpha {self.prio_alpha:g})" if self.prio_alpha else f"by {unit}"
        return (
            f"{parts} of up to {steps} steps, {drawn}; times {self.n_epochs} epochs "
            f"are {parts * self.n_epochs} optimizer steps an update"
        )

    def lag_text(self, run: RunContext) -> str | None:
        return "V-trace" if self.resolve(run)["lag_correction"] == "vtrace" else None

    def _cut(self, run: RunContext, segments: int) -> tuple[int, int]:
        """Minibatches of each epoch over a batch of so many segments, and the most steps of one (rule S5)."""
        is_whole = self.unit_for(is_recurrent=run.is_recurrent) == "segment"
        units = segments if is_whole else segments * self.horizon
        parts = min(self.minibatches_for(segments * self.horizon), units)
        return parts, -(-units // parts) * (self.horizon if is_whole else 1)


def _around(base: Any, *values: Any) -> list[Any]:
    return [base, *(value for value in values if value != base)]
