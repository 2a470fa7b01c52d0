"""Settings of game parameters, lessons, callbacks, and averaging between trainers."""

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from attract.settings.base import Positive, Settings, split_names

Range = tuple[float, float]
DistributionKind = Literal["constant", "uniform", "normal", "multi_range"]
KINDS: Final[tuple[DistributionKind, ...]] = ("constant", "uniform", "normal", "multi_range")


class DistributionSettings(Settings):
    """Distribution of one game parameter, drawn at each episode start; a bare number is a constant."""

    constant: float | None = None
    """Always this value."""
    uniform: Range | None = None
    """[low, high]."""
    normal: Range | None = None
    """[mean, standard deviation], clipped to the range that the game declares."""
    multi_range: Annotated[tuple[Range, ...], Field(min_length=1, max_length=32)] | None = None
    """[[low, high], ...]: uniform over all ranges together."""

    @model_validator(mode="before")
    @classmethod
    def _number_is_constant(cls, data: Any) -> Any:
        is_number = isinstance(data, int | float) and not isinstance(data, bool)
        return {"constant": data} if is_number else data

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise ValueError(f"give exactly one of {', '.join(KINDS)}; got {got}")
        if self.normal is not None and self.normal[1] < 0:
            raise ValueError(f"normal: the standard deviation {self.normal[1]:g} is below 0")
        for low, high in self.ranges:
            if low > high:
                raise ValueError(f"{self.kind}: [{low:g}, {high:g}] has its low above its high")
        return self

    @model_serializer
    def _serialise(self) -> dict[str, Any]:
        value = getattr(self, self.kind)
        return {self.kind: value}

    @property
    def kind(self) -> DistributionKind:
        """Which one was given."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """Ranges of possible values; empty for `normal`, which is clipped."""
        if self.constant is not None:
            return ((self.constant, self.constant),)
        if self.uniform is not None:
            return (self.uniform,)
        return self.multi_range or ()


class IntervalSettings(Settings):
    """An interval in episodes or in agent steps."""

    every_episodes: Positive | None = None
    """Interval in episodes. Give this or `every_steps`."""
    every_steps: Positive | None = None
    """Interval in agent steps."""

    @model_validator(mode="after")
    def _is_one_interval(self) -> Self:
        if (self.every_episodes is None) == (self.every_steps is None):
            raise ValueError("give exactly one of every_episodes and every_steps")
        return self


class ThresholdSettings(Settings):
    """A threshold of a metric, to be met in consecutive checks."""

    metric: Annotated[str, Field(min_length=1, max_length=200)]
    """Any metric of the run: `rollout/ep_rew_mean`, `game/food`, `eval/mean_reward`, `train/entropy`, ..."""
    at_least: float | None = None
    at_most: float | None = None
    times: Positive = 3
    """Consecutive checks that must meet the threshold."""

    @model_validator(mode="after")
    def _is_one_side(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give exactly one of at_least and at_most")
        return self

    def is_met(self, value: float) -> bool:
        """Whether `value` is on the right side; one that is not a number never is."""
        if self.at_least is not None:
            return value >= self.at_least
        return self.at_most is not None and value <= self.at_most

    def overlaps(self, other: "ThresholdSettings") -> bool:
        """Whether one value of the same metric could meet both."""
        if self.metric != other.metric:
            return False
        low = max((bounds.at_least for bounds in (self, other) if bounds.at_least is not None), default=None)
        high = min((bounds.at_most for bounds in (self, other) if bounds.at_most is not None), default=None)
        return low is None or high is None or low <= high


class LessonSettings(Settings):
    """One lesson: its game parameters and when it ends."""

    section: ClassVar[str] = ""

    name: Annotated[str, Field(pattern="^[A-Za-z0-9_.-]{1,32}$", examples=["first-steps"])]
    parameters: dict[str, DistributionSettings] = {}
    """Override the run's `parameters`."""
    until: ThresholdSettings | None = None
    """The next lesson begins once this is met. Required for every lesson but the last."""
    back: ThresholdSettings | None = None
    """The previous lesson begins again once this is met. None: never."""
    min_episodes: Annotated[int, Field(ge=0)] = 100
    """Minimum episodes of this lesson."""

    @model_validator(mode="after")
    def _sides_are_apart(self) -> Self:
        if self.until is not None and self.back is not None and self.until.overlaps(self.back):
            raise ValueError(
                f"lesson {self.name!r}: `until` and `back` overlap: a value of {self.until.metric} "
                "meets both; let `back` be met only well short of `until`"
            )
        return self


