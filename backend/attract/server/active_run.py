"""One run while it is active: carries out the core's wishes, hears the learner, watches the goal."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from attract.collection import effects
from attract.collection.config import EPISODE_BYTES, check_minibatches
from attract.collection.core import CollectionCore
from attract.errors import AttractError, ConfigurationError, ProtocolError
from attract.experience.store import SegmentStore, choose_path
from attract.experience.validate import check_block
from attract.runs.metrics import UpdateRow
from attract.schema import close_codes
from attract.schema.api import (
    EvaluationView,
    FleetView,
    GameReport,
    MetricsRow,
    PolicyView,
    RunState,
    RunView,
)
from attract.schema.base import WireModel
from attract.schema.game import GameDescription
from attract.schema.learner import Counters, Dropped, Export, Published, Ready, Train, Warmup
from attract.schema.messages import Block, FromBrowser, Hello, Lease, RolloutClose
from attract.schema.philox import derive_seed
from attract.server.events import Kind
from attract.server.game_reports import GameReports
from attract.server.games import GameLibrary, GameModule
from attract.server.goal import Goal
from attract.server.guard import Tier
from attract.server.learner_link import StartLearner
from attract.server.learner_supervisor import LearnerSupervisor
from attract.server.policy_cache import PolicyCache
from attract.server.run_plan import begin_message, collection_config
from attract.server.run_record import RunRecord
from attract.server.sockets import SocketHub
from attract.server.statistics import Statistics
from attract.settings import RunSettings

TICK_SECONDS = 0.25
FLEET_EVENT_SECONDS = 1.0
MAX_DROPPED = 3
"""Rule P8: this many updates undone in a row pause the run."""
log = logging.getLogger(__name__)

Listener = Callable[[Kind, WireModel], None]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RunResult:
    """How a run ended; `train --json` prints it."""

    run_id: str
    state: RunState
    agent_steps: int
    updates: int
    policy_version: int
    """Of the export."""
    wall_seconds: float
    """From the first training lease to the end: a goal's confirmation included, saving and exporting not."""
    steps_per_second: float
    """Agent steps of this process over `wall_seconds`."""
    episode_return_mean: float | None
    """Of the confirming evaluation when there was one, else of the last 100 training episodes."""
    goal_reached: bool
    export: str | None
    """Folder with policy.onnx and policy.json; None when nothing could be exported."""
    error: str | None = None


