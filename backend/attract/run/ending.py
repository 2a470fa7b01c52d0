"""How a run ends: what is under way is finished, the last version exported, the learner ended."""

from attract.run import effects
from attract.run.core_state import CoreState
from attract.run.life import Event, Phase


def stop(state: CoreState, now: float) -> None:
    """A person: finish the update under way, save, export, end."""
    state.end("stopped", now)


def fail(state: CoreState, now: float, error: str, *, refused: bool = False) -> None:
    """A part of the run cannot go on: end with this error; `refused`: the request itself is impossible."""
    state.fail(error, now, refused=refused)


def broke(state: CoreState, now: float, error: str) -> None:
    """A fault of our own: end with this error; discard what was half decided."""
    state.pending.clear()
    state.due.clear()
    state.fail(error, now)


def export_done(state: CoreState, now: float, attempt: int, version: int | None, folder: str | None) -> None:
    """`ExportLast` wrote this version into that folder: the learner ends."""
    if state.life.phase is Phase.EXPORTING and attempt == state.num_exports:
        state.export, state.progress.newest_model = (version, folder), version
        close(state, Event.EXPORTED)


def export_failed(state: CoreState, now: float, attempt: int, error: str) -> None:
    """`ExportLast` failed: the learner ends, and the run tells why."""
    if state.life.phase is Phase.EXPORTING and attempt == state.num_exports:
        state.progress.newest_model = None
        state.life.fail(state.life.error or error)
        close(state, Event.EXPORTED)


def learner_ended(state: CoreState, now: float) -> None:
    """`EndLearner` is done."""
    if state.life.phase is Phase.CLOSING:
        over(state, Event.LEARNER_ENDED)


def cannot_end(state: CoreState, now: float, error: str) -> None:
    """The run cannot be ended in good order."""
    if state.life.is_ending and not state.life.is_over:
        give_up(state, error)


def abort(state: CoreState, now: float) -> None:
    """A person: end now: what is not durable yet is lost, nothing is exported."""
    state.is_aborted = True
    state.has_lost_policy = False
    state.forget()
    state.end("stopped", now)
    if state.life.phase in (Phase.EXPORTING, Phase.CLOSING):
        state.out.append(effects.EndLearner(at_once=True))


def finish(state: CoreState) -> None:
    """Go on ending once what is under way is durable, or cannot be."""
    if state.life.phase is not Phase.FINISHING:
        return
    if state.refusal is not None and not state.is_aborted:
        give_up(state, f"ended without what could not be saved: {state.refusal}")
    elif state.is_aborted or (state.updates.is_idle and state.commit is None):
        if state.has_policy and state.trains:
            state.life.happened(Event.SAVED)
            state.num_exports += 1
            state.out.append(effects.ExportLast(state.num_exports, state.export_version))
        elif not state.has_lost_policy or not state.trains:
            state.progress.newest_model = None
            close(state, Event.NOTHING_TO_EXPORT)


def close(state: CoreState, event: Event) -> None:
    """What can be exported is: the learner ends."""
    state.life.happened(event)
    if state.trains:
        state.out += [effects.Publish("finding", finding) for finding in state.progress.examine_end()]
    state.out.append(effects.EndLearner(at_once=state.is_aborted))


def give_up(state: CoreState, error: str) -> None:
    """The end itself is given up."""
    state.life.fail(error)
    over(state, Event.GIVEN_UP)


def over(state: CoreState, event: Event) -> None:
    """Nothing is decided any more."""
    state.life.happened(event)
    state.changed()
    state.out.append(effects.Release())
