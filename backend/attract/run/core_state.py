"""State of the run core, and its smallest steps: pauses, ends, effects."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from attract.collection import effects as collecting
from attract.collection import inputs
from attract.collection.core import CollectionCore, Input, P
from attract.curriculum.controller import Action, CurriculumController
from attract.run import effects
from attract.run.effects import Effect
from attract.run.evaluation import Evaluations
from attract.run.goal import Decision
from attract.run.life import PauseReason, Phase
from attract.run.progress import RunProgress
from attract.run.updates import Updates
from attract.runs.metrics import UpdateRow
from attract.schema.api import FleetView, RunState
from attract.schema.game import GameDescription
from attract.schema.learner import Counters, Published, Ready, Train
from attract.settings.run import RunSettings

Handler = Callable[["CoreState", Any, float], None]
"""Handles one type of effect of the collection core."""


@dataclass(frozen=True)
class Commit:
    """A row that is being written, and what is to be announced once it is."""

    row: UpdateRow
    counters: Counters
    said: Ready | Published


class CoreState:
    """Everything the run core remembers; changed by the modules of its decisions alone."""

    handlers: Mapping[type[Any], Handler] = {}
    """By the kind of effect of the collection core; the others come out again."""

    def __init__(
        self,
        settings: RunSettings,
        collection: CollectionCore,
        controller: CurriculumController,
        progress: RunProgress,
        *,
        num_cores: int = 1,
        starts_untrained: bool = True,
        trains: bool = True,
        expected: GameDescription | None = None,
    ) -> None:
        """`num_cores`: of this machine; `starts_untrained`: its first policy is random; `trains`: False for a
        past run that is only evaluated or exported, and keeps nothing.
        """
        self.settings = settings
        self.collection = collection
        self.controller = controller
        self.progress = progress
        self.life = progress.life
        self.updates = Updates()
        self.evaluations = Evaluations()
        self.num_cores = num_cores
        self.starts_untrained = starts_untrained
        self.trains = trains
        self.has_policy = False
        """There is a policy, and a learner that has it."""
        self.has_lost_policy = False
        """The learner died with a policy that another one will have."""
        self.learner_is_ready = False
        """A learner has said that it has its policy, or waits for the first statistics."""
        self.was_resumed = False
        """The first learner of this session has brought what its checkpoint knew."""
        self.sockets_refused = 0
        """So far, for the metrics; the effect runner sets it."""
        self.due: list[Action] = []
        self.held: dict[int, list[Action]] = {}
        """What fell due with updates whose version is not announced yet."""
        self.awaited: tuple[int, Decision] | None = None
        """(update, what its version is for), while `PauseReason.AWAITED_VERSION` holds."""
        self.commit: Commit | None = None
        """The row that is being written."""
        self.train: Train | None = None
        """The last update that was begun, as the learner was told."""
        self.refusal: str | None = None
        """Why the disk refuses writes."""
        self.expected = expected
        """What the game of a resumed run must say of itself."""
        self.is_aborted = False
        self.export_version: int | None = None
        """To be exported at the end; None: the newest."""
        self.num_exports = 0
        """Attempts at the last export."""
        self.export: tuple[int | None, str | None] = (None, None)
        """Version and folder of the export, once there is one."""
        self.out: list[Effect] = []
        self.pending: deque[collecting.Effect] = deque()
        """Effects of the collection core that were not taken in yet."""
        self.is_absorbing = False

    def fleet(self, now: float) -> FleetView:
        """Hosts and workers now."""
        view = self.collection.fleet_view(now)
        return view.model_copy(update={"sockets_refused": self.sockets_refused})

    @property
    def is_closed(self) -> bool:
        """Whether the learner's words mean nothing any more."""
        return self.is_aborted or self.life.phase in (Phase.CLOSING, Phase.ENDED)

    def collect(self, handler: Input[P], now: float, *args: P.args, **kwargs: P.kwargs) -> None:
        """Give the collection core an input, and take in what it emits."""
        self.absorb(self.collection.handle(handler, now, *args, **kwargs), now)

    def absorb(self, emitted: Iterable[collecting.Effect], now: float) -> None:
        """Take in what the collection core emits, in its order, before anything else is decided."""
        self.pending.extend(emitted)
        if self.is_absorbing:
            return
        self.is_absorbing = True
        try:
            while self.pending:
                effect = self.pending.popleft()
                handle = self.handlers.get(type(effect))
                if handle is None:
                    self.out.append(effect)
                else:
                    handle(self, effect, now)
        finally:
            self.is_absorbing = False

    def changed(self) -> None:
        """Tell everyone that the run's state changed."""
        self.out.append(effects.StateChanged())

    def pause(self, reason: PauseReason, now: float, text: str | None = None) -> None:
        """One reason more for being paused, with a sentence for people."""
        was_paused = bool(self.life.reasons)
        self.life.pause(reason, text)
        if not was_paused:
            self.collect(inputs.pause, now)

    def lift(self, now: float, *reasons: PauseReason) -> None:
        """These hold no longer; with the last of them the run goes on."""
        was_paused = bool(self.life.reasons)
        self.life.lift(*reasons)
        if was_paused and not self.life.reasons:
            self.collect(inputs.resume, now)

    def fail(self, error: str, now: float, *, refused: bool = False) -> None:
        """The run cannot go on; one that ends already has this error besides."""
        if self.life.is_over:
            return
        if self.life.is_ending:
            self.life.fail(error, as_failed=False)
        else:
            self.progress.refused = refused
            self.end("failed", now, error=error)

    def end(
        self, outcome: RunState, now: float, *, version: int | None = None, error: str | None = None
    ) -> None:
        """The end begins; `version`: to export, None: the newest; `error`: what it fails with."""
        if self.life.is_ending:
            return
        self.progress.ended(now)
        self.life.end(outcome)
        if error is not None:
            self.life.fail(error)
        self.export_version = version
        self.collect(inputs.end_run, now)

    def forget(self) -> None:
        """What is in the learner's hands is lost."""
        self.updates.forget()
        self.has_policy = self.learner_is_ready = False
