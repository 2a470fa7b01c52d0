"""Decides what happens along the way of a run: callbacks as they fall due, and the lesson (rules C6, D2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from attract.curriculum.lessons import LessonChange, Lessons, resolve_parameters
from attract.curriculum.window import EpisodeWindow, check_metric, is_of_window
from attract.schema.episodes import Episodes
from attract.schema.game import GameDescription
from attract.schema.messages import ParameterDistribution
from attract.settings.curriculum import IntervalSettings
from attract.settings.run import RunSettings

Mode = Literal["deterministic", "sampled"]


class Trigger:
    """When a callback is due (rule C6): counts the multiples of `every` that a rising count has passed."""

    def __init__(self, every: int) -> None:
        self.every = every
        self._passed = 0

    def passed(self, count: int) -> int:
        """How many multiples of `every` lie between the last count and this one, this one included.

        A count that went back, as after a learner's death, brings nothing a second time.
        """
        new = count // self.every - self._passed
        if new <= 0:
            return 0
        self._passed += new
        return new

    def state(self) -> dict[str, int]:
        return {"every": self.every, "passed": self._passed}

    def load(self, state: dict[str, Any], count: int) -> None:
        """Go on where `state` was, at `count`; under another interval, from `count` on."""
        same = state.get("every") == self.every
        self._passed = int(state["passed"]) if same else count // self.every


@dataclass(frozen=True)
class Evaluate:
    """Play fixed-seed episodes with the newest version, once in each mode."""

    episodes: int
    modes: tuple[Mode, ...]


@dataclass(frozen=True)
class KeepVersion:
    """Keep the newest version's checkpoint permanently."""


@dataclass(frozen=True)
class ChangeLesson:
    """Start games with the new lesson's parameters from now on."""

    change: LessonChange
    global_episode_index: int
    """Index of the episode after which it changed."""


Action = Evaluate | KeepVersion | ChangeLesson


