"""Inputs of the collection core that the run and time give it.

The others are in `message_handlers`, `learner_handlers` and `trust_handlers`. An input is a function of the
state, the time (monotonic seconds) and what came: see `CollectionCore.handle`.
"""

from collections.abc import Mapping

from attract.collection.effects import CloseConnection
from attract.collection.evaluation import Evaluation
from attract.collection.leases import GRACE_SECONDS, SILENCE_SECONDS, Lesson
from attract.collection.message_handlers import choose_describer, learn_game, silence, stall
from attract.collection.state import CollectionState
from attract.schema import close_codes, messages
from attract.schema.game import GameDescription
from attract.schema.messages import ParameterDistribution, Recording, Seat, Seed


def game_remembered(state: CollectionState, now: float, description: GameDescription) -> None:
    """A resumed run knows its module's description: no host is asked (rule D2)."""
    if state.described is None and not state.stopped:
        learn_game(state, description)


def request_evaluation(
    state: CollectionState,
    now: float,
    episodes: int,
    deterministic: bool,
    seed: Seed,
    *,
    version: int | None = None,
    record: Recording = "none",
    seats: tuple[Seat, ...] = (),
    parameters: Mapping[str, ParameterDistribution] | None = None,
) -> None:
    """Play fixed episodes with a version; `EvaluationDone` follows.

    No update begins before it.

    Args:
        version: which, with its models at hand; None: the newest.
        record: which of its episodes are kept.
        seats: who plays each agent, with its model at hand; empty: the version plays them all.
        parameters: of its games; None: those of the run's evaluations.

    Raises: RuntimeError: there is no version yet, or another evaluation is under way.
    """
    if not state.learner.has_version:
        raise RuntimeError("expected a published version to evaluate, there is none yet")
    if state.evaluation is not None:
        raise RuntimeError("expected no evaluation to be under way")
    version = state.learner.public if version is None else version
    state.evaluation = Evaluation(episodes, deterministic, seed, version, record, seats)
    if parameters is not None:
        state.evaluation.lesson = Lesson(None, dict(parameters))


def end_evaluation(state: CollectionState, now: float) -> None:
    """End the evaluation under way; `EvaluationDone` has the episodes so far.

    Nothing happens while no episode has its result.
    """
    evaluation = state.evaluation
    if evaluation is None or not evaluation.num_done:
        return
    state.evaluation = None
    for lease in [lease for lease in state.book if evaluation.has_leased(lease.lease_id)]:
        state.cut_short(lease, "the evaluation was ended", now)
    state.emit(evaluation.so_far())


def set_lesson(
    state: CollectionState,
    now: float,
    lesson_id: str | None,
    parameters: Mapping[str, ParameterDistribution],
    evaluation_parameters: Mapping[str, ParameterDistribution] | None = None,
) -> None:
    """Leases for training that are issued from now on carry this lesson (C6).

    `evaluation_parameters`: leases for evaluation start their games with these.
    """
    state.lesson = Lesson(lesson_id, dict(parameters))
    state.evaluation_lesson = Lesson(None, dict(evaluation_parameters or {}))


def pause(state: CollectionState, now: float) -> None:
    """Issue no leases for training and begin no update; finish what is under way."""
    state.paused = True


def resume(state: CollectionState, now: float) -> None:
    """Go on after `pause`, and after the pause of rule C7."""
    state.paused = False


def end_run(state: CollectionState, now: float, reason: str = "the run is over") -> None:
    """The run is over: workers end, hosts wait for the next run. Nothing is accepted any more."""
    if state.stopped:
        return
    state.stopped = True
    # Nothing that can fail: a run also ends because something here did.
    state.book.spend_all()
    for worker in state.fleet.workers.values():
        worker.leases.clear()
    ended = messages.RunEnded(run_id=state.config.run_id, reason=reason)
    for host in state.fleet.hosts.values():
        state.send(host.connection_id, ended)
    for worker in state.fleet.workers.values():
        state.send(worker.connection_id, ended)
        if worker.connection_id is not None:
            state.emit(CloseConnection(worker.connection_id, close_codes.RUN_ENDED, reason))


def tick(state: CollectionState, now: float) -> None:
    """Time has passed; leases may have lapsed (rule C3), deadlines gone by."""
    state.fleet.look_at_conduct(state.conduct, now)
    choose_describer(state, now)
    for worker in list(state.fleet.workers.values()):
        gone = worker.disconnected_at
        if gone is not None and now >= gone + GRACE_SECONDS and not worker.away:
            state.fleet.leave(worker)
            if worker.admitted:
                if state.described is not None:
                    state.described.audit.worker_gone(worker.instance_ids)
                state.lapse_all(worker, "the worker's socket is closed", now)
        if worker.present and not worker.acknowledged and now >= worker.policy_sent_at + SILENCE_SECONDS:
            silence(state, worker, now)
        deadline = state.deadline(worker)
        if deadline is not None and now >= deadline:
            stall(state, worker, worker.leases[0], now)
