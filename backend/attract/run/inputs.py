"""Inputs of the run core that people, time, the disk and the game give it.

Those of the learner are in `versions`, those of the end in `ending`. An input is a function of the state, the
time (monotonic seconds) and what came: see `RunCore.handle`.
"""

from collections.abc import Iterable, Sequence

from attract.collection import effects as collecting
from attract.collection import inputs as collection
from attract.collection import trust_handlers
from attract.errors import AttractError, ConfigurationError
from attract.run import collection_effects
from attract.run.core_state import CoreState
from attract.run.evaluation import EvaluationRequest
from attract.run.life import LIFTED_BY_HAND, PauseReason
from attract.schema.api import CheckFinding, FleetView, GameReport, RandomPlay, RunView
from attract.schema.game import GameDescription

# --- the collection core and time ---


def collected(state: CoreState, now: float, emitted: Iterable[collecting.Effect]) -> None:
    """The collection core took an input and emitted these effects, in order."""
    if not state.life.is_over:
        state.absorb(emitted, now)


def tick(state: CoreState, now: float) -> None:
    """Time has passed."""
    if not state.life.is_over:
        state.collect(collection.tick, now)


def look_for_workers(state: CoreState, now: float, fleet: FleetView) -> None:
    """Hosts and workers now; the run waits while no worker is there."""
    if state.progress.look_for_workers(fleet, now) and not state.life.is_ending:
        state.changed()


# --- the game ---


def begin(
    state: CoreState,
    now: float,
    description: GameDescription | None,
    *,
    is_same_module: bool = False,
    before: RunView | None = None,
) -> None:
    """The active run begins.

    Args:
        description: what is known of the game; None: a browser has to describe it.
        is_same_module: whether this very module described itself so: no browser is asked again.
        before: how a resumed run stood last.
    """
    if not state.trains:
        state.pause(PauseReason.NOT_TRAINING, now)
    if before is not None:
        state.progress.went_before(before)
    if description is not None:
        collection_effects.describe(state, description, now)
        if is_same_module and not state.life.is_ending:
            state.collect(collection.game_remembered, now, description)
    state.changed()


def game_checked(
    state: CoreState, now: float, findings: Sequence[CheckFinding], *, unplayable: bool = False
) -> None:
    """A browser of the admin's own has checked the game; one that is `unplayable` ends the run."""
    if state.life.is_ending:
        return
    state.progress.check = list(findings)
    state.collect(trust_handlers.game_checked, now, findings)
    first = next((finding for finding in findings if finding.severity == "error"), None)
    error = "the game cannot be played" + ("" if first is None else f": {first.text}")
    for finding in findings:
        report = GameReport(
            kind="check",
            name=finding.id,
            text=finding.text,
            stack=finding.stack,
            fix=finding.fix,
            severity=finding.severity,
            run_error=error if unplayable and finding is first else None,
        )
        state.out.append(collecting.Report(report))
    if unplayable:
        state.fail(error, now)


def played_at_random(state: CoreState, now: float, play: RandomPlay) -> None:
    """Random play was measured by a browser, now or in an earlier session."""
    state.progress.played_at_random(play)
    if not state.life.is_ending:
        state.changed()


# --- people and the disk ---


def pause(state: CoreState, now: float) -> None:
    """A person pauses the run."""
    if not state.life.is_ending and PauseReason.USER not in state.life.reasons:
        state.pause(PauseReason.USER, now)
        state.changed()


def resume(state: CoreState, now: float) -> None:
    """A person resumes it: the pauses that a person lifts are over."""
    if not state.life.is_ending and state.life.reasons.intersection(LIFTED_BY_HAND):
        state.lift(now, *LIFTED_BY_HAND)
        state.changed()


def disk_changed(state: CoreState, now: float, reason: str | None) -> None:
    """The disk refuses writes for this reason; None: it accepts them again."""
    if state.life.is_over:
        return
    state.refusal = reason
    if reason is not None:
        state.pause(PauseReason.DISK, now, f"paused until the disk takes writes again: {reason}")
    else:
        state.lift(now, PauseReason.DISK)
    if not state.life.is_ending:
        state.changed()


def let_in(state: CoreState, now: float, identity: str) -> None:
    """A person lifts the ban of an identity. Raises: KeyError: it is not banned."""
    state.collect(trust_handlers.let_in, now, identity)
    state.changed()


def evaluate(state: CoreState, now: float, request: EvaluationRequest) -> None:
    """A person or a program asks for an evaluation; `AnswerEvaluation` follows.

    Raises: ConfigurationError: another is under way. AttractError: the run ends.
    """
    if state.life.is_ending:
        raise AttractError(f"the run ended: {state.life.error or state.life.shown}")
    if state.evaluations.is_running:
        raise ConfigurationError("an evaluation is under way", fix="wait until it is done")
    state.evaluations.add(request)


def end_evaluation(state: CoreState, now: float) -> None:
    """A person ends the evaluation that was asked for; it is answered with the episodes so far."""
    if state.evaluations.is_asked:
        state.collect(collection.end_evaluation, now)