class CurriculumController:
    """One per run, owned by the active run: gets episodes and updates, answers with actions.

    Same episodes in the same order, same actions: nothing depends on how they arrive in bundles.
    """

    def __init__(self, settings: RunSettings) -> None:
        self.window = EpisodeWindow()
        """The last 100 episodes of the lesson that is played."""
        self.lessons = Lessons(settings.curriculum.lessons) if settings.curriculum.lessons else None
        self._settings = settings
        self._checks = Trigger(settings.curriculum.every_episodes)
        self._by_episodes: dict[str, Trigger] = {}
        self._by_steps: dict[str, Trigger] = {}
        self._watched = {
            threshold.metric
            for lesson in settings.curriculum.lessons
            for threshold in (lesson.until, lesson.back)
            if threshold is not None
        }
        self._add("evaluation", settings.callbacks.evaluation)
        self._add("checkpoint", settings.callbacks.checkpoint)
        self._values: dict[str, float] = {}
        """Further values for thresholds, beside the window, that are new since the last check."""
        self._game: GameDescription | None = None
        self._rounds = 0
        """Rounds of averaging that the learner was ordered to do, or had done when it resumed."""

    # --- what is played ---

    def described(self, game: GameDescription) -> None:
        """The game is known: its parameters and metrics are those that the settings name.

        Raises: ConfigurationError: when they are not, naming the nearest.
        """
        settings = self._settings
        resolve_parameters(settings.parameters, game, setting="parameters")
        for lesson in settings.curriculum.lessons:
            place = f"curriculum.lessons.{lesson.name}"
            resolve_parameters(lesson.parameters, game, setting=f"{place}.parameters")
            for threshold in (lesson.until, lesson.back):
                if threshold is not None:
                    check_metric(threshold.metric, settings, game, setting=f"{place}.metric")
        self._game = game
        self.window.reward_weights = game.reward_terms

    @property
    def lesson_id(self) -> str | None:
        """Name of the lesson that is played; None without lessons."""
        return None if self.lessons is None else self.lessons.lesson.name

    @property
    def is_last_lesson(self) -> bool:
        """Whether no harder task will come."""
        return self.lessons is None or self.lessons.is_last

    def base_parameters(self) -> dict[str, ParameterDistribution]:
        """Parameters of the games of evaluations, independent of the lesson."""
        return resolve_parameters(self._settings.parameters, self._described(), setting="parameters")

    def parameters(self) -> dict[str, ParameterDistribution]:
        """Parameters of the games of training now. Raises: RuntimeError: before `described`."""
        parameters = self.base_parameters()
        if self.lessons is not None:
            own = self.lessons.lesson.parameters
            parameters.update(resolve_parameters(own, self._described(), setting="curriculum"))
        return parameters

    # --- what happened ---

    def count(self, first_index: int, episodes: Episodes) -> list[Action]:
        """Finished episodes, numbered from `first_index` (C6); what is due after each."""
        if self.lessons is None and not self._by_episodes:
            # Nothing can fall due between them.
            self.window.extend(episodes)
            return []
        actions: list[Action] = []
        played = (None, self.lesson_id)
        for index, result in enumerate(episodes, first_index):
            # Games that began before a change of lesson end in the new one, and do not count for it.
            if result.lesson_id in played:
                self.window.add(result)
                if self.lessons is not None:
                    self.lessons.count()
            if self._by_episodes:
                actions += self._due(self._by_episodes, index + 1)
            if self._checks.passed(index + 1) and self.lessons is not None:
                actions += self._check_lesson(self.lessons, index)
                played = (None, self.lesson_id)
        return actions

    def committed(self, values: Mapping[str, float], agent_steps: int) -> list[Action]:
        """Record an update committed with these metrics; returns the actions due at its steps."""
        self._keep_watched(values)
        return self._due(self._by_steps, agent_steps)

    def evaluated(self, values: Mapping[str, float]) -> None:
        """An evaluation gave these metrics."""
        self._keep_watched(values)

    # --- averaging ---

    def next_rounds(self, global_episode_index: int) -> list[int]:
        """Rounds of averaging that fall due with an update at that count, from 1; each is given once."""
        federated = self._settings.federated
        if federated is None:
            return []
        due = global_episode_index // federated.every_episodes
        rounds = list(range(self._rounds + 1, due + 1))
        self._rounds = max(self._rounds, due)
        return rounds

    def rounds_undone(self, rounds: list[int]) -> None:
        """The update that these rounds were given with was dropped: they are due again."""
        if rounds:
            self._rounds = rounds[0] - 1

    # --- checkpoints (rule D2) ---

    def state(self) -> dict[str, Any]:
        """Everything that is not a setting, as JSON values, for the checkpoint of the next update."""
        return {
            "lesson": None if self.lessons is None else self.lessons.state(),
            "window": self.window.state(),
            "values": dict(self._values),
            "triggers": {name: trigger.state() for name, trigger in self._triggers()},
            "federated_rounds": self._rounds,
        }

    def load(self, state: Mapping[str, Any], global_episode_index: int, agent_steps: int) -> None:
        """Resume from a checkpoint's state; an empty one starts from the beginning.

        Raises: ConfigurationError: when its lesson is no longer there.
        """
        triggers: Mapping[str, Any] = state.get("triggers", {})
        for name, trigger in self._triggers():
            count = agent_steps if name in self._by_steps else global_episode_index
            if name in triggers:
                trigger.load(triggers[name], count)
            else:
                trigger.passed(count)
        self.window.load(state.get("window", []))
        self._values.update(state.get("values", {}))
        self.load_rounds(state)
        if self.lessons is not None and state.get("lesson") is not None:
            self.lessons.load(state["lesson"])

    def load_rounds(self, state: Mapping[str, Any]) -> None:
        """Another learner continues from its checkpoint: later rounds of averaging are due again."""
        self._rounds = int(state.get("federated_rounds", 0))

    # --- inside ---

    def _add(self, name: str, interval: IntervalSettings | None) -> None:
        if interval is not None and interval.every_episodes is not None:
            self._by_episodes[name] = Trigger(interval.every_episodes)
        elif interval is not None and interval.every_steps is not None:
            self._by_steps[name] = Trigger(interval.every_steps)

    def _triggers(self) -> list[tuple[str, Trigger]]:
        return [("lesson", self._checks), *self._by_episodes.items(), *self._by_steps.items()]

    def _due(self, triggers: Mapping[str, Trigger], count: int) -> list[Action]:
        actions: list[Action] = []
        for name, trigger in triggers.items():
            # Several at once are one: they would all be of the same version.
            if trigger.passed(count):
                actions.append(self._action(name))
        return actions

    def _action(self, name: str) -> Action:
        evaluation = self._settings.callbacks.evaluation
        if name == "evaluation" and evaluation is not None:
            return Evaluate(evaluation.episodes, evaluation.modes)
        return KeepVersion()

    def _check_lesson(self, lessons: Lessons, index: int) -> list[Action]:
        change = lessons.check(self._value)
        self._values.clear()
        if change is None:
            return []
        self.window.clear()
        return [ChangeLesson(change, index)]

    def _keep_watched(self, values: Mapping[str, float]) -> None:
        self._values.update({name: values[name] for name in self._watched & values.keys()})

    def _value(self, name: str) -> float | None:
        return self.window.mean(name) if is_of_window(name) else self._values.get(name)

    def _described(self) -> GameDescription:
        if self._game is None:
            raise RuntimeError("expected a described game before its parameters, none is known yet")
        return self._game
