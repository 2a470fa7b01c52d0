"""Facts of a run beside its metrics: about its game, its settings and the machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, DictSpace
from attract.settings.algorithm import AlgorithmSettings
from attract.settings.run import RunSettings

MAX_VECTOR = 32
"""Maximum size of an observation whose numbers each have a meaning; a larger one may be a board."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Fixed for a run."""

    settings: RunSettings
    game: GameDescription
    """As its first worker described it."""
    num_cores: int
    """Processors of this machine."""
    starts_untrained: bool = True
    """Whether the first policy was random."""

    @property
    def algorithm(self) -> AlgorithmSettings:
        """Settings of the algorithm."""
        return self.settings.algorithm_settings

    @property
    def action(self) -> Literal["discrete", "continuous"]:
        """Kind of the game's actions."""
        return "continuous" if isinstance(self.game.action, BoxSpace) else "discrete"

    @property
    def explores(self) -> bool:
        """Whether the run has intrinsic rewards beside the game's."""
        return self.settings.exploration != "none"

    @property
    def has_page(self) -> bool:
        """Whether the game lives in a page.

        Training begins episodes by the game's own restart, evaluations by fresh pages.
        """
        return self.game.page is not None

    @property
    def is_comparable(self) -> bool:
        """Whether returns may be compared with the first ones.

        Not with lessons, from an earlier policy, or where several agents may be each other's measure.
        """
        return self.starts_untrained and self.game.num_agents == 1 and not self.settings.curriculum.lessons

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Name of each number of the observation, in the learner's order; empty for large ones."""
        return tuple(_names(self.game))

    def share_of_steps(self, divisor: int, max_steps: int) -> int:
        """That part of the run in agent steps, at most `max_steps`; `max_steps` if the run has no end."""
        total = self.settings.total_steps
        return max_steps if total is None else min(max_steps, total // divisor)


def _names(game: GameDescription) -> Iterator[str]:
    """Empty unless the observation is a small vector, or a dictionary of such."""
    space = game.observation
    if isinstance(space, DictSpace):
        boxes = {name: part for name, part in sorted(space.spaces.items()) if isinstance(part, BoxSpace)}
        is_small = len(boxes) == len(space.spaces)
    else:
        boxes, is_small = {"": space}, True
    sizes = [box.size for box in boxes.values()]
    is_vector = all(box.dtype == "float32" and len(box.shape) <= 1 for box in boxes.values())
    if not (is_small and is_vector) or sum(sizes) > MAX_VECTOR:
        return
    for name, box in boxes.items():
        for place in range(box.size):
            yield f"observation.{name}[{place}]" if name else f"observation[{place}]"
