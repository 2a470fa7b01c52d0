"""Handlers of the collection core for messages of hosts and workers, and the replies to them."""

from typing import Final

from attract.collection import recordings
from attract.collection.config import check_satisfiable
from attract.collection.effects import (
    CloseConnection,
    GameKnown,
    GameLogged,
    LeaseClosed,
    Report,
)
from attract.collection.fleet import Host, Worker
from attract.collection.leases import Lease
from attract.collection.state import CollectionState, Described
from attract.collection.trust_handlers import closed
from attract.errors import ProtocolError
from attract.schema import close_codes, messages
from attract.schema.api import GameReport, LogLine
from attract.schema.base import Tier
from attract.schema.episodes import check_names
from attract.schema.frames import malformed
from attract.schema.game import GameDescription
from attract.schema.messages import FromBrowser, GameFailed, Hello

STAND_IN_SECONDS: Final = 30.0
"""Time to wait for a host of the admin's own before a stranger may describe the game."""


def connected(
    state: CollectionState, now: float, connection_id: int, hello: Hello, tier: Tier, identity: str = ""
) -> None:
    """A host or a worker said hello on a new socket.

    A host is welcomed and assigned a game; a worker is welcomed once admitted, or now if its key is known.
    `identity`: credential and address of the socket in one word; empty: the id in its hello stands in.

    Raises: ProtocolError: code `run`, when a worker was made for another run.
    """
    if hello.role == "host":
        host, replaced = state.fleet.connect_host(connection_id, hello, tier, identity)
        _replace(state, replaced)
        state.send(connection_id, messages.WelcomeHost(host_id=host.host_id, tier=tier))
        if not state.stopped:
            state.start_barrier.changed(state.fleet, now)
            choose_describer(state, now)
            if state.describing != connection_id:
                assign(state, host)
        return
    if state.stopped or hello.worker_key is None:
        raise _wrong_run(hello.run_id)
    check_run(state, hello.run_id)
    worker, replaced = state.fleet.connect_worker(connection_id, hello, tier, now, identity)
    _replace(state, replaced)
    for lease in worker.leases:
        # What it asked is answered on its old socket: it asks again.
        lease.asked_at = None
    state.fleet.look_at_conduct(state.conduct, now)
    state.start_barrier.changed(state.fleet, now)
    state.touch(worker)
    if worker.admitted and state.described is not None:
        state.welcome(state.described, worker)
        send_again(state, state.described, worker, now)


def disconnected(state: CollectionState, now: float, connection_id: int) -> None:
    """A socket is gone: its worker may come back within 2 s (rule C3), another host may describe the game."""
    who = state.fleet.disconnect(connection_id, now)
    if isinstance(who, Worker) and who.failures and who.last_report is not None:
        state.break_worker(who, who.last_report, now)
    if state.describing == connection_id:
        state.describing = None
        choose_describer(state, now)
    if who is not None:
        state.start_barrier.changed(state.fleet, now)


def message_received(state: CollectionState, now: float, connection_id: int, message: FromBrowser) -> None:
    """A host or a worker of this run sent a message, any but a block; those of others are ignored.

    Raises: ProtocolError: the sender may not say that, or speaks of another run.
    """
    who = state.fleet.of(connection_id)
    # A host may still speak of the run before.
    if who is not None and not isinstance(message, messages.HostStatus):
        check_run(state, getattr(message, "run_id", None))
    if isinstance(who, Worker):
        touch_last_seen(state, who, now)
        handle_worker_message(state, who, message, now)
    elif isinstance(who, Host):
        handle_host_message(state, who, message, now)


def check_run(state: CollectionState, run_id: str | None) -> None:
    """Raises: ProtocolError: this is the id of another run."""
    if run_id is not None and run_id != state.config.run_id:
        raise _wrong_run(run_id)


def _wrong_run(run_id: str | None) -> ProtocolError:
    return ProtocolError(
        f"run {run_id} is not the active one", code="run", close_code=close_codes.RUN, fix="reload the page"
    )


def _replace(state: CollectionState, connection_id: int | None) -> None:
    if connection_id is not None:
        reason = "the same peer connected again"
        state.emit(CloseConnection(connection_id, close_codes.REPLACED, reason))


