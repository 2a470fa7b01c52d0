"""Hyperparameters of random network distillation (RND): weight and discount of the intrinsic reward."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attract.settings.base import Fraction, ScheduleName, Settings


class RndSettings(Settings):
    """Settings of `exploration: rnd`, which any algorithm can add."""

    section: ClassVar[str] = "rnd"

    coef: Annotated[float, Field(ge=0, title="Intrinsic reward coefficient")] = 0.5
    """Weight of the intrinsic reward relative to the game's rewards. Both are normalised by their returns, or
    with `value_head: own` by their advantages."""
    coef_schedule: Annotated[ScheduleName, Field(title="Intrinsic reward schedule")] = "linear"
    """`constant`: no decay. `linear`: `coef` falls over `schedule_steps` to a twentieth, so that the game's
    rewards decide in the end."""
    value_head: Annotated[Literal["shared", "own"], Field(title="Intrinsic value head")] = "shared"
    """`shared`: the intrinsic reward is added to the rewards and is episodic. `own`: a second value function
    with its own discount predicts it, and it continues across episode ends."""
    gamma: Annotated[Fraction, Field(title="Intrinsic discount")] = 0.99
    """Discount per step of the intrinsic reward."""
    gae_lambda: Annotated[Fraction, Field(title="Intrinsic GAE lambda")] = 0.95
    """As `ppo.gae_lambda`, for the intrinsic reward. Used only with `value_head: own`."""
