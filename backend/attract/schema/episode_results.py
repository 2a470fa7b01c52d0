"""What came of an episode, as it travels: one by one, or those of a block field by field."""

from typing import Annotated, Literal

from pydantic import FailFast, Field

from attract.schema.base import MAX_AGENTS, Amount, Count, FiniteModel, UncheckedCount

EndReason = Literal["terminated", "time_limit", "game_truncated", "cut"]


class EpisodeResult(FiniteModel):
    """One finished (or cut) episode of one instance."""

    instance_id: Count
    episode: Count
    """Episode number of this instance, 0-based: with the run seed it names the random stream."""
    step: Count
    """Step in the segment (train) at which it ended; 0 for evaluation."""
    returns: Annotated[list[Amount], Field(min_length=1, max_length=MAX_AGENTS)]
    """Raw undiscounted return per agent."""
    length_steps: Count
    length_ticks: Count
    end_reason: EndReason
    metrics: dict[str, Amount] = {}
    reward_terms: dict[str, Amount] = {}
    lesson_id: Annotated[str, Field(max_length=64)] | None = None
    """Lesson of the lease under which it was started (rule C6); None without lessons."""


class EpisodeColumns(FiniteModel):
    """The episodes of a block that ended or were cut, [n]: all of `EpisodeResult`, field by field."""

    instance_id: Annotated[list[UncheckedCount], FailFast()] = []
    episode: Annotated[list[UncheckedCount], FailFast()] = []
    step: Annotated[list[UncheckedCount], FailFast()] = []
    """Step in the segment at which it ended."""
    returns: Annotated[list[float], FailFast()] = []
    """[n x agents], those of an episode side by side."""
    length_steps: Annotated[list[UncheckedCount], FailFast()] = []
    length_ticks: Annotated[list[UncheckedCount], FailFast()] = []
    end_reason: Annotated[list[EndReason], FailFast()] = []
    metrics: dict[str, Annotated[list[float | None], FailFast()]] = {}
    """[n] by name; None where the game did not report it."""
    reward_terms: dict[str, Annotated[list[float | None], FailFast()]] = {}
    lesson_id: Annotated[list[Annotated[str, Field(max_length=64)] | None], FailFast()] = []
    """Empty where no episode has one."""
