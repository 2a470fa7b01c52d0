"""Verdict on a run: whether its return lies above that of random play, beyond chance."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from attract.schema.api import EvaluationView, RandomPlay

if TYPE_CHECKING:
    from numpy.typing import NDArray

CERTAIN_ERRORS: Final = 3.0
"""Standard errors of the difference by which the return must lie above random play's."""
MIN_EPISODES: Final = 20
"""Minimum on either side: with fewer episodes the standard error itself is too uncertain."""
CERTAIN_CHANCE: Final = 0.00135
"""Chance of a normal number above `CERTAIN_ERRORS` of its deviations."""
NUM_RESAMPLES: Final = 9_999
EQUAL: Final = 1e-9
"""Relative difference of two means below which they are the same: sums of equal returns are rounded."""
PLAIN_BELOW: Final = 1e9


@dataclass(frozen=True, slots=True)
class Measured:
    """Raw undiscounted episode returns, each the mean over the game's agents."""

    mean: float
    standard_error: float
    """Standard error of the mean."""
    episodes: int
    returns: tuple[float, ...] = field(default=(), compare=False)
    """Those of single episodes, as many as are known; what few of them tell is decided by these."""

    @classmethod
    def of(cls, mean: float, std: float, episodes: int) -> Self:
        """From the standard deviation of the returns of `episodes` episodes; at least one."""
        return cls(mean, std / math.sqrt(episodes), episodes)

    @classmethod
    def of_returns(cls, returns: Sequence[float]) -> Self:
        """From the returns of at least one episode."""
        mean = math.fsum(returns) / len(returns)
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in returns) / len(returns))
        return cls(mean, std / math.sqrt(len(returns)), len(returns), tuple(returns))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A run's return beside random play's; None for what was not measured."""

    trained: Measured | None
    random: Measured | None
    learned: bool | None
    """Whether the return is above random play's by `CERTAIN_ERRORS`; None where that is unknown."""
    text: str | None
    """One line of text; None unless both were measured."""
    is_open: bool = False
    """Whether the returns of other episodes than these may show that it learned."""
    reason: str | None = None
    """Why `learned` is None, and what is missing; None where it is known."""

    def numbers(self) -> dict[str, Any]:
        """The fields that `--json` prints."""
        trained, random = self.trained, self.random
        return {
            "return": None if trained is None else trained.mean,
            "standard_error": None if trained is None else trained.standard_error,
            "return_episodes": None if trained is None else trained.episodes,
            "random_return": None if random is None else random.mean,
            "random_standard_error": None if random is None else random.standard_error,
            "random_episodes": None if random is None else random.episodes,
            "learned": self.learned,
            "learned_reason": self.reason,
        }


NO_EPISODE: Final = "no episode ended: train longer, or end episodes earlier"
UNMEASURED: Final = Verdict(None, None, None, None, reason=NO_EPISODE)


Otherwise = Literal["without the lesson", "against itself"]
"""How random play was measured, where that is not as training went."""
COMPARED_BY: Final[dict[Otherwise, str]] = {
    "without the lesson": "`attract eval latest`",
    "against itself": "`attract match latest random`",
}


