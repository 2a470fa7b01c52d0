"""The run core: takes inputs of collection, learner, disk and people, and returns effects; no I/O."""

from typing import Any, Final

from attract.collection.core import CollectionCore
from attract.collection.inputs import GameRemembered
from attract.curriculum.controller import CurriculumController
from attract.errors import AttractError, ConfigurationError
from attract.run import callbacks, collection_effects, effects, ending, inputs, versions
from attract.run.core_state import CoreState, Handler
from attract.run.effects import Effect
from attract.run.evaluation import EvaluationRequest
from attract.run.inputs import Input
from attract.run.life import LIFTED_BY_HAND, PauseReason
from attract.run.progress import RunProgress
from attract.schema.api import FleetView, GameReport, RandomPlay
from attract.schema.game import GameDescription
from attract.schema.learner import Dropped, Published, Trained
from attract.settings.run import RunSettings


class RunCore:
    """Decides what becomes of a run: when it pauses, what is announced, what is evaluated, when it is over.

    Owned by the effect runner. `collection` belongs to it: what that core emits is given to it as
    `Collected`, and comes out again where the run has no part in it. The learner's messages come one at a
    time: the next one once the row of the one before is committed (rule D1).
    """

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
        past run that is only evaluated or exported, and keeps nothing; `expected`: how the game of a resumed
        run must describe itself.
        """
        self._state = CoreState(
            settings,
            collection,
            controller,
            progress,
            collection_effects.HANDLERS,
            num_cores=num_cores,
            starts_untrained=starts_untrained,
            trains=trains,
            expected=expected,
        )

    # --- views ---

    @property
    def collection(self) -> CollectionCore:
        """The core that decides who plays what."""
        return self._state.collection

    @property
    def progress(self) -> RunProgress:
        """How far the run is."""
        return self._state.progress

    @property
    def has_policy(self) -> bool:
        """Whether there is a policy, and a learner that has it."""
        return self._state.has_policy

    @property
    def learner_is_ready(self) -> bool:
        """Whether a learner has said that it has its policy, or waits for the first statistics."""
        return self._state.learner_is_ready

    @property
    def num_dropped(self) -> int:
        """Updates that were undone (rule P8)."""
        return self._state.updates.num_dropped

    @property
    def export(self) -> tuple[int | None, str | None]:
        """Version and folder of the export that ended the run; None without one."""
        return self._state.export

    def sockets_refused(self, number: int) -> None:
        """How many sockets were refused so far, for the metrics."""
        self._state.sockets_refused = number

    def handle(self, event: Input, now: float) -> list[Effect]:
        """Take one input; `now`: monotonic seconds that never go back.

        Returns: what is to be done, in order.
        Raises: KeyError, for `LetIn`: that identity is not banned. ConfigurationError, for an
            `EvaluationRequest`: another is under way. AttractError, for the same: the run ends.
        """
        state = self._state
        HANDLERS[type(event)](state, event, now)
        while state.due or callbacks.begin_evaluation(state, now):
            due, state.due = state.due, []
            for action in due:
                callbacks.act(state, action, now)
        ending.finish(state)
        out, state.out = state.out, []
        return out


# --- the collection core and time ---


def _collected(state: CoreState, event: inputs.Collected, now: float) -> None:
    if not state.life.is_over:
        state.absorb(event.emitted, now)


def _tick(state: CoreState, event: inputs.Tick, now: float) -> None:
    if not state.life.is_over:
        state.collect(event, now)


def _look_for_workers(state: CoreState, fleet: FleetView, now: float) -> None:
    if state.progress.look_for_workers(fleet, now) and not state.life.is_ending:
        state.changed()


# --- the game ---


def _begin(state: CoreState, event: inputs.Begin, now: float) -> None:
    if not state.trains:
        state.pause(PauseReason.NOT_TRAINING, now)
    if event.before is not None:
        state.progress.went_before(event.before)
    if event.description is not None:
        collection_effects.describe(state, event.description, now)
        if event.is_same_module and not state.life.is_ending:
            state.collect(GameRemembered(event.description), now)
    state.changed()


def _game_checked(state: CoreState, event: inputs.GameChecked, now: float) -> None:
    if state.life.is_ending:
        return
    state.progress.check = list(event.findings)
    state.collect(event, now)
    first = next((finding for finding in event.findings if finding.severity == "error"), None)
    error = "the game cannot be played" + ("" if first is None else f": {first.text}")
    for finding in event.findings:
        report = GameReport(
            kind="check",
            name=finding.id,
            text=finding.text,
            stack=finding.stack,
            fix=finding.fix,
            severity=finding.severity,
            run_error=error if event.unplayable and finding is first else None,
        )
        state.out.append(effects.Report(report))
    if event.unplayable:
        state.fail(error, now)


def _played_at_random(state: CoreState, play: RandomPlay, now: float) -> None:
    state.progress.played_at_random(play)
    if not state.life.is_ending:
        state.changed()


# --- people and the disk ---


def _pause(state: CoreState, event: inputs.Pause, now: float) -> None:
    if not state.life.is_ending and PauseReason.USER not in state.life.reasons:
        state.pause(PauseReason.USER, now)
        state.changed()


def _resume(state: CoreState, event: inputs.Resume, now: float) -> None:
    if not state.life.is_ending and state.life.reasons.intersection(LIFTED_BY_HAND):
        state.lift(now, *LIFTED_BY_HAND)
        state.changed()


def _disk_changed(state: CoreState, event: inputs.DiskChanged, now: float) -> None:
    if state.life.is_over:
        return
    state.refusal = event.reason
    if event.reason is not None:
        text = f"paused until the disk takes writes again: {event.reason}"
        state.pause(PauseReason.DISK, now, text)
    else:
        state.lift(now, PauseReason.DISK)
    if not state.life.is_ending:
        state.changed()


def _let_in(state: CoreState, event: inputs.LetIn, now: float) -> None:
    state.collect(event, now)
    state.changed()


def _evaluate(state: CoreState, request: EvaluationRequest, now: float) -> None:
    if state.life.is_ending:
        raise AttractError(f"the run ended: {state.life.error or state.life.shown}")
    if state.evaluations.is_running:
        raise ConfigurationError("an evaluation is under way", fix="wait until it is done")
    state.evaluations.add(request)


def _end_evaluation(state: CoreState, event: inputs.EndEvaluation, now: float) -> None:
    if state.evaluations.is_asked:
        state.collect(event, now)


HANDLERS: Final[dict[type[Any], Handler]] = {
    inputs.Begin: _begin,
    inputs.Tick: _tick,
    inputs.Collected: _collected,
    FleetView: _look_for_workers,
    inputs.GameChecked: _game_checked,
    RandomPlay: _played_at_random,
    inputs.LearnerReady: versions.learner_ready,
    Trained: versions.trained,
    Published: versions.published,
    Dropped: versions.dropped,
    inputs.LearnerLost: versions.learner_lost,
    inputs.LearnerFailed: versions.learner_failed,
    inputs.RowCommitted: versions.row_committed,
    inputs.RowFailed: versions.row_failed,
    inputs.DiskChanged: _disk_changed,
    inputs.Pause: _pause,
    inputs.Resume: _resume,
    inputs.LetIn: _let_in,
    EvaluationRequest: _evaluate,
    inputs.EndEvaluation: _end_evaluation,
    inputs.Stop: ending.stop,
    inputs.Abort: ending.abort,
    inputs.Fail: ending.fail,
    inputs.Broke: ending.broke,
    inputs.ExportDone: ending.export_done,
    inputs.ExportFailed: ending.export_failed,
    inputs.LearnerEnded: ending.learner_ended,
    inputs.CannotEnd: ending.cannot_end,
}
"""By the type of the input."""
