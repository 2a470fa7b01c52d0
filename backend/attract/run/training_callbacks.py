"""The course of a run: lessons, evaluations and what else falls due along the way, and when it is over."""

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Protocol

from attract.collection.core import CollectionCore
from attract.collection.effects import Effect, EpisodesCounted
from attract.curriculum.controller import Action, ChangeLesson, CurriculumController, Evaluate, KeepVersion
from attract.run.background import BackgroundTasks
from attract.run.evaluation import Evaluator
from attract.run.goal import Decision
from attract.run.notifications import Notifications
from attract.run.progress import RunProgress
from attract.run.record import RunRecord
from attract.runs.metrics import UpdateRow
from attract.schema.api import GameReport, RunState
from attract.schema.game import GameDescription
from attract.schema.learner import Counters, Published, Ready, Train
from attract.settings.run import RunSettings


class RunControl(Protocol):
    """What the parts of a run ask of it; all on the event loop."""

    @property
    def is_ending(self) -> bool:
        """Whether the run's end has begun."""
        ...

    def apply_effects(self, emitted: list[Effect]) -> None:
        """Do what the core wants."""
        ...

    async def pause(self) -> None:
        """Give no new leases."""
        ...

    def end(self, state: RunState, *, version: int | None = None) -> None:
        """End in good order; `version`: to export, None: the newest."""
        ...

    def fail(self, error: str, *, refused: bool = False) -> None:
        """The run cannot go on; `refused`: what was asked for cannot be."""
        ...

    def broke(self, error: BaseException) -> None:
        """A part of it failed where nothing should."""
        ...