def handle_host_message(state: CollectionState, host: Host, message: FromBrowser, now: float) -> None:
    """A host's message. Raises: ProtocolError: when it is not for a host to say."""
    match message:
        case messages.HostStatus():
            host.hidden = message.hidden
        case messages.GameDescribed():
            # Only the host that was asked is believed: the answer decides what everybody plays.
            is_asked = state.describing is not None and state.describing == host.connection_id
            if state.described is None and is_asked and message.sha256 == state.config.game.sha256:
                learn_game(state, message.description)
        case messages.GameFailed():
            report = report_of(message, host, message.worker_index)
            is_fatal = state.described is None and host.tier == "local"
            recorded = recordings.of_failure(state, host, message)
            state.emit(Report(report, message.method, recorded, is_fatal))
            if state.described is None and not is_fatal:
                state.failed_to_describe.add(host.identity)
                if state.describing == host.connection_id:
                    state.describing = None
                    choose_describer(state, now)
            worker = state.fleet.newest_of(host, message.worker_index)
            if worker is not None and not worker.broken:
                state.break_worker(worker, report, now)
            elif host.tier == "local" and message.worker_index is not None:
                # It ended before it connected. Its host gives up after three in a minute, and says no more.
                state.count_failure(report)
        case messages.Goodbye():
            pass
        case _:
            raise malformed(f"{message.type}: not for a host to say", fix="connect as a worker")


def report_of(message: GameFailed, host: Host, worker_index: int | None) -> GameReport:
    """The report a person reads."""
    seed = message.seed
    return GameReport(
        kind=message.kind,
        name=message.name,
        text=message.text,
        stack=message.stack,
        host_id=host.host_id,
        worker_index=worker_index,
        slot_id=message.slot_id,
        instance_id=message.instance_id,
        episode=message.episode,
        tick=message.tick,
        step_values=message.step_values,
        seed=None if seed is None else f"{seed.high:08x}{seed.low:08x}",
        repeated=message.repeated,
        # A report of a guest makes no finding about the run.
        worker_lost=message.worker_lost and host.tier == "local",
    )


def handle_worker_message(state: CollectionState, worker: Worker, message: FromBrowser, now: float) -> None:
    """A worker's message, any but a block. Raises: ProtocolError: when it is not allowed, or is wrong."""
    match message:
        case messages.Progress():
            lease = state.lease_of(worker, message.lease_id)
            if lease is not None:
                lease.progressed(message.steps, now, is_first=not worker.has_played)
        case messages.PolicyAck():
            own = state.require_described().seating.policy_ids
            if message.policy_version == worker.sending_version and message.policy_id in own:
                if worker.unsent:
                    state.send_next_policy(worker, now)
                else:
                    worker.acknowledged = True
        case messages.RolloutClose():
            lease = state.lease_of(worker, message.lease_id)
            if lease is not None and lease.purpose != "evaluate":
                is_played = lease.purpose == "train" and lease.front_since is not None
                state.emit(LeaseClosed(message, now - lease.issued_at if is_played else None))
                _rollout_closed(state, worker, lease, now)
        case messages.EvaluationResult():
            lease = state.lease_of(worker, message.lease_id)
            if lease is not None and lease.purpose == "evaluate":
                _evaluated(state, lease, message, now)
        case messages.GameFailed():
            worker.failures += 1
            worker.last_report = report_of(message, worker.host, worker.worker_index)
            recorded = recordings.of_failure(state, worker, message)
            state.emit(Report(worker.last_report, message.method, recorded))
        case messages.EpisodeRecorded():
            recordings.take(state, worker, message)
        case messages.GameLog():
            line = LogLine(level=message.level, text=message.text, dropped=message.dropped)
            state.emit(GameLogged(worker.worker_id, line))
        case messages.Goodbye():
            state.lapse_all(worker, "the page is going away", now)
            state.fleet.set_silent(worker, True)
        case _:
            raise malformed(f"{message.type}: not for a worker to say", fix="connect as a host")


def choose_describer(state: CollectionState, now: float) -> None:
    """Ask one of the admin's own hosts what the game is, if none was asked.

    Invited hosts are asked one after the other, but only when no host of the admin's own came for a while:
    what the first says decides what all play.
    """
    if state.described is not None or state.stopped:
        return
    hosts = [host for host in state.fleet.hosts.values() if host.connection_id is not None]
    own = [host for host in hosts if host.tier == "local"]
    if own or not hosts:
        state.strangers_since = None
    elif state.strangers_since is None:
        state.strangers_since = now
    asked = next((host for host in hosts if host.connection_id == state.describing), None)
    if asked is not None and (asked.tier == "local" or not own):
        return
    able = own
    if not own and state.strangers_since is not None and now >= state.strangers_since + STAND_IN_SECONDS:
        able = [host for host in hosts if host.identity not in state.failed_to_describe]
        if able:
            state.note(
                "strangers", "no browser of your own is connected: a visitor's browser describes the game"
            )
    if able:
        state.describing = able[0].connection_id
        assign(state, able[0])


