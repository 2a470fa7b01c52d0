"""The run core's handlers of the collection core's effects; those without a handler come out as they are."""

from dataclasses import replace
from typing import Any, Final

from attract.collection import effects as collecting
from attract.errors import ConfigurationError
from attract.run import callbacks, versions
from attract.run.core_state import CoreState, Handler
from attract.run.life import Event, PauseReason, Phase
from attract.schema.game import GameDescription
from attract.schema.messages import Lease


def sending(state: CoreState, effect: collecting.Send, now: float) -> None:
    """A message goes out; the first lease for training is where training begins."""
    state.out.append(effect)
    if isinstance(effect.message, Lease) and effect.message.purpose != "warmup":
        state.progress.leased(now)
        if state.life.phase is Phase.STARTING and effect.message.purpose == "train":
            state.life.happened(Event.LEASED)
            state.changed()


def lease_closed(state: CoreState, effect: collecting.LeaseClosed, now: float) -> None:
    """For the metrics."""
    state.progress.statistics.closed(effect.close)
    if effect.seconds is not None:
        state.progress.statistics.lease_finished(effect.seconds)


def unconfirmed(state: CoreState, effect: collecting.Unconfirmed, now: float) -> None:
    """The collection core has paused itself (rule C7)."""
    if not state.life.is_ending:
        state.pause(PauseReason.UNCONFIRMED, now, effect.text)
        state.out.append(collecting.Note("paused", effect.text))
        state.changed()


def forger_caught(state: CoreState, effect: collecting.ForgerCaught, now: float) -> None:
    """A guest is banned: what it played decides about no goal and no best version."""
    if effect.has_counted:
        state.progress.goal.window.clear()
        state.evaluations.forget_return()
    state.out.append(effect)


def game_known(state: CoreState, effect: collecting.GameKnown, now: float) -> None:
    """A browser has loaded the game."""
    describe(state, effect.description, now)


def describe(state: CoreState, description: GameDescription, now: float) -> None:
    """The game is known: prepare it, or refuse one that differs from the resumed run's."""
    has_begun = state.progress.description is not None
    known = state.progress.description or state.expected
    if known is not None and known != description:
        text = other_game(state.progress.run_id, known, description)
        state.fail(text, now, refused=not has_begun)
        return
    if has_begun:
        return
    state.progress.described(description, num_cores=state.num_cores, starts_untrained=state.starts_untrained)
    try:
        state.controller.described(description)
    except ConfigurationError as error:
        state.fail(str(error), now, refused=True)
        return
    callbacks.set_lesson(state, now)
    state.out.append(collecting.GameKnown(description))
    state.changed()


def other_game(run_id: str, known: GameDescription, description: GameDescription) -> str:
    """Says that a run cannot go on with this game, since its checkpoint is of another."""
    other = [name for name, value in known if value != getattr(description, name)]
    return (
        f"the game is not the one that run {run_id} was started with: its {', '.join(other)} changed\n"
        f"  resume {run_id} with its own game, or start another run: --initialize-from {run_id}"
    )


def game_broken(state: CoreState, effect: collecting.Report, now: float) -> None:
    """The game failed: everyone is told; where it is fatal the run ends."""
    report = effect.report
    said = report.text if report.name == "Error" else f"{report.name}: {report.text}"
    text = f"{'workers crash' if report.kind == 'crash' else f'the game failed ({report.kind})'}: {said}"
    if effect.fatal:
        report = report.model_copy(update={"run_error": text})
    recorded = effect.recorded if state.trains else None
    state.out.append(replace(effect, report=report, recorded=recorded))
    if report.worker_lost:
        state.progress.worker_lost(report)
        state.changed()
    if effect.fatal:
        # One that no worker could load was refused before anything was trained.
        refused = report.kind == "load" and state.progress.description is None
        state.fail(text, now, refused=refused)


HANDLERS: Final[dict[type[Any], Handler]] = {
    collecting.Send: sending,
    collecting.SendToLearner: versions.to_learner,
    collecting.EpisodesCounted: callbacks.episodes_counted,
    collecting.LeaseClosed: lease_closed,
    collecting.EvaluationDone: callbacks.evaluation_done,
    collecting.EpisodesRecorded: callbacks.episodes_recorded,
    collecting.GameKnown: game_known,
    collecting.Report: game_broken,
    collecting.Unconfirmed: unconfirmed,
    collecting.ForgerCaught: forger_caught,
}
