"""Versions of a run: trained, made durable, announced, undone, lost with their learner (rules D1, P8)."""

from collections.abc import Iterable, Mapping
from typing import Final

from attract.collection import effects as collecting
from attract.collection import learner_handlers
from attract.errors import ConfigurationError
from attract.run import callbacks, effects
from attract.run.core_state import Commit, CoreState
from attract.run.life import Event, PauseReason, Phase
from attract.runs.metrics import UpdateRow
from attract.schema.api import GameReport
from attract.schema.learner import Counters, Dropped, Published, Ready, Train, Trained

MAX_DROPPED_UPDATES: Final = 3
"""Rule P8: this many updates undone in a row pause the run."""


def learner_ready(
    state: CoreState,
    now: float,
    ready: Ready,
    *,
    seconds: float = 0.0,
    policy_version: int | None = None,
    rows: Iterable[tuple[int, int, dict[str, float]]] = (),
) -> None:
    """A learner has its policy: fresh, or from the newest checkpoint (D2).

    Args:
        seconds: the run's time at its newest row.
        policy_version: of the newest row; None: there is no row.
        rows: update, agent steps and metrics of each row.
    """
    if state.life.phase in (Phase.CLOSING, Phase.ENDED) or state.is_aborted:
        return
    progress = state.progress
    progress.ready(ready, seconds)
    progress.examine_again(rows)
    if ready.needs_warmup:
        go_on_with(state, ready, now)
    elif policy_version != ready.policy_version:
        # Version 0 of a run without a warm-up, which no update made.
        row = progress.row(ready.policy_version, ready.counters, ready.weights_sha256, {}, now)
        write(state, Commit(row, ready.counters, ready))
    else:
        keep(state, ready)
        go_on_with(state, ready, now)


def trained(state: CoreState, now: float, trained: Trained) -> None:
    """An update is done: the next may begin while this one's version is written."""
    if not state.is_closed and count(state, trained, now):
        state.collect(learner_handlers.end_update, now, trained)


def published(state: CoreState, now: float, published: Published) -> None:
    """A version is durable: its row is to be committed, then workers have it (D1)."""
    if state.is_closed:
        return
    if state.commit is not None:
        raise RuntimeError("expected the row of the version before to be committed")
    # A learner need not have said `trained` before.
    count(state, published, now)
    update = state.updates.take(published.batch_id)
    counters, values = state.progress.counters, dict[str, float]()
    if update is not None:
        counters, values = update.counters, {**update.values, **published.metrics}
    version, sha256 = published.policy_version, published.weights_sha256
    row = state.progress.row(version, counters, sha256, values, now)
    write(state, Commit(row, counters, published))


def row_committed(state: CoreState, now: float) -> None:
    """The row is safe: from now on this is how the run stands, and its version may be announced (D1)."""
    commit, state.commit = state.commit, None
    if commit is None:
        return
    state.progress.advance(commit.row, commit.counters)
    if state.is_closed:
        return
    keep(state, commit.said)
    if isinstance(commit.said, Ready):
        go_on_with(state, commit.said, now)
    else:
        announce(state, commit.row, commit.said, now)


def row_failed(state: CoreState, now: float, error: str) -> None:
    """The row cannot be written, and that is not the disk's doing: its version is never announced."""
    state.commit = None
    state.fail(error, now)


def dropped(state: CoreState, now: float, dropped: Dropped) -> None:
    """An update was undone (P8): its rows are free, and three in a row pause the run."""
    train = state.updates.drop(dropped.batch_id)
    if train is not None:
        state.controller.rounds_undone(train.federated_rounds)
    pauses = dropped.consecutive >= MAX_DROPPED_UPDATES and not state.life.is_ending
    text = f"paused: {dropped.consecutive} updates in a row were undone; {dropped.reason}"
    if pauses:
        # First: else the core would begin another at once.
        state.pause(PauseReason.DROPPED_UPDATES, now, text)
    state.collect(learner_handlers.dropped, now, dropped)
    report = GameReport(
        kind="update",
        name="UpdateDropped",
        text=dropped.reason,
        stack=None,
        run_error=text if pauses else None,
    )
    state.out.append(collecting.Report(report))
    if pauses:
        state.out.append(collecting.Note("paused", text))
        state.changed()


def learner_lost(state: CoreState, now: float) -> None:
    """The learner died; another is started. What this one had not made durable is collected again."""
    state.has_lost_policy = state.has_lost_policy or state.has_policy
    state.forget()
    if state.is_closed:
        return
    state.collect(learner_handlers.lost, now)
    if state.awaited is not None:
        # What was decided of its version is gone with it.
        state.awaited = None
        state.lift(now, PauseReason.AWAITED_VERSION)
    if state.life.phase is Phase.EXPORTING:
        state.life.happened(Event.LEARNER_LOST)


def learner_failed(state: CoreState, now: float, why: str) -> None:
    """The supervisor gave up: there is no learner, and there will be none."""
    state.has_lost_policy = False
    state.forget()
    if state.life.phase is Phase.EXPORTING:
        state.life.happened(Event.LEARNER_LOST)
    was_ending = state.life.is_ending
    state.fail(why, now)
    if was_ending and not state.life.is_over:
        state.life.fail(why)


