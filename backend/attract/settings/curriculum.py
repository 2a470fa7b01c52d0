"""Settings of what happens along the way: game parameters, lessons, callbacks, averaging between trainers."""

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from attract.settings.base import Positive, Settings, split_names

Range = tuple[float, float]
DistributionKind = Literal["constant", "uniform", "normal", "multi_range"]
KINDS: Final[tuple[DistributionKind, ...]] = ("constant", "uniform", "normal", "multi_range")


class DistributionSettings(Settings):
    """How one game parameter is drawn at each start; a bare number is a constant."""

    constant: float | None = None
    """The same at each start."""
    uniform: Range | None = None
    """[low, high]."""
    normal: Range | None = None
    """[mean, standard deviation], clipped to the range that the game declares."""
    multi_range: Annotated[tuple[Range, ...], Field(min_length=1, max_length=32)] | None = None
    """[[low, high], ...]: each range as likely as it is wide."""

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
        """What can be drawn; nothing for `normal`, which is clipped."""
        if self.constant is not None:
            return ((self.constant, self.constant),)
        if self.uniform is not None:
            return (self.uniform,)
        return self.multi_range or ()


class IntervalSettings(Settings):
    """Every so many episodes or every so many agent steps."""

    every_episodes: Positive | None = None
    """After so many episodes each time; this or `every_steps`."""
    every_steps: Positive | None = None
    """After so many agent steps each time."""

    @model_validator(mode="after")
    def _is_one_interval(self) -> Self:
        if (self.every_episodes is None) == (self.every_steps is None):
            raise ValueError("give exactly one of every_episodes and every_steps")
        return self


class ThresholdSettings(Settings):
    """A metric that is on the right side of a number, so many checks in a row."""

    metric: Annotated[str, Field(min_length=1, max_length=200)]
    """Any metric of the run: `rollout/ep_rew_mean`, `game/food`, `eval/mean_reward`, `train/entropy`, ..."""
    at_least: float | None = None
    at_most: float | None = None
    times: Positive = 3
    """Checks in a row that must agree."""

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
    """One lesson: what the games are started with, and when it is over."""

    section: ClassVar[str] = ""

    name: Annotated[str, Field(pattern="^[A-Za-z0-9_.-]{1,32}$", examples=["first-steps"])]
    parameters: dict[str, DistributionSettings] = {}
    """On top of the run's own `parameters`."""
    until: ThresholdSettings | None = None
    """On to the next lesson once this is met; every lesson but the last has it."""
    back: ThresholdSettings | None = None
    """Back to the lesson before once this is met; None: never."""
    min_episodes: Annotated[int, Field(ge=0)] = 100
    """Episodes of this lesson before it can end."""

    @model_validator(mode="after")
    def _sides_are_apart(self) -> Self:
        if self.until is not None and self.back is not None and self.until.overlaps(self.back):
            raise ValueError(
                f"lesson {self.name!r}: `until` and `back` overlap: a value of {self.until.metric} "
                "meets both; let `back` be met only well short of `until`"
            )
        return self


class CurriculumSettings(Settings):
    """Lessons, from the first to the last; without any the run has one task throughout."""

    section: ClassVar[str] = "curriculum"

    every_episodes: Positive = 20
    """Episodes between two looks at the thresholds."""
    lessons: tuple[LessonSettings, ...] = ()
    """From the first to the last, each with a name, its parameters and until when it is played: in a file, or
    as JSON; see docs/curriculum.md."""

    @model_validator(mode="after")
    def _lessons_lead_on(self) -> Self:
        names = [lesson.name for lesson in self.lessons]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two lessons are called {name!r}")
        for lesson in self.lessons[:-1]:
            if lesson.until is None:
                raise ValueError(f"lesson {lesson.name!r} has no `until`, so the next would never come")
        if self.lessons and self.lessons[-1].until is not None:
            raise ValueError(f"lesson {names[-1]!r} is the last: its `until` leads nowhere")
        if self.lessons and self.lessons[0].back is not None:
            raise ValueError(f"lesson {names[0]!r} is the first: its `back` leads nowhere")
        return self


class EvaluationCallbackSettings(IntervalSettings):
    """Evaluations while the run trains: fixed seeds, each episode to its end."""

    episodes: Positive = 20
    """How many episodes each of them plays."""
    modes: Annotated[
        tuple[Literal["deterministic", "sampled"], ...], Field(min_length=1), BeforeValidator(split_names)
    ] = ("deterministic",)
    """`deterministic` gives `eval/*`, `sampled` gives `eval_sampled/*`. Those of the kind that
    `evaluation.deterministic` says decide `best`."""


class CallbackSettings(Settings):
    """What else hangs on episodes and steps; None: nothing."""

    section: ClassVar[str] = "callbacks"

    evaluation: Annotated[EvaluationCallbackSettings | None, Field(title="Evaluations while it trains")] = (
        None
    )
    """Such as {"every_steps": 100000, "episodes": 20}. None: none."""
    checkpoint: Annotated[IntervalSettings | None, Field(title="Versions kept for good")] = None
    """Such as {"every_steps": 1000000}: the newest one each time. None: only the newest, the best and at most
    100 between are kept."""


class FederatedSettings(Settings):
    """Trainers of the same game and policy that become their average every so many episodes."""

    section: ClassVar[str] = "federated"

    rendezvous: Annotated[str, Field(pattern=r"^[^\s:]+:\d{1,5}$", examples=["10.0.0.2:29500"])]
    """host:port at which trainer 0 listens; the same on all, and reachable by all."""
    rank: Annotated[int, Field(ge=0)]
    """Which of the trainers this is, from 0."""
    world_size: Annotated[int, Field(ge=2, le=64)]
    """How many there are."""
    every_episodes: Positive = 1000
    """Averaged each time this trainer's own `global_episode_index` has grown by so much."""
    timeout_seconds: Annotated[float, Field(gt=0)] = 600.0
    """How long the others are waited for."""
    lost_seconds: Annotated[float, Field(gt=0)] = 15.0
    """Silence after which a trainer that was there is gone: the others go on without it."""

    @model_validator(mode="after")
    def _has_a_rank(self) -> Self:
        if self.rank >= self.world_size:
            raise ValueError(f"rank {self.rank} of {self.world_size} trainers; ranks go from 0")
        return self