class CurriculumSettings(Settings):
    """Lessons, in order; without any, the run has one task throughout."""

    section: ClassVar[str] = "curriculum"

    every_episodes: Positive = 20
    """Episodes between two checks of the thresholds."""
    lessons: tuple[LessonSettings, ...] = ()
    """Lessons in order, each with a name, parameters and an end condition. Given in a file or as JSON; see
    docs/curriculum.md."""

    @model_validator(mode="after")
    def _lessons_lead_on(self) -> Self:
        names = [lesson.name for lesson in self.lessons]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two lessons are called {name!r}")
        for lesson in self.lessons[:-1]:
            if lesson.until is None:
                raise ValueError(f"lesson {lesson.name!r} has no `until`, so the next would never begin")
        if self.lessons and self.lessons[-1].until is not None:
            raise ValueError(f"lesson {names[-1]!r} is the last: its `until` leads nowhere")
        if self.lessons and self.lessons[0].back is not None:
            raise ValueError(f"lesson {names[0]!r} is the first: its `back` leads nowhere")
        return self


class EvaluationCallbackSettings(IntervalSettings):
    """Evaluations during training, on fixed seeds."""

    episodes: Positive = 20
    """Episodes per evaluation."""
    modes: Annotated[
        tuple[Literal["deterministic", "sampled"], ...], Field(min_length=1), BeforeValidator(split_names)
    ] = ("deterministic",)
    """`deterministic` writes `eval/*`, `sampled` writes `eval_sampled/*`. The mode that
    `evaluation.deterministic` selects decides `best`."""


class CallbackSettings(Settings):
    """Actions at intervals of episodes or steps."""

    section: ClassVar[str] = "callbacks"

    evaluation: Annotated[EvaluationCallbackSettings | None, Field(title="Evaluation during training")] = None
    """For example {"every_steps": 100000, "episodes": 20}. None: no evaluation during training."""
    checkpoint: Annotated[IntervalSettings | None, Field(title="Permanent checkpoints")] = None
    """For example {"every_steps": 1000000}: keeps the newest version at each interval. None: only the newest,
    the best and at most 100 versions between are kept."""


class FederatedSettings(Settings):
    """Averaging of the policies of several trainers of the same game."""

    section: ClassVar[str] = "federated"

    rendezvous: Annotated[str, Field(pattern=r"^[^\s:]+:\d{1,5}$", examples=["10.0.0.2:29500"])]
    """host:port on which trainer 0 listens; the same for all trainers, and reachable by all."""
    rank: Annotated[int, Field(ge=0)]
    """Rank of this trainer, from 0."""
    world_size: Annotated[int, Field(ge=2, le=64)]
    """Number of trainers."""
    every_episodes: Positive = 1000
    """Interval of the averaging, in episodes of this trainer (`global_episode_index`)."""
    timeout_seconds: Annotated[float, Field(gt=0)] = 600.0
    """How long to wait for the others."""
    lost_seconds: Annotated[float, Field(gt=0)] = 15.0
    """A trainer that was connected and is silent for this long counts as lost; the others continue without
    it."""

    @model_validator(mode="after")
    def _has_a_rank(self) -> Self:
        if self.rank >= self.world_size:
            raise ValueError(f"rank {self.rank} of {self.world_size} trainers; ranks go from 0")
        return self