class ActiveRun:
    """Composes core, store, learner and record for one run; owned by the run service, on its event loop.

    Rule D1 in order: the learner says that a version is durable, its row is committed, workers hear of it.
    """

    def __init__(
        self,
        settings: RunSettings,
        module: GameModule,
        record: RunRecord,
        *,
        hub: SocketHub,
        games: GameLibrary,
        start_learner: StartLearner,
        clock: Callable[[], float],
        listener: Listener,
        resume: bool = False,
        initialize_from: str | None = None,
        train: bool = True,
    ) -> None:
        """Nothing is started yet; see `start`.

        Args:
            settings: of the run.
            module: the game.
            record: holds the run directory's lock; closed at the end.
            hub: where messages to browsers go.
            games: for source maps of reports.
            start_learner: gives a learner, called again when one has died.
            clock: monotonic seconds.
            listener: hears every event that pages hear.
            resume: go on from the newest checkpoint of the run directory.
            initialize_from: checkpoint folder of another run to start from.
            train: False to only evaluate or export what is there.
        """
        self.run_id = record.directory.run_id
        self.settings = settings
        self.state: RunState = "starting"
        self.error: str | None = None
        self.evaluation: EvaluationView | None = None
        self.counters = Counters()
        self.policy_version = 0
        self.finished: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        self._module = module
        self._record = record
        self._hub = hub
        self._learner = LearnerSupervisor(start_learner, self)
        self._clock = clock
        self._listener = listener
        self._resume = resume
        self._initialize_from = initialize_from
        self._train = train
        self._created = str(record.directory.read_config()["created"])
        self._description: GameDescription | None = None
        self._goal = Goal(settings.until_return, settings.total_steps)
        self._statistics = Statistics({})
        self._config = collection_config(settings, self.run_id, module.reference)
        self._core = CollectionCore(self._config)
        self._store: SegmentStore | None = None
        self._ready = asyncio.Event()
        self._in_flight: dict[int, Train] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._policies = PolicyCache(self.run_id)
        self._reports = GameReports(games.map_stack)
        self._first_lease: float | None = None
        self._ended: float | None = None
        self._seconds_before = 0.0
        self._steps_before: int | None = None
        self._confirming = False
        """The goal is being confirmed; the core is paused until that is decided."""
        self._best_return: float | None = None
        self._best_evaluation: float | None = None
        self._evaluating: asyncio.Future[EvaluationView] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._finishing = False

    def view(self) -> RunView:
        """The run as it stands."""
        fleet = self._core.fleet_view(self._clock())
        return RunView(
            run_id=self.run_id,
            game=self._module.reference.name,
            state=self.state,
            created=self._created,
            seed=self.settings.seed,
            policy_version=self.policy_version,
            agent_steps=self.counters.agent_steps,
            collected_steps=self.counters.collected_steps,
            updates=self.counters.updates,
            episodes=self.counters.episodes,
            elapsed_seconds=self.elapsed_seconds(),
            steps_per_second=fleet.steps_per_second if self._ended is None else 0.0,
            episode_return_mean=self._goal.return_mean,
            goal=self.settings.until_return,
            total_steps=self.settings.total_steps,
            error=self.error,
            reports=self._reports.all(),
            evaluation=self.evaluation,
            description=self._description,
            game_reference=self._module.reference,
            settings=self.settings.model_dump(mode="json"),
        )

    def fleet(self) -> FleetView:
        """Hosts and workers now."""
        return self._core.fleet_view(self._clock())

    def elapsed_seconds(self) -> float:
        """Seconds since the first training lease, earlier sittings of a resumed run included."""
        return self._seconds_before + self._sitting_seconds()

    def policy(self, version: int) -> bytes | None:
        """ONNX bytes of a recent version, or None."""
        return self._policies.onnx(version)

    async def start(self) -> None:
        """Start the learner, which gets ready while browsers load the game; wait for neither.

        Raises: LearnerError, OSError: when no learner could be started.
        """
        _, description = self._record.directory.read_game()
        await self._learner.start()
        if not self._train:
            self._carry_out(self._core.pause(self._clock()))
        if self._resume and description is not None:
            self._know_game(description)
        self._spawn(self._keep_time())
        await self._changed()

    async def pause(self) -> None:
        """Let leases run out and give no new ones; an update under way is finished."""
        if self.state in ("running", "starting", "evaluating"):
            self.state = "paused"
            self._carry_out(self._core.pause(self._clock()))
            await self._changed()

    async def resume(self) -> None:
        """Go on after `pause`."""
        if self.state == "paused":
            if self._confirming:
                self.state = "evaluating"
            else:
                self.state = "running" if self._ready.is_set() else "starting"
                self._carry_out(self._core.resume(self._clock()))
            await self._changed()

    async def stop(self) -> RunResult:
        """Finish the update under way, save, export, end; the result."""
        self._end("stopped")
        return await asyncio.shield(self.finished)

    async def abort(self) -> None:
        """End now: what is not durable yet is lost, nothing is exported."""
        self._ready.clear()
        await self._learner.close(at_once=True)
        self._in_flight.clear()
        self._idle.set()
        await self.stop()

    async def evaluate(self, episodes: int, *, deterministic: bool, seed: int) -> EvaluationView:
        """Play fixed-seed episodes with the newest policy in the fleet, each to its end.

        Raises: AttractError: when the run ends before. ConfigurationError: when one is under way.
        """
        if self._evaluating is not None:
            raise ConfigurationError("an evaluation is under way", fix="wait until it is done")
        await self._until_ended(self._ready.wait())
        return await self._until_ended(self._evaluate(episodes, deterministic=deterministic, seed=seed))

    async def export(self, out_dir: str, version: int | None = None) -> int:
        """Have policy.onnx and policy.json of a version (None: the newest) written to a folder; the version.

        Raises: LearnerError: when the learner could not.
        """
        await self._until_ended(self._ready.wait())
        return await self._export(out_dir, version)

    def connected(self, connection_id: int, hello: Hello, tier: Tier) -> None:
        """A host, or a worker of this run, said hello."""
        now = self._clock()
        if hello.role == "host":
            self._carry_out(self._core.connect_host(connection_id, hello, tier, now))
        else:
            self._carry_out(self._core.connect_worker(connection_id, hello, tier, now))

    def received(self, connection_id: int, message: FromBrowser) -> None:
        """A message of a connected host or worker.

        Raises: ProtocolError: when it is not what this run's game and leases allow.
        """
        now = self._clock()
        if isinstance(message, Block):
            self._take_block(connection_id, message, now)
            return
        if isinstance(message, RolloutClose):
            self._statistics.closed(message)
        try:
            self._carry_out(self._core.receive(connection_id, message, now))
        except ConfigurationError as error:
            # The game as described cannot be trained with these settings.
            self._fail(str(error))

    def disconnected(self, connection_id: int) -> None:
        """A socket is gone."""
        self._carry_out(self._core.disconnect(connection_id, self._clock()))

    def _take_block(self, connection_id: int, block: Block, now: float) -> None:
        if self._store is None:
            raise ProtocolError("a block before any lease", close_code=close_codes.MALFORMED)
        arrays = check_block(block, self._store.layout)
        verdict = self._core.offer_block(connection_id, block, now)
        if verdict.accepted and verdict.rows is not None:
            arrays["worker_id"] = np.full(len(verdict.rows), verdict.worker_id)
            self._store.write_block(verdict.rows, arrays)
        self._carry_out(self._core.commit_block(connection_id, block, verdict, now))

    def _carry_out(self, wishes: list[effects.Effect]) -> None:
        for wish in wishes:
            match wish:
                case effects.Send():
                    self._send(wish.connection_id, wish.message)
                case effects.SendPolicy():
                    frame = self._policies.frame(wish.policy_id, wish.policy_version)
                    self._hub.send_policy(wish.connection_id, frame, wish.policy_id, wish.policy_version)
                case effects.CloseConnection():
                    self._hub.close(wish.connection_id, wish.code, wish.reason)
                case effects.StartWarmup():
                    self._learner.tell(Warmup(rows=[int(row) for row in wish.rows]))
                case effects.StartUpdate():
                    self._in_flight[wish.train.batch_id] = wish.train
                    self._idle.clear()
                    self._learner.tell(wish.train)
                case effects.EpisodesCounted():
                    episodes = [one.result for one in wish.episodes]
                    self._goal.count(episodes)
                    self._statistics.count(episodes)
                case effects.EvaluationDone():
                    if self._evaluating is not None and not self._evaluating.done():
                        self._evaluating.set_result(wish.view)
                case effects.GameKnown():
                    self._know_game(wish.description)
                case effects.GameBroken():
                    self._game_broke(wish.report, fatal=wish.fatal)
                case effects.Note():
                    log.info("%s: %s", wish.kind, wish.text)

    def _send(self, connection_id: int, message: WireModel) -> None:
        needs = None
        if isinstance(message, Lease):
            needs = message.seats[0].policy_version
            if self._first_lease is None:
                self._first_lease = self._clock()
            if self.state == "starting" and message.purpose == "train":
                self.state = "running"
                self._spawn(self._changed())
        self._hub.send(connection_id, message, needs=needs)

    def _know_game(self, description: GameDescription) -> None:
        """The game is described: make the store and give the learner its work."""
        if self._description is not None:
            if self._description != description:
                self._fail("the game is not the one this run was started with: its description changed")
            return
        self._description = description
        self._statistics = Statistics(description.reward_terms)
        directory = self._record.directory
        ppo = self.settings.ppo
        try:
            layout = self._config.store_layout(description)
            check_minibatches(
                self._config,
                description,
                num_minibatches=ppo.num_minibatches,
                minibatch_steps=ppo.minibatch_steps,
                minibatch_unit=ppo.minibatch_unit,
            )
            self._store = SegmentStore.create(choose_path(directory.path, self.run_id, layout), layout)
        except AttractError as error:
            self._fail(str(error))
            return
        self._hub.max_frame_bytes = min(
            self._hub.server_frame_bytes,
            self._config.frame_bytes(description) + EPISODE_BYTES * self.settings.evaluation.episodes,
        )
        directory.write_game(self._module.reference, description)
        store_path = str(self._store.path)
        self._learner.begin(
            lambda: begin_message(self.settings, directory, description, store_path, self._initialize_from)
        )
        self._spawn(self._changed())

    def _game_broke(self, report: GameReport, *, fatal: bool) -> None:
        report = self._reports.add(report)
        self._publish("report", report)
        if fatal:
            self._fail(f"the game failed ({report.kind}): {report.name}: {report.text}")

    async def learner_ready(self, ready: Ready) -> None:
        """A learner has its policy: fresh, or from the newest checkpoint (D2)."""
        for note in ready.notes:
            log.warning("%s", note)
        self.counters, self.policy_version, self.error = ready.counters, ready.policy_version, None
        seconds, version = await self._record.rewind(ready.counters.updates)
        if self._steps_before is None:
            self._seconds_before, self._steps_before = seconds, ready.counters.agent_steps
        if not ready.needs_warmup:
            self._policies.keep(ready.policy_version, ready.onnx)
            if version != ready.policy_version:
                # A checkpoint whose row was not written: its learner, or this server, was killed between.
                folder = f"checkpoints/{ready.policy_version}"
                await self._record.commit_update(self._row({}, folder, ready.weights_sha256), self.view())
            self._ready.set()
        self._carry_out(self._core.learner_ready(ready, self._clock()))
        await self._changed()

    async def published(self, published: Published) -> None:
        """A version is durable: commit its row, then let workers have it (D1)."""
        train = None if published.batch_id is None else self._in_flight.pop(published.batch_id, None)
        values: dict[str, float] = {}
        if train is not None:
            rejected = {"agent_steps": self.counters.agent_steps + published.valid_steps}
            self.counters = train.counters.model_copy(update=rejected if published.rejected else {})
            values = self._statistics.row(
                published.metrics, self.counters, self.elapsed_seconds(), self._goal, self.fleet()
            )
        self.policy_version = published.policy_version
        self._policies.keep(published.policy_version, published.onnx)
        row = self._row(values, published.checkpoint, published.weights_sha256)
        bodies = self._bodies(row)
        events = await self._record.commit_update(row, self.view(), bodies)
        self._ready.set()
        self._announce(row, published)
        for event, (kind, body) in zip(events, bodies, strict=True):
            self._record.tell(event)
            self._listener(kind, body)
        await self._mark_best_by_return(row)

    def _bodies(self, row: UpdateRow) -> list[tuple[Kind, WireModel]]:
        """The events that tell of a version."""
        url = f"api/runs/{self.run_id}/policy/{row.policy_version}.onnx"
        policy = PolicyView(policy_version=row.policy_version, agent_steps=row.agent_steps, url=url)
        if not row.values:
            return [("policy", policy)]
        metrics = MetricsRow(
            update=row.update, agent_steps=row.agent_steps, seconds=row.seconds, values=row.values
        )
        return [("metrics", metrics), ("policy", policy)]

    def _announce(self, row: UpdateRow, published: Published) -> None:
        """Let workers have a committed version, and see whether the goal is reached."""
        decision = "go_on"
        if row.update and not self._finishing:
            decision = self._goal.after_update(row.update, row.agent_steps)
        if decision == "evaluate" and (self._confirming or self._evaluating is not None):
            decision = "go_on"
        if decision != "go_on":
            # Paused, no update begins: the version to be confirmed, or the last one, stays the newest.
            self._carry_out(self._core.pause(self._clock()))
        self._carry_out(self._core.published(published, self._clock()))
        if decision == "evaluate":
            self._confirming = True
            self._spawn(self._confirm(row.update))
        if not self._in_flight:
            self._idle.set()
        if decision == "finish":
            self._end("finished")

    async def _mark_best_by_return(self, row: UpdateRow) -> None:
        mean = self._goal.return_mean
        if self.evaluation is not None or mean is None or not row.values:
            return
        if self._best_return is None or mean > self._best_return:
            self._best_return = mean
            # The episodes were played by the version before the one that they made.
            await self._record.mark_best(max(0, row.policy_version - 1))

    def _row(self, values: dict[str, float], checkpoint: str, weights_sha256: str) -> UpdateRow:
        return UpdateRow(
            update=self.counters.updates,
            agent_steps=self.counters.agent_steps,
            collected_steps=self.counters.collected_steps,
            seconds=self.elapsed_seconds(),
            policy_version=self.policy_version,
            checkpoint=checkpoint,
            weights_sha256=weights_sha256,
            values=values,
        )

    async def dropped(self, dropped: Dropped) -> None:
        """An update was undone (P8): its rows are free, and three in a row pause the run."""
        self._in_flight.pop(dropped.batch_id, None)
        self._carry_out(self._core.dropped(dropped, self._clock()))
        if not self._in_flight:
            self._idle.set()
        self._publish(
            "report",
            self._reports.add(
                GameReport(kind="update", name="UpdateDropped", text=dropped.reason, stack=None)
            ),
        )
        if dropped.consecutive >= MAX_DROPPED:
            self.error = f"paused: {dropped.consecutive} updates in a row were undone; {dropped.reason}"
            await self.pause()

    def learner_lost(self) -> None:
        """The supervisor starts another learner; what this one had not made durable is collected anew."""
        self._in_flight.clear()
        self._idle.set()
        self._ready.clear()
        self._carry_out(self._core.learner_lost(self._clock()))

    def learner_failed(self, why: str) -> None:
        """The supervisor gave up."""
        self._fail(why)

    async def _confirm(self, update: int) -> None:
        wanted = self.settings.evaluation
        self.state = "evaluating"
        self._spawn(self._changed())
        view = await self._evaluate(wanted.episodes, deterministic=wanted.deterministic, seed=wanted.seed)
        self._confirming = False
        if self._finishing:
            return
        if self._goal.evaluated(update, view.return_mean) == "finish":
            self._end("finished", version=view.policy_version)
        elif self.state == "evaluating":
            self.state = "running"
            self._carry_out(self._core.resume(self._clock()))
            await self._changed()

    async def _evaluate(self, episodes: int, *, deterministic: bool, seed: int) -> EvaluationView:
        self._evaluating = asyncio.get_running_loop().create_future()
        key = derive_seed(seed, "evaluation")
        self._carry_out(self._core.request_evaluation(episodes, deterministic, key, self._clock()))
        try:
            view = await self._evaluating
        finally:
            self._evaluating = None
        self.evaluation = view
        if not self._train:
            return view
        if self._best_evaluation is None or view.return_mean >= self._best_evaluation:
            self._best_evaluation = view.return_mean
            await self._record.mark_best(view.policy_version)
        values = {
            "eval/mean_reward": view.return_mean,
            "eval/std_reward": view.return_std,
            "eval/mean_ep_length": view.length_mean,
        }
        await self._record.add_evaluation(self.counters.updates, self.counters.agent_steps, values)
        await self._changed()
        return view

    async def _export(self, out_dir: str, version: int | None) -> int:
        summary = {
            "run_id": self.run_id,
            "agent_steps": self.counters.agent_steps,
            "episode_return_mean": self._goal.return_mean,
            "evaluation": None if self.evaluation is None else self.evaluation.model_dump(mode="json"),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        order = Export(out_dir=out_dir, policy_version=version, summary=summary)
        return (await self._learner.export(order)).policy_version

    def _fail(self, error: str) -> None:
        self.error = error
        self._end("failed")

    def _end(self, state: RunState, *, version: int | None = None) -> None:
        if not self._finishing:
            self._finishing = True
            self._ended = self._clock()
            self._spawn(self._finish(state, version))

    async def _finish(self, state: RunState, version: int | None) -> None:
        export: str | None = None
        with contextlib.suppress(ConfigurationError):
            self._carry_out(self._core.stop(self._clock()))
        await self._idle.wait()
        if self._train and self._ready.is_set():
            try:
                version = await self._export(str(self._record.directory.export.resolve()), version)
                export = str(self._record.directory.export)
            except AttractError as error:
                self.error = self.error or str(error)
        await self._learner.close()
        self._hub.max_frame_bytes = self._hub.server_frame_bytes
        self.state = state
        await self._changed()
        result = self._result(state, version, export)
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()
        if self._evaluating is not None and not self._evaluating.done():
            self._evaluating.set_exception(AttractError(f"the run ended: {self.error or state}"))
        await self._record.close()
        if self._store is not None:
            self._store.close(unlink=True)
        self.finished.set_result(result)

    def _result(self, state: RunState, version: int | None, export: str | None) -> RunResult:
        wall_seconds = self._sitting_seconds()
        steps = self.counters.agent_steps - (self._steps_before or 0)
        reached = self._goal.reached
        return RunResult(
            run_id=self.run_id,
            state=state,
            agent_steps=self.counters.agent_steps,
            updates=self.counters.updates,
            policy_version=self.policy_version if version is None else version,
            wall_seconds=wall_seconds,
            steps_per_second=steps / wall_seconds if wall_seconds > 0 else 0.0,
            episode_return_mean=(
                self.evaluation.return_mean
                if reached and self.evaluation is not None
                else self._goal.return_mean
            ),
            goal_reached=reached,
            export=export,
            error=self.error,
        )

    def _sitting_seconds(self) -> float:
        if self._first_lease is None:
            return 0.0
        return (self._clock() if self._ended is None else self._ended) - self._first_lease

    async def _keep_time(self) -> None:
        next_fleet_event = 0.0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = self._clock()
            self._carry_out(self._core.tick(now))
            if now >= next_fleet_event:
                next_fleet_event = now + FLEET_EVENT_SECONDS
                self._publish("fleet", self._core.fleet_view(now), keep=False)

    async def _changed(self) -> None:
        """The run's state changed: keep it and tell everyone."""
        view = self.view()
        if self._train:
            await self._record.keep_view(view)
        self._publish("status", view)

    def _publish(self, kind: Kind, body: WireModel, *, keep: bool = True) -> None:
        self._record.publish(kind, body, keep=keep)
        self._listener(kind, body)

    async def _until_ended(self, awaitable: Awaitable[Answer]) -> Answer:
        task = asyncio.ensure_future(awaitable)
        await asyncio.wait((task, self.finished), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        raise AttractError(f"run {self.run_id} ended: {self.error or self.state}")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            log.error("a part of run %s broke", self.run_id, exc_info=error)
            self._fail(f"{type(error).__name__}: {error}")
