"""Random network distillation's hyperparameters: how much the unseen pays, and how far ahead it counts."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attract.settings.base import Fraction, ScheduleName, Settings


class RndSettings(Settings):
    """Of `exploration: rnd`, around whatever algorithm."""

    section: ClassVar[str] = "rnd"

    coef: Annotated[float, Field(ge=0, title="Weight of the unseen")] = 0.5
    """Weight of what the unseen pays, beside the game's rewards; both are in units of their own returns, or
    with `value_head: own` of their own advantages."""
    coef_schedule: Annotated[ScheduleName, Field(title="Weight of the unseen over time")] = "linear"
    """`constant`: stays. `linear`: falls over `schedule_steps` to a twentieth, so that in the end the
    game's rewards count."""
    value_head: Annotated[Literal["shared", "own"], Field(title="Value of the unseen")] = "shared"
    """`shared`: what the unseen pays is added to the rewards and ends with the episode; `own`: it is foreseen
    by a value function of its own, with its own discount, across the ends of episodes."""
    gamma: Annotated[Fraction, Field(title="Discount of the unseen")] = 0.99
    """Discount per step of what the unseen pays."""
    gae_lambda: Annotated[Fraction, Field(title="GAE lambda of the unseen")] = 0.95
    """As `ppo.gae_lambda`, for what the unseen pays; read with `value_head: own` alone."""
