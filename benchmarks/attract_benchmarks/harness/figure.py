"""One measured number, its unit, and the ratio that makes it comparable between machines."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Figure(BaseModel):
    """A median of several rounds.

    Attributes:
        value: the median of `rounds`, in `unit`.
        unit: as printed, e.g. "steps/s", "ms", "ms/MiB".
        rounds: what each round measured, in `unit`, in the order measured.
        ratio: the median over rounds of achieved / bare part, both of the same round; None where nothing
            bare stands beside the figure. 1 is the best there can be, or, for a baseline, equal to it.
        against: what the ratio is against, as text.
        better: which way is better.
        detail: numbers behind the figure, by name: the bare parts' own rates, shares of the time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float
    unit: str
    rounds: tuple[float, ...]
    ratio: float | None = None
    against: str = ""
    better: Literal["higher", "lower"] = "higher"
    detail: Mapping[str, float] = Field(default_factory=dict)

    @classmethod
    def of(
        cls,
        rounds: Sequence[float],
        unit: str,
        *,
        ratios: Sequence[float] | None = None,
        against: str = "",
        better: Literal["higher", "lower"] = "higher",
        detail: Mapping[str, float] | None = None,
    ) -> "Figure":
        """The figure of at least one round; `ratios` has one entry per round.

        Raises: ValueError: without a round.
        """
        if not rounds:
            raise ValueError("expected at least one round")
        return cls(
            value=statistics.median(rounds),
            unit=unit,
            rounds=tuple(rounds),
            ratio=None if ratios is None else statistics.median(ratios),
            against=against,
            better=better,
            detail=dict(detail or {}),
        )
