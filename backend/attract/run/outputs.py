"""Applies a run's effects to the world outside: sockets, learner, record, pages. One method per effect."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from typing import Any

from attract.collection import effects as collecting
from attract.errors import AttractError
from attract.processes.learner_supervisor import LearnerSupervisor
from attract.run import effects, ending, inputs, versions
from attract.run.effect_runner import EffectRunner
from attract.run.effects import Effect
from attract.run.episode_keeper import EpisodeKeeper
from attract.run.inference_relay import CentralRelay
from attract.run.notifications import Notifications
from attract.run.policy_cache import PolicyCache
from attract.run.ports import BrowserSockets
from attract.run.record import RunRecord
from attract.schema.game import GameDescription
from attract.schema.learner import Export
from attract.schema.messages import Lease

TIMER_SECONDS = 0.002
"""A timer of the event loop may ring a millisecond early."""
log = logging.getLogger(__name__)


class RunOutputs:
    """Does what effects say; owned by the active run, on its event loop. Decides nothing."""

    def __init__(
        self,
        runner: EffectRunner,
        record: RunRecord,
        notifications: Notifications,
        *,
        prepare_game: Callable[[GameDescription], None],
        release: Callable[[], Coroutine[Any, Any, None]],
        hub: BrowserSockets,
        learner: LearnerSupervisor,
        relay: CentralRelay | None,
        policies: PolicyCache,
        episodes: EpisodeKeeper,
    ) -> None:
        """What it does with; all on the event loop.

        Args:
            prepare_game: makes what a game needs: store, learner, central inference.
            release: gives everything back; nothing is applied any more.
        """
        self._runner = runner
        background, writes = runner.background, runner.writes
        self._progress = runner.core.progress
        self._record = record
        self._notifications = notifications
        self._hub = hub
        self._learner = learner
        self._relay = relay
        self._policies = policies
        self._episodes = episodes
        self._has_kept_model = False
        self._unpublished: list[tuple[Any, effects.Kind, Any]] = []
        """Events of the row that was committed last: event, kind, body."""
        self._asked: dict[int, asyncio.Future[effects.AnswerEvaluation]] = {}
        self._apply_by: dict[type[Any], Callable[[Any], object]] = {
            collecting.Send: self._send,
            collecting.SendPolicy: self._send_policy,
            collecting.PoolChanged: self._pool_changed,
            collecting.CloseConnection: lambda effect: hub.close(
                effect.connection_id, effect.code, effect.reason
            ),
            collecting.WakeAfter: lambda effect: background.spawn(self._wake_after(effect.seconds)),
            collecting.GameLogged: notifications.logged,
            collecting.ForgerCaught: lambda effect: log.warning(
                "%s is left out: %s", effect.identity, effect.what
            ),
            collecting.Note: notifications.note,
            collecting.GameKnown: lambda effect: prepare_game(effect.description),
            collecting.SendToLearner: lambda effect: learner.send(effect.message),
            effects.CommitRow: lambda effect: writes.add(partial(self._commit, effect)),
            effects.PublishRow: self._publish_row,
            effects.KeepPolicies: self._keep_policies,
            effects.Publish: lambda effect: notifications.publish(effect.kind, effect.body),
            collecting.Report: self._report,
            effects.KeepEpisodes: lambda effect: episodes.keep(effect),
            effects.StateChanged: self._state_changed,
            effects.MarkBest: lambda effect: writes.add(partial(record.mark_best, effect.policy_version)),
            effects.KeepVersion: lambda effect: writes.add(
                partial(record.keep_version, effect.policy_version)
            ),
            effects.AddEvaluation: self._add_evaluation,
            effects.AnswerEvaluation: lambda effect: writes.add(partial(self._answer, effect)),
            effects.ExportLast: lambda effect: self._begin_ending(self._export_last(effect)),
            effects.EndLearner: lambda effect: self._begin_ending(self._end_learner(effect)),
            effects.Release: lambda effect: background.spawn(release()),
        }

    def apply(self, effect: Effect) -> None:
        """Do one effect."""
        self._apply_by[type(effect)](effect)

    def ask(self, request_id: int) -> "asyncio.Future[effects.AnswerEvaluation]":
        """The answer to the evaluation with this id, once there is one."""
        self._asked[request_id] = asyncio.get_running_loop().create_future()
        return self._asked[request_id]

    def give_up_asked(self, why: str) -> None:
        """Fail every evaluation that is still asked for."""
        for future in self._asked.values():
            if not future.done():
                future.set_exception(AttractError(why))

    async def export(self, out_dir: str, version: int | None) -> int:
        """Have the models and policy.json of a version (None: the newest) written to a folder; the version.

        Raises: LearnerError: when the learner could not.
        """
        created = datetime.now(UTC).isoformat(timespec="seconds")
        summary = {**self._progress.summary(), "created": created}
        order = Export(out_dir=out_dir, policy_version=version, summary=summary)
        return (await self._learner.export(order)).policy_version

    # --- browsers ---

    def _send(self, effect: collecting.Send) -> None:
        connection_id, message, needs = effect.connection_id, effect.message, None
        if self._relay is not None and not self._relay.is_for_worker(connection_id, message):
            return
        if isinstance(message, Lease):
            needs = max(seat.policy_version for seat in message.seats)
        self._hub.send(connection_id, message, needs=needs)

    def _send_policy(self, effect: collecting.SendPolicy) -> None:
        policy_id, version = effect.policy_id, effect.policy_version
        frame = self._policies.frame(policy_id, version)
        if effect.is_opponent:
            self._hub.send_frame(effect.connection_id, frame)
            return
        if self._relay is None or not self._relay.policy(effect):
            self._hub.send_policy(effect.connection_id, frame, policy_id, version)

    def _pool_changed(self, effect: collecting.PoolChanged) -> None:
        self._policies.hold(effect.versions)
        self._runner.writes.add(partial(self._record.keep_opponents, effect.versions))

    async def _wake_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds + TIMER_SECONDS)
        self._runner.do(inputs.tick)

    # --- versions ---

    async def _commit(self, effect: effects.CommitRow) -> None:
        view = self._progress.view_after(effect.row, effect.counters, self._notifications.view())
        try:
            events = await self._record.commit_update(effect.row, view, effect.bodies)
        except Exception as error:
            log.exception("the row of update %d could not be written", effect.row.update)
            self._runner.do(versions.row_failed, f"{type(error).__name__}: {error}")
            return
        committed = zip(events, effect.bodies, strict=True)
        self._unpublished = [(event, kind, body) for event, (kind, body) in committed]
        self._runner.do(versions.row_committed)

    def _publish_row(self, effect: effects.PublishRow) -> None:
        for event, kind, body in self._unpublished:
            self._notifications.publish_kept(event, kind, body)

    def _keep_policies(self, effect: effects.KeepPolicies) -> None:
        for policy_id, onnx in effect.onnx.items():
            self._policies.keep(effect.policy_version, onnx, policy_id=policy_id)
        if not self._has_kept_model and effect.onnx:
            # All policies of a run, and all their versions, have one graph.
            self._has_kept_model = True
            first = next(iter(effect.onnx.values()))
            self._runner.writes.add(lambda: self._record.keep_model(first))

    def _add_evaluation(self, effect: effects.AddEvaluation) -> None:
        update, agent_steps, values = effect.update, effect.agent_steps, dict(effect.values)
        self._runner.writes.add(lambda: self._record.add_evaluation(update, agent_steps, values))

    async def _answer(self, effect: effects.AnswerEvaluation) -> None:
        future = self._asked.pop(effect.request_id, None)
        if future is not None and not future.done():
            future.set_result(effect)

    # --- pages ---

    def _report(self, effect: collecting.Report) -> None:
        shown = self._notifications.report(effect.report, effect.method)
        if effect.recorded is not None and shown.episode_id is None:
            self._episodes.keep_failure(shown, effect.recorded)

    def _state_changed(self, effect: effects.StateChanged) -> None:
        # As it stands now, not when those before it are told.
        self._runner.notices.add(partial(self._notifications.changed, self._notifications.view()))

    # --- the end ---

    def _begin_ending(self, work: Awaitable[None]) -> None:
        self._runner.background.spawn(self._or_give_up(work))

    async def _or_give_up(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:
            log.exception("run %s could not be ended in good order", self._progress.run_id)
            self._runner.do(ending.cannot_end, f"{type(error).__name__}: {error}")

    async def _export_last(self, effect: effects.ExportLast) -> None:
        folder = self._record.directory.export
        try:
            version = await self.export(str(folder.resolve()), effect.policy_version)
        except AttractError as error:
            self._runner.do(ending.export_failed, effect.attempt, str(error))
            return
        self._runner.do(ending.export_done, effect.attempt, version, str(folder))

    async def _end_learner(self, effect: effects.EndLearner) -> None:
        await self._learner.close(at_once=effect.at_once)
        self._runner.do(ending.learner_ended)