def describe_deadline(state: CollectionState) -> float | None:
    """When an invited host is asked what the game is; None: no host will be asked."""
    if state.described is not None or state.describing is not None or state.strangers_since is None:
        return None
    hosts = [host for host in state.fleet.hosts.values() if host.connection_id is not None]
    if all(host.identity in state.failed_to_describe for host in hosts):
        return None
    return state.strangers_since + STAND_IN_SECONDS


def learn_game(state: CollectionState, description: GameDescription) -> None:
    """The game is known from here on: every host is told to play it."""
    state.config = config = state.config.fitted(description)
    state.fleet.num_instances = config.num_instances
    check_satisfiable(config)
    state.described = Described(config, state.book)
    state.describing = None
    state.emit(GameKnown(description))
    for host in state.fleet.hosts.values():
        assign(state, host)


def _rollout_closed(state: CollectionState, worker: Worker, lease: Lease, now: float) -> None:
    if lease.purpose == "replay":
        state.end_lease(lease, now)
        return
    closed(state, worker, lease)
    if not lease.remaining:
        state.book.played(lease, now)
        state.conduct.finished(worker.identity)
    if lease.purpose == "train" and lease.front_since is not None:
        steps = lease.num_segments * lease.num_slots * state.config.horizon
        worker.measured(steps, now - lease.front_since)
        worker.failures = 0
        recordings.rollout_closed(state, lease)
    state.end_lease(lease, now)


def _evaluated(state: CollectionState, lease: Lease, message: messages.EvaluationResult, now: float) -> None:
    evaluation = state.evaluation_of(lease)
    if evaluation is None:
        return
    agents = state.require_described().description.num_agents
    if any(len(episode.returns) != agents for episode in message.episodes):
        raise malformed("evaluation_result.episodes: returns", fix=f"each has {agents}, one per agent")
    for episode in message.episodes:
        check_names(episode, state.require_described().description)
    evaluation.complete(lease.lease_id, message.episodes, lease.recorded)
    state.end_lease(lease, now)
    done = evaluation.done()
    if done is not None:
        state.evaluation = None
        state.emit(done)


def assign(state: CollectionState, host: Host) -> None:
    """Tell a host what to run: nothing before the game is known, unless it is to describe it."""
    if host.connection_id is None:
        return
    known = state.described is not None
    describe = not known and state.describing == host.connection_id
    state.send(
        host.connection_id,
        messages.Assignment(
            run_id=state.config.run_id,
            game=state.config.game,
            num_workers=host.max_workers if known or describe else 0,
            describe=describe,
        ),
    )


def send_again(state: CollectionState, described: Described, worker: Worker, now: float) -> None:
    """Send again what may have been lost with a worker's last socket: lapses, its policy, its leases."""
    for lease_id in worker.voided:
        state.send_void(worker, lease_id, "it lapsed")
    version, unknown = worker.sent_version, not worker.acknowledged
    if unknown:
        worker.forget_sent()
    if unknown and version is not None and any(lease.version == version for lease in worker.leases):
        state.send_policy(worker, version, now)
    for lease in worker.leases:
        state.send_lease(described, worker, lease)


def touch_last_seen(state: CollectionState, worker: Worker, now: float) -> None:
    """Anything at all was heard of a worker."""
    state.touch(worker)
    worker.last_seen = now
    state.fleet.set_silent(worker, False)


def stall(state: CollectionState, worker: Worker, lease: Lease, now: float) -> None:
    """Its lease stalled for too long (rule C3); a worker that repeats this is suspended."""
    state.book.stalled(lease, now)
    since = now if lease.front_since is None else lease.block_at
    silence(state, worker, now)
    seconds = state.conduct.stalled(worker.identity, since, now)
    if seconds is not None:
        state.fleet.look_at_conduct(state.conduct, now)
        state.note(
            "conduct",
            f"worker {worker.worker_id} pauses for {seconds:.0f} s: it missed its deadlines "
            "while others played",
        )


def silence(state: CollectionState, worker: Worker, now: float) -> None:
    """Nothing was heard for too long: its leases lapse, it gets none before it is heard again (C3).

    It may be alive with nothing to say: it is sent its policy once more, which every worker acknowledges.
    """
    state.fleet.set_silent(worker, state.learner.has_version)
    worker.forget_sent()
    state.touch(worker)
    state.lapse_all(worker, "no progress was heard", now)