def judge(
    trained: Measured | None,
    random: Measured | None,
    *,
    num_agents: int,
    otherwise: Otherwise | None = None,
) -> Verdict:
    """The verdict.

    Args:
        trained: of the trained policy: an evaluation, or the last training episodes.
        random: of random play.
        num_agents: of the game. Several may play against each other: their mean return then has no meaning
            where it is not above random play's, and `learned` is None there.
        otherwise: how random play differs, and `learned` is None; None: both played the same.
    """
    is_open = random is not None and random.episodes >= MIN_EPISODES
    if trained is None or random is None:
        return Verdict(trained, random, None, None, is_open, _missing(trained, random))
    beside = f"return {number_text(trained.mean)}, random play {number_text(random.mean)}"
    num_episodes = min(trained.episodes, random.episodes)
    is_few = num_episodes < MIN_EPISODES
    if is_few and not (otherwise is None and is_above_exactly(trained.returns, random.returns)):
        why = f"{num_episodes} of the {MIN_EPISODES} episodes that a comparison takes"
        return Verdict(trained, random, None, f"{beside}: {why}", is_open, _missing(trained, random))
    if otherwise is not None:
        text = f"{beside}, which played {otherwise}: not compared"
        reason = f"random play was measured {otherwise}: {COMPARED_BY[otherwise]}"
        # An evaluation plays the policy against itself, too.
        is_open &= otherwise != "against itself"
        return Verdict(trained, random, None, text, is_open, reason)
    if is_few or is_above(trained, random):
        return Verdict(trained, random, True, f"{beside}: better than random play")
    if num_agents > 1:
        text = f"{beside}: no better on average over the agents, which may play against each other"
        reason = "the agents may play against each other: their mean return decides nothing"
        return Verdict(trained, random, None, text, reason=reason)
    better = "clearly better" if trained.mean > random.mean else "better"
    return Verdict(trained, random, False, f"{beside}: not {better} than random play", is_open)


def _missing(trained: Measured | None, random: Measured | None) -> str:
    """What a comparison of the two lacks, and how to get it."""
    if trained is None:
        return NO_EPISODE
    reasons: list[str] = []
    if trained.episodes < MIN_EPISODES:
        more = f"`attract eval latest --episodes {MIN_EPISODES}`"
        reasons.append(f"{trained.episodes} episodes, {MIN_EPISODES} are needed: {more}")
    if random is None:
        reasons.append("random play was not measured: it needs a browser here, and episodes that end")
    elif random.episodes < MIN_EPISODES:
        reasons.append(f"random play had {random.episodes} episodes in a minute: make them shorter")
    return "; ".join(reasons)


def as_measured(play: RandomPlay | None) -> Measured | None:
    """A run's random play, as `judge` takes it."""
    if play is None:
        return None
    return Measured(play.return_mean, play.standard_error, play.episodes, tuple(play.returns))


def as_evaluated(view: EvaluationView) -> Measured:
    """An evaluation, as `judge` takes it."""
    measured = Measured.of(view.return_mean, view.return_std, view.episodes)
    return replace(measured, returns=tuple(view.returns))


def is_above(trained: Measured, random: Measured) -> bool:
    """Whether the difference is positive and at least `CERTAIN_ERRORS` of its standard errors."""
    difference = trained.mean - random.mean
    error = math.hypot(trained.standard_error, random.standard_error)
    is_more = difference > EQUAL * max(abs(trained.mean), abs(random.mean))
    return is_more and difference >= CERTAIN_ERRORS * error


@functools.lru_cache(maxsize=64)
def is_above_exactly(trained: tuple[float, ...], random: tuple[float, ...]) -> bool:
    """Whether chance seldom makes so large a difference of the means: at most as `CERTAIN_CHANCE`.

    A permutation test: exact for few returns, else of `NUM_RESAMPLES` draws, the same ones each time.
    """
    num_ways = math.comb(len(trained) + len(random), len(trained))
    if num_ways * CERTAIN_CHANCE < 1 or math.fsum(trained) * len(random) <= math.fsum(random) * len(trained):
        return False
    # Half a second to import, and seldom needed.
    from scipy.stats import permutation_test

    result = permutation_test(
        (trained, random),
        _difference,
        vectorized=True,
        alternative="greater",
        n_resamples=NUM_RESAMPLES,
        rng=0,
    )
    return bool(result.pvalue <= CERTAIN_CHANCE)


def _difference(one: "NDArray[Any]", other: "NDArray[Any]", axis: int) -> "NDArray[Any]":
    return one.mean(axis=axis) - other.mean(axis=axis)


def number_text(value: float) -> str:
    """A return as text: four digits, thousands with commas."""
    return f"{value:,.0f}" if 1000 <= abs(value) < PLAIN_BELOW else f"{value:.4g}"
