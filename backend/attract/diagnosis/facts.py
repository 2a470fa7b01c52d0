"""Facts of a run beside its metrics: about its game, its settings and the machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Self

from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, DictSpace
from attract.settings.run import RunSettings

MAX_VECTOR = 32
"""Maximum size of an observation whose numbers each have a meaning; a larger one may be a board."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Fixed for a run."""

    action: Literal["discrete", "continuous"] = "discrete"
    num_agents: int = 1
    max_steps: int | None = None
    """The game's time limit in steps."""
    seconds_per_step: float = 0.1
    ticks_per_step: int = 1
    observation_names: tuple[str, ...] = ()
    """Name of each number of the observation, in the order of the learner's count; empty for large ones."""
    explores: bool = False
    """Whether the run has intrinsic rewards beside the game's."""
    has_memory: bool = False
    total_steps: int | None = None
    algorithm: str = RunSettings().algorithm
    gamma: float = 0.99
    learning_rate: float = 2.5e-3
    n_epochs: int = 4
    has_page: bool = False
    """Whether the game lives in a page: training begins episodes by the game's own restart, evaluations by
    fresh pages."""
    num_workers: int = 2
    num_cores: int = 2
    is_comparable: bool = True
    """Whether returns may be compared with the first ones: not with lessons, from an earlier policy, or where
    several agents may be each other's measure."""

    @classmethod
    def of(
        cls,
        settings: RunSettings,
        game: GameDescription,
        *,
        num_cores: int,
        starts_untrained: bool = True,
    ) -> Self:
        """Facts from the settings and the game.

        Args:
            settings: of the run.
            game: as its first worker described it.
            num_cores: processors of this machine.
            starts_untrained: whether its first policy was random.
        """
        algorithm, collection = settings.algorithm_settings, settings.collection
        return cls(
            action="continuous" if isinstance(game.action, BoxSpace) else "discrete",
            num_agents=game.num_agents,
            max_steps=game.max_steps,
            seconds_per_step=game.seconds_per_step,
            ticks_per_step=game.ticks_per_step,
            observation_names=tuple(_names(game)),
            explores=settings.exploration != "none",
            has_memory=settings.policy.state_size > 0,
            total_steps=settings.total_steps,
            algorithm=settings.algorithm,
            gamma=algorithm.gamma,
            learning_rate=algorithm.learning_rate,
            n_epochs=algorithm.n_epochs,
            has_page=game.page is not None,
            num_workers=collection.num_workers,
            num_cores=num_cores,
            is_comparable=starts_untrained and game.num_agents == 1 and not settings.curriculum.lessons,
        )

    def share_of_steps(self, divisor: int, max_steps: int) -> int:
        """That part of the run in agent steps, at most `max_steps`; `max_steps` if the run has no end."""
        return max_steps if self.total_steps is None else min(max_steps, self.total_steps // divisor)


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
