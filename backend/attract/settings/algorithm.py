"""What a run asks the settings of its algorithm, whichever it is. The gateway reads them, so: no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol


@dataclass(frozen=True, slots=True)
class RunContext:
    """What other settings of a run say that an algorithm's own may depend on."""

    schedule: Literal["sync", "overlap", "async"]
    """How collection and learning take turns."""
    is_recurrent: bool
    """Whether the policy carries a state from step to step."""
    schedule_steps: int
    """Agent steps over which rates change (rule P10)."""


@dataclass(frozen=True, slots=True)
class GameContext:
    """What is known once a game is: for settings that depend on it."""

    batches: Mapping[str, int]
    """Segments of a batch, by policy id."""
    sees_pictures: bool
    has_opponents: bool
    """Whether one policy plays several agents of the same game."""


class AlgorithmSettings(Protocol):
    """An algorithm's settings as the rest of the project knows them; immutable.

    Names of settings are those of the algorithm's section, without the section.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The algorithm's part of each named preset that has one."""
    chosen_by: ClassVar[tuple[str, ...]]
    """Presets that choose this algorithm unless another is given."""
    advice: ClassVar[Mapping[str, tuple[str, str]]]
    """Text and flag for each finding of the diagnosis that a setting of the algorithm may mend. A finding
    without advice is not one of this algorithm's."""
    derived: ClassVar[tuple[str, ...]]
    """Settings that depend on the game where they are empty."""
    refuses: ClassVar[Mapping[str, str]]
    """What cannot be combined with the algorithm, and why, with what works instead: paths of settings of the
    run that are off by default, and kinds of actions."""
    kept: ClassVar[tuple[str, ...]]
    """Settings that decide what a checkpoint holds: a resumed run keeps them."""
    studied_copies: ClassVar[tuple[int, ...]]
    """Games per worker that a study tries beside the run's own."""
    shares_trunk: ClassVar[bool]
    """Whether its policies have one trunk for actions and value, whatever `policy.shared_trunk` says."""
    has_fused_steps: ClassVar[bool]
    """Whether it can compute gradients without autograd."""
    horizon: int
    """Steps per segment."""
    batch_segments: int | None
    """How many segments close a batch; None: what one rollout of the whole fleet gives."""
    gamma: float
    """Discount per step, in [0, 1]."""
    learning_rate: float
    """Initial learning rate of the optimizer."""
    normalize_observations: bool
    """Whether policies carry running statistics of observations (rule P7)."""
    schedule_steps: int | None
    """Agent steps over which rates change; None: the run's total."""

    @property
    def rollout_segments(self) -> int:
        """Segments of each slot under one lease."""
        ...

    @property
    def n_epochs(self) -> int:
        """How often each step is learned from, at least 1."""
        ...

    @property
    def scheduled_rates(self) -> list[str]:
        """Names of the rates that change over the run."""
        ...

    @property
    def search_space(self) -> dict[str, Any]:
        """What a study searches, around these values: a list, or {low, high, log} of a real number."""
        ...

    @staticmethod
    def promising(usual: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Changes worth the first trials of a study, from the usual values of what is searched."""
        ...

    @staticmethod
    def drop_excluded(merged: dict[str, Any], given: Mapping[str, Any]) -> None:
        """Remove from `merged`, unchecked settings, what excludes a setting of `given`, its highest layer."""
        ...

    def resolve(self, run: RunContext) -> dict[str, Any]:
        """Values of settings that other settings of the run decide."""
        ...

    def resolve_for_game(self, run: RunContext, game: GameContext) -> tuple[dict[str, Any], dict[str, str]]:
        """Values of `derived`, and for each that is known only once the run begins, what decides it."""
        ...

    def check_policy(self, *, is_recurrent: bool) -> None:
        """Raises: ValueError: a policy of this kind cannot be trained so."""
        ...

    def check_batch(self, run: RunContext, segments: int, policy: str) -> None:
        """Refuse a batch that cannot be learned from (rules S1, S5).

        Args:
            run: see there.
            segments: of the smallest batch of a policy.
            policy: its id where there are several, else empty.

        Raises: ConfigurationError: with the nearest number that works.
        """
        ...

    def update_text(self, run: RunContext, segments: int) -> str:
        """How an update learns from a batch of so many segments, for the plan."""
        ...

    def lag_text(self, run: RunContext) -> str | None:
        """What corrects experience of earlier versions, for the plan; None: nothing."""
        ...