class TrainingCallbacks:
    """Asks the controller what is due and has it done; owned by the active run, used on its event loop.

    Rules C6 and D2: what is decided goes into the next update's checkpoint, with the counters of then.
    """

    def __init__(
        self,
        control: RunControl,
        controller: CurriculumController,
        settings: RunSettings,
        core: CollectionCore,
        progress: RunProgress,
        record: RunRecord,
        news: Notifications,
        evaluator: Evaluator,
        background: BackgroundTasks,
        clock: Callable[[], float],
    ) -> None:
        self.confirming = False
        """The goal is being confirmed; the core is paused until that is decided."""
        self._control = control
        self._controller = controller
        self._settings = settings
        self._core = core
        self._progress = progress
        self._record = record
        self._notifications = news
        self._evaluator = evaluator
        self._background = background
        self._clock = clock
        self._due: list[Action] = []
        self._resumed = False
        self._train: Train | None = None
        self._held: dict[int, list[Action]] = {}
        """What fell due with updates whose version is not announced yet."""
        self._decided: tuple[int, Decision] | None = None
        """(update, what its version is for), from when it is trained until it is announced."""
        self._callback: asyncio.Lock = asyncio.Lock()
        """Held by the one evaluation that the run asked for itself."""

    # --- what is heard ---

    def described(self, game: GameDescription) -> None:
        """The game is known. Raises: ConfigurationError: when it has not what the settings name."""
        self._controller.described(game)
        self._set_lesson()

    def learner_ready(self, ready: Ready) -> None:
        """A learner has its policy; the first of a session may bring what a checkpoint knew (rule D2).

        Raises: ConfigurationError: when the checkpoint's lesson is no longer there.
        """
        if self._resumed:
            self._controller.load_rounds(ready.curriculum)
            return
        self._resumed = True
        counters = ready.counters
        self._controller.load(ready.curriculum, counters.global_episode_index, counters.agent_steps)
        self._evaluator.load(ready.curriculum.get("best", {}))
        self._core.first_versions.update(ready.curriculum.get("guests", {}))
        self._set_lesson()

    def counted(self, episodes: EpisodesCounted) -> None:
        """Finished episodes."""
        self._progress.statistics.count(episodes.results)
        self._due += self._controller.count(episodes.first_index, episodes.results)

    def train_message(self, train: Train) -> Train:
        """The message of an update with what its checkpoint must know; said again, it is the same."""
        if self._train is None or self._train.batch_id != train.batch_id:
            rounds = self._controller.next_rounds(train.counters.global_episode_index)
            state = {**self._controller.state(), "best": self._evaluator.state()}
            if self._core.first_versions:
                state["guests"] = dict(self._core.first_versions)
            self._train = train.model_copy(update={"curriculum": state, "federated_rounds": rounds})
        return self._train

    def dropped(self, train: Train) -> None:
        """An update was undone (rule P8)."""
        self._controller.rounds_undone(train.federated_rounds)

    def trained(self, counters: Counters, values: Mapping[str, float]) -> None:
        """An update is done: see whether the goal is reached; if so, no other begins."""
        if self._control.is_ending:
            return
        self._held[counters.updates] = self._controller.committed(values, counters.agent_steps)
        decision = self._progress.goal.after_update(
            counters.updates, counters.agent_steps, is_last_lesson=self._controller.is_last_lesson
        )
        if decision == "evaluate" and (self.confirming or self._evaluator.is_running):
            return
        if decision != "go_on":
            # Paused, no update begins: the version to be confirmed, or the last one, stays the newest.
            self.confirming = self.confirming or decision == "evaluate"
            self._decided = counters.updates, decision
            self._control.apply_effects(self._core.pause(self._clock()))

    def learner_lost(self) -> None:
        """What it trained and had not made durable is gone, and with it what was decided of it."""
        if self._decided is not None:
            self._decided, self.confirming = None, False
            if self._progress.state != "paused":
                self._control.apply_effects(self._core.resume(self._clock()))

    def announce(self, row: UpdateRow, published: Published) -> None:
        """Let workers have a committed version, and do what was decided of it."""
        for update in [update for update in self._held if update <= row.update]:
            self._due += self._held.pop(update)
        self._control.apply_effects(self._core.published(published, self._clock()))
        update, decision = self._decided or (None, "go_on")
        if update != row.update:
            return
        self._decided = None
        if self._control.is_ending:
            return
        if decision == "evaluate":
            self._background.spawn(self._confirm(row.update))
        if decision == "finish":
            self._control.end("finished")

    def act(self) -> None:
        """Do what has fallen due; called after all effects of the core were applied."""
        due, self._due = self._due, []
        for action in due:
            match action:
                case ChangeLesson():
                    self._change_lesson(action)
                case KeepVersion():
                    self._background.spawn(self._record.keep_version(self._progress.policy_version))
                case Evaluate():
                    if not self._callback.locked() and not self._control.is_ending:
                        self._background.spawn(self._evaluate(action))

    # --- what is done ---

    def _change_lesson(self, action: ChangeLesson) -> None:
        self._set_lesson()
        view = self._progress.lesson()
        if view is not None:
            told = {"global_episode_index": action.global_episode_index, "reason": action.change.reason}
            self._notifications.publish("lesson", view.model_copy(update=told))

    def _set_lesson(self) -> None:
        controller, now = self._controller, self._clock()
        parameters = self._progress.parameters = controller.parameters()
        if parameters or controller.lesson_id is not None:
            self._core.set_evaluation_parameters(controller.base_parameters())
            self._control.apply_effects(self._core.set_lesson(controller.lesson_id, parameters, now))

    async def _evaluate(self, action: Evaluate) -> None:
        async with self._callback:
            for mode in action.modes:
                await self._evaluator.run_in_turn(
                    action.episodes,
                    deterministic=mode == "deterministic",
                    seed=self._settings.evaluation.seed,
                )
                await self._notifications.changed()

    async def _confirm(self, update: int) -> None:
        wanted = self._settings.evaluation
        self._progress.state = "evaluating"
        self._background.spawn(self._notifications.changed())
        view = await self._evaluator.run_in_turn(
            wanted.episodes, deterministic=wanted.deterministic, seed=wanted.seed
        )
        self.confirming = False
        if self._control.is_ending:
            return
        if not view.confirmed:
            text = (
                f"an evaluation of invited hosts alone came to {view.return_mean:g}: a goal is confirmed by "
                "hosts of your own; start one here with the dashboard's `Run workers in this tab`"
            )
            self._notifications.report(
                GameReport(kind="strangers", name="Unconfirmed", text=text, stack=None)
            )
        reached = view.return_mean if view.confirmed else -math.inf
        if self._progress.goal.evaluated(update, reached) == "finish":
            self._control.end("finished", version=view.policy_version)
        elif self._progress.state == "evaluating":
            self._progress.state = "running"
            self._control.apply_effects(self._core.resume(self._clock()))
        await self._notifications.changed()