def go_on_with(state: CoreState, ready: Ready, now: float) -> None:
    """Training continues with a learner; a session's first may bring what a checkpoint knew (D2)."""
    if state.was_resumed:
        state.controller.load_rounds(ready.curriculum)
    else:
        state.was_resumed = True
        counters = ready.counters
        try:
            state.controller.load(ready.curriculum, counters.global_episode_index, counters.agent_steps)
        except ConfigurationError as error:
            state.fail(str(error), now)
            return
        state.evaluations.load(ready.curriculum.get("best", {}))
        state.collection.first_versions.update(ready.curriculum.get("guests", {}))
        if state.collection.opponents is not None:
            opponents = ready.curriculum.get("opponents", {})
            state.collection.opponents.load(opponents, state.collection.config.opponents)
        callbacks.set_lesson(state, now)
    state.collect(learner_handlers.ready, now, ready)
    state.learner_is_ready = True
    state.changed()


def count(state: CoreState, outcome: Trained | Published, now: float) -> bool:
    """Take account of an update, once; False when it is none of ours."""
    counters = state.updates.counters_after(outcome, state.progress.counters)
    if counters is None or outcome.batch_id is None:
        return False
    values = state.progress.metrics(outcome.metrics, counters, state.fleet(now), now)
    values |= _won(state)
    state.updates.trained(outcome.batch_id, counters, values)
    if not state.life.is_ending:
        judge(state, counters, values, now)
    return True


def _won(state: CoreState) -> dict[str, float]:
    """Results against opponents, as metrics."""
    opponents = state.collection.opponents
    values = {} if opponents is None else opponents.metrics()
    state.progress.win_rate = values.get("rollout/win_rate")
    state.progress.ladder = [] if opponents is None else opponents.ladder()
    return values


def judge(state: CoreState, counters: Counters, values: Mapping[str, float], now: float) -> None:
    """An update is done: is the goal reached, or the last step? If so, no other begins."""
    state.held[counters.updates] = state.controller.committed(values, counters.agent_steps)
    decision = state.progress.goal.after_update(
        counters.updates, counters.agent_steps, is_last_lesson=state.controller.is_last_lesson
    )
    wanted, opponents = state.settings.until_win_rate, state.collection.opponents
    if decision == "go_on" and wanted is not None and opponents is not None and opponents.has_won(wanted):
        state.progress.goal.reached, decision = True, "finish"
    if decision == "evaluate" and state.evaluations.is_running:
        return
    if decision != "go_on" and state.awaited is None:
        # Paused, no update begins: the version to be confirmed, or the last one, stays the newest.
        state.awaited = counters.updates, decision
        state.pause(PauseReason.AWAITED_VERSION, now)


def write(state: CoreState, commit: Commit) -> None:
    """Have a row committed; what it is for is said once it is."""
    bodies = state.progress.events_of(commit.row) if isinstance(commit.said, Published) else []
    state.commit = commit
    state.out.append(effects.CommitRow(commit.row, commit.counters, tuple(bodies)))


def keep(state: CoreState, said: Ready | Published) -> None:
    """Its models are to be had from now on."""
    state.out.append(effects.KeepPolicies(said.policy_version, said.onnx))
    state.progress.newest_model = said.policy_version
    state.has_policy, state.has_lost_policy = True, False


def announce(state: CoreState, row: UpdateRow, published: Published, now: float) -> None:
    """Let workers have a committed version, and do what was decided of it."""
    for update in [update for update in state.held if update <= row.update]:
        state.due += state.held.pop(update)
    state.collect(learner_handlers.published, now, published)
    state.out.append(effects.PublishRow())
    if state.awaited is not None and state.awaited[0] == row.update:
        decision = state.awaited[1]
        state.awaited = None
        if not state.life.is_ending and decision == "evaluate":
            callbacks.confirm(state, row.update, now)
        elif not state.life.is_ending:
            state.end("finished", now)
    findings = state.progress.examine(row)
    state.out += [effects.Publish("finding", finding) for finding in findings]
    if findings:
        state.changed()
    # Against opponents the return says how strong they were: the newest is the best. Elsewhere it is that of
    # the version before this one, which played the episodes.
    has_opponents = state.settings.self_play.is_on
    mean = 0.0 if has_opponents else state.progress.goal.return_mean
    if row.values and state.evaluations.is_best_by_return(mean):
        best = row.policy_version if has_opponents else row.policy_version - 1
        state.out.append(effects.MarkBest(max(0, best)))


def train_message(state: CoreState, train: Train) -> Train:
    """The message with what its checkpoint must know (C6, D2); said again, it is the same."""
    if state.train is None or state.train.batch_id != train.batch_id:
        rounds = state.controller.next_rounds(train.counters.global_episode_index)
        known = {**state.controller.state(), "best": state.evaluations.state()}
        if state.settings.self_play.is_on and state.collection.opponents is not None:
            known["opponents"] = state.collection.opponents.state()
        if state.collection.first_versions:
            known["guests"] = dict(state.collection.first_versions)
        state.train = train.model_copy(update={"curriculum": known, "federated_rounds": rounds})
    return state.train


def to_learner(state: CoreState, effect: collecting.SendToLearner, now: float) -> None:
    """The learner gets its work; an update with what there is to say of it already."""
    if isinstance(effect.message, Train):
        train = train_message(state, effect.message)
        values = state.progress.metrics_so_far(train.counters, state.fleet(now), now) | _won(state)
        train = train.model_copy(update={"metrics": values})
        state.updates.begin(train)
        effect = collecting.SendToLearner(train)
    state.out.append(effect)
