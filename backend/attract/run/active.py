"""One run while it is active: composes its parts, applies the core's effects, begins and ends."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from attract.collection import effects
from attract.collection.config import episode_bytes
from attract.collection.core import CollectionCore
from attract.curriculum.controller import CurriculumController
from attract.errors import AttractError, ConfigurationError
from attract.games.library import GameLibrary, GameModule
from attract.processes.inference import StartInference, spawn_inference
from attract.processes.learner import StartLearner
from attract.processes.learner_supervisor import LearnerSupervisor
from attract.run.background import BackgroundTasks
from attract.run.browser_messages import BrowserSide
from attract.run.evaluation import Evaluator
from attract.run.game_log import GameLogKeeper
from attract.run.game_reports import GameReports
from attract.run.health import RunHealth
from attract.run.inference_relay import CentralRelay
from attract.run.notifications import Listener, Notifications
from attract.run.plan import begin_inference_message, begin_message, collection_config, create_store
from attract.run.ports import BrowserSockets
from attract.run.progress import RunProgress, RunResult
from attract.run.record import RunRecord
from attract.run.start_checks import check_same_spaces
from attract.run.training_callbacks import TrainingCallbacks
from attract.run.update_flow import UpdateFlow
from attract.schema.api import (
    CheckView,
    EvaluationView,
    FleetView,
    GameReport,
    LogLine,
    RunState,
    RunView,
)
from attract.schema.base import WireModel
from attract.schema.game import GameDescription
from attract.schema.learner import Export, Warmup
from attract.schema.messages import FromBrowser, Lease, Seed
from attract.settings.run import RunSettings

TICK_SECONDS = 0.25
TIMER_SECONDS = 0.002
"""A timer of the event loop may ring a millisecond early."""
FLEET_EVENT_SECONDS = 1.0
SPARED = effects.GameLogged | effects.Note | effects.LeaseFinished | effects.LeaseClosed
"""What is only told: a run goes on where one of these cannot be."""
log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class ActiveRun:
    """Composes core, store, learner and record for one run; owned by the run service, on its event loop."""

    def __init__(
        self,
        settings: RunSettings,
        module: GameModule,
        record: RunRecord,
        *,
        hub: BrowserSockets,
        games: GameLibrary,
        start_learner: StartLearner,
        start_inference: StartInference = spawn_inference,
        clock: Callable[[], float],
        listener: Listener,
        resume: bool = False,
        initialize_from: str | None = None,
        train: bool = True,
        check: Callable[[GameModule], Awaitable[CheckView]] | None = None,
    ) -> None:
        """Nothing is started yet; see `start`.

        Args:
            settings: of the run.
            module: the game.
            record: holds the run directory's lock; closed at the end.
            hub: where messages to browsers go.
            games: for source maps of reports.
            start_learner: gives a learner, called again when one has died.
            start_inference: gives the process of central inference, where the settings ask for it.
            clock: monotonic seconds.
            listener: hears every event that pages hear.
            resume: go on from the newest checkpoint of the run directory.
            initialize_from: checkpoint folder of another run to start from.
            train: False to only evaluate or export what is there.
            check: has the game checked as soon as it is described; None: it is not.
        """
        self.run_id = record.directory.run_id
        self.settings = settings
        self.finished: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        self._module = module
        self._record = record
        self._hub = hub
        self._clock = clock
        self._resume = resume
        self._initialize_from = initialize_from
        self._train = train
        self._check = check
        created = str(record.directory.read_config()["created"])
        controller = CurriculumController(settings)
        self._progress = RunProgress(
            self.run_id,
            created,
            settings,
            module.reference,
            clock,
            controller,
            title=games.title_of(module.reference.name),
        )
        resumed_from = record.directory.resumed_from() if resume else ""
        # Drawn, since a start that trained nothing leaves nothing that counts it.
        first_lease_id = 1 + secrets.randbits(40) if resume else 1
        config = collection_config(
            settings,
            self.run_id,
            module.reference,
            resumed_from=resumed_from,
            first_lease_id=first_lease_id,
        )
        self._core = CollectionCore(replace(config, max_frame_bytes=hub.server_frame_bytes))
        sha256 = module.reference.sha256
        reports = GameReports(lambda stack, method: games.own_stack(sha256, stack, method))
        self._notifications = Notifications(
            self._progress, record, reports, GameLogKeeper(clock), self.fleet, listener, keep=train
        )
        self._background = BackgroundTasks(self.broke)
        self._evaluator = Evaluator(
            self._progress, record, self._request_evaluation, controller.evaluated, keep=train
        )
        self._course = TrainingCallbacks(
            self,
            controller,
            settings,
            self._core,
            self._progress,
            record,
            self._notifications,
            self._evaluator,
            self._background,
            clock,
        )
        self._updates = UpdateFlow(
            self,
            self._course,
            self._core,
            self._progress,
            record,
            self._notifications,
            self._evaluator,
            clock,
        )
        self._learner = LearnerSupervisor(start_learner, self._updates)
        self._relay: CentralRelay | None = None
        if settings.collection.inference == "server" and train:
            self._relay = CentralRelay(
                self.run_id, start_inference, self, hub, self._updates.policies, record.directory.path
            )
        self.browsers = BrowserSide(self, self._core, self._progress, self._relay, clock)
        """What browsers of this run say goes here."""
        record.disk.listen(self._disk_changed)
        self._paused_by_disk = False
        self.is_ending = False
        """Whether the end has begun."""

    def view(self) -> RunView:
        """The run as it stands."""
        return self._notifications.view()

    @property
    def policy_version(self) -> int:
        """The newest version that was announced."""
        return self._progress.policy_version

    def log_lines(self) -> list[LogLine]:
        """What the game wrote to its console last, oldest first."""
        return self._notifications.log_lines()

    def fleet(self) -> FleetView:
        """Hosts and workers now."""
        view = self._core.fleet_view(self._clock())
        return view.model_copy(update={"sockets_refused": self._hub.refused.total()})

    def health(self) -> RunHealth:
        """How it stands, for whoever watches the server."""
        return RunHealth(
            run_id=self.run_id,
            game=self._module.reference.name,
            state=self._progress.state,
            num_workers=self.settings.collection.num_workers,
            counters=self._core.counters,
            policy_version=self._progress.policy_version,
            episode_return_mean=self._progress.goal.return_mean,
            updates_dropped=self._updates.num_dropped,
            is_described=self._progress.description is not None,
            learner_is_alive=self._learner.is_alive,
            learner_is_ready=self._updates.is_learner_ready,
            learner_restarts=self._learner.restarts,
            disk_refuses=self._record.disk.reason is not None,
            collection=self._core.standing(),
        )

    def policy(self, version: int, policy_id: str) -> bytes | None:
        """ONNX bytes of a recent version of a policy, or None."""
        return self._updates.policies.onnx(version, policy_id=policy_id)

    async def start(self) -> None:
        """Start the learner, which gets ready while browsers load the game; wait for neither.

        Raises: LearnerError, OSError: when no learner could be started.
        """
        _, description = self._record.directory.read_game()
        await self._learner.start()
        if self._relay is not None:
            await self._relay.start()
        if not self._train:
            self.apply_effects(self._core.pause(self._clock()))
        if self._resume and description is not None:
            self._know_game(description)
        self._background.spawn(self._keep_time())
        await self._notifications.changed()

    async def let_in(self, identity: str) -> None:
        """Let an identity that was left out play again. Raises: KeyError: it is not left out."""
        self.apply_effects(self._core.release(identity, self._clock()))
        await self._notifications.changed()

    async def pause(self) -> None:
        """Let leases run out and give no new ones; an update under way is finished."""
        if self._progress.state in ("running", "starting", "evaluating"):
            self._progress.state = "paused"
            self.apply_effects(self._core.pause(self._clock()))
            await self._notifications.changed()

    async def resume(self) -> None:
        """Go on after `pause`."""
        if self._progress.state == "paused":
            if self._course.confirming:
                self._progress.state = "evaluating"
            else:
                self._progress.state = "running" if self._updates.ready.is_set() else "starting"
                self.apply_effects(self._core.resume(self._clock()))
            await self._notifications.changed()

    async def stop(self) -> RunResult:
        """Finish the update under way, save, export, end; the result."""
        self.end("stopped")
        return await asyncio.shield(self.finished)

    async def abort(self) -> None:
        """End now: what is not durable yet is lost, nothing is exported."""
        self._updates.ready.clear()
        # First, so that no batch fills up for a learner that is gone: nobody would end that update.
        self.apply_effects(self._core.stop(self._clock()))
        await self._learner.close(at_once=True)
        self._updates.forget()
        await self.stop()

    async def evaluate(self, episodes: int, *, deterministic: bool, seed: int) -> EvaluationView:
        """Play fixed-seed episodes with the newest policy in the fleet, each to its end.

        Raises: AttractError: when the run ends before. ConfigurationError: when one is under way.
        """
        await self._until_ended(self._updates.ready.wait())
        view = await self._until_ended(self._evaluator.run(episodes, deterministic=deterministic, seed=seed))
        await self._notifications.changed()
        return view

    async def export(self, out_dir: str, version: int | None = None) -> int:
        """Have the models and policy.json of a version (None: the newest) written to a folder; the version.

        Raises: LearnerError: when the learner could not.
        """
        await self._until_ended(self._updates.ready.wait())
        return await self._export(out_dir, version)

    def apply_effects(self, emitted: list[effects.Effect]) -> None:
        """Do what the core wants, in order."""
        for effect in emitted:
            try:
                self._apply_effect(effect)
            except Exception as error:
                # Whoever spoke when this was wanted is not to blame, and the other effects are not lost.
                if not isinstance(effect, SPARED):
                    self.browsers.is_closed = True
                    self.broke(error)
                    return
                self.browsers.faults += 1
                log.exception("a %s could not be carried out: it is left out", type(effect).__name__)
        try:
            self._course.act()
        except Exception as error:
            self.broke(error)

    def _apply_effect(self, effect: effects.Effect) -> None:
        match effect:
            case effects.Send():
                self._send(effect.connection_id, effect.message)
            case effects.SendPolicy():
                frame = self._updates.policies.frame(effect.policy_id, effect.policy_version)
                if self._relay is None or not self._relay.policy(effect):
                    self._hub.send_policy(
                        effect.connection_id, frame, effect.policy_id, effect.policy_version
                    )
            case effects.CloseConnection():
                self._hub.close(effect.connection_id, effect.code, effect.reason)
            case effects.StartWarmup():
                shares = {name: list(rows) for name, rows in effect.rows_by_policy.items()}
                self._learner.tell(Warmup(rows=list(effect.rows), rows_by_policy=shares))
            case effects.StartUpdate():
                self._learner.tell(self._updates.begin(effect.train))
            case effects.EpisodesCounted():
                self._course.counted(effect)
            case effects.WakeAfter():
                self._background.spawn(self._wake_after(effect.seconds))
            case effects.LeaseFinished():
                self._progress.statistics.lease_finished(effect.seconds)
            case effects.LeaseClosed():
                self._progress.statistics.closed(effect.close)
            case effects.EvaluationDone():
                self._evaluator.done(effect.view)
            case effects.GameKnown():
                self._know_game(effect.description)
            case effects.GameBroken():
                self._game_broke(effect)
            case effects.GameLogged():
                self._notifications.logged(effect)
            case effects.ForgerCaught():
                log.warning("%s is left out: %s", effect.identity, effect.what)
            case effects.Note():
                self._notifications.note(effect)
                if effect.kind == "paused" and self._progress.state in ("running", "starting"):
                    self._progress.error = effect.text
                    self._background.spawn(self.pause())

    def received(self, connection_id: int, message: FromBrowser) -> None:
        """What the relay has made of a worker's words."""
        self.browsers.received(connection_id, message)

    def asked(self, connection_id: int) -> None:
        """The relay has sent a worker an act."""
        self._core.asked(connection_id, self._clock())

    def wrong(self, connection_id: int, reason: str) -> None:
        """The inference process refused what a worker observed."""
        self.apply_effects(self._core.wrong_message(connection_id, reason, self._clock()))

    def _send(self, connection_id: int, message: WireModel) -> None:
        needs = None
        if self._relay is not None and not self._relay.is_for_worker(connection_id, message):
            return
        if isinstance(message, Lease):
            needs = message.seats[0].policy_version
            self._progress.leased()
            if self._progress.state == "starting" and message.purpose == "train":
                self._progress.state = "running"
                self._background.spawn(self._notifications.changed())
        self._hub.send(connection_id, message, needs=needs)

    def _know_game(self, description: GameDescription) -> None:
        """The game is described: make the store and give the learner its work."""
        known = self._progress.description
        if known is not None:
            if known != description:
                self.fail("the game is not the one this run was started with: its description changed")
            return
        self._progress.described(description, starts_untrained=self._initialize_from is None)
        config = self._core.config.fitted(description)
        directory = self._record.directory
        try:
            if self._initialize_from is not None:
                check_same_spaces(Path(self._initialize_from), description)
            self._course.described(description)
            self.browsers.store = store = create_store(self.settings, config, directory, description)
        except AttractError as error:
            self.fail(str(error), refused=isinstance(error, ConfigurationError))
            return
        self._hub.max_frame_bytes = min(
            self._hub.server_frame_bytes,
            config.frame_bytes(description) + episode_bytes(description) * self.settings.evaluation.episodes,
        )
        if self._relay is not None:
            try:
                self._relay.begin(
                    lambda inbound, outbound: begin_inference_message(
                        self.settings, config, directory, description, inbound, outbound
                    )
                )
            except AttractError as error:
                self.fail(str(error))
                return
        directory.write_game(self._module.reference, description)
        store_path = str(store.path)
        self._learner.begin(
            lambda: begin_message(self.settings, directory, description, store_path, self._initialize_from)
        )
        self._background.spawn(self._notifications.changed())
        if self._check is not None and not self._resume:
            # The learner is being started meanwhile, which takes longer.
            self._background.spawn(self._have_checked(self._check))

    async def _have_checked(self, check: Callable[[GameModule], Awaitable[CheckView]]) -> None:
        try:
            self.checked(await check(self._module))
        except AttractError as error:
            log.info("the game was not checked: %s", error)

    def checked(self, check: CheckView) -> None:
        """A browser has checked the game: its findings are told; one that cannot be played ends the run."""
        if self.is_ending:
            return
        self._progress.check = check.findings
        self.apply_effects(self._core.game_checked(check.findings, self._clock()))
        for one in check.findings:
            report = GameReport(kind="check", name=one.id, text=one.text, stack=one.stack, fix=one.fix)
            self._notifications.report(report)
        if check.unplayable:
            first = next((one for one in check.findings if one.severity == "error"), None)
            what = "" if first is None else f": {first.text}"
            self.fail(f"the game cannot be played{what}")

    def _game_broke(self, effect: effects.GameBroken) -> None:
        report = self._notifications.report(effect.report, effect.method)
        if effect.fatal:
            said = report.text if report.name == "Error" else f"{report.name}: {report.text}"
            # A worker that gave up counts the failures itself.
            self.fail(said if "the game failed" in said else f"the game failed ({report.kind}): {said}")

    def _request_evaluation(self, episodes: int, deterministic: bool, seed: Seed) -> None:
        self.apply_effects(self._core.request_evaluation(episodes, deterministic, seed, self._clock()))

    async def _export(self, out_dir: str, version: int | None) -> int:
        order = Export(out_dir=out_dir, policy_version=version, summary=self._progress.summary())
        return (await self._learner.export(order)).policy_version

    def _disk_changed(self, reason: str | None) -> None:
        """Nothing can be saved: pause, and go on when there is room."""
        if self.is_ending:
            return
        if reason is not None:
            self._paused_by_disk = self._progress.state != "paused"
            self._progress.error = f"paused until the disk takes writes again: {reason}"
            self._background.spawn(self.pause() if self._paused_by_disk else self._notifications.changed())
        else:
            self._progress.error = None
            self._background.spawn(self.resume() if self._paused_by_disk else self._notifications.changed())

    def fail(self, error: str, *, refused: bool = False) -> None:
        """The run cannot go on: it ends, and says why; `refused`: what was asked for cannot be."""
        self._progress.error = error
        self._progress.refused = refused
        self.end("failed")

    def end(self, state: RunState, *, version: int | None = None) -> None:
        """End in good order: the update under way is finished, `version` (None: the newest) exported."""
        if not self.is_ending:
            self.is_ending = True
            self._progress.ended()
            self._background.spawn(self._finish(state, version))

    async def _finish(self, state: RunState, version: int | None) -> None:
        export: str | None = None
        try:
            self.apply_effects(self._core.stop(self._clock()))
            if await self._record.disk.wait_unless_full(self._updates.idle):
                version, export, problem = await self._last_export(version)
                # From now on pages get what was exported, and nothing else.
                self._progress.newest_model = None if export is None else version
                await self._learner.close()
                self._progress.error = self._progress.error or problem
                self._progress.state = state if problem is None else "failed"
            else:
                self._progress.error = f"ended without what could not be saved: {self._record.disk.reason}"
                self._progress.state = "failed"
            await self._notifications.changed()
        except Exception as error:
            log.exception("run %s could not be ended in good order", self.run_id)
            self._progress.state = "failed"
            self._progress.error = f"{type(error).__name__}: {error}"
        finally:
            log.info(
                "run %s ends: %s, %s", self.run_id, self._progress.state, self._progress.error or "no error"
            )
            await self._release()
            self.finished.set_result(self._progress.result(version, export))

    async def _last_export(self, version: int | None) -> tuple[int | None, str | None, str | None]:
        """The version exported and where, as far as there is something to export; what went wrong with it."""
        if not self._train or not self._updates.ready.is_set():
            return version, None, None
        try:
            folder = self._record.directory.export
            return await self._export(str(folder.resolve()), version), str(folder), None
        except AttractError as error:
            return version, None, str(error)

    async def _release(self) -> None:
        """Nothing more is heard or written; the run directory is free."""
        self.browsers.is_closed = True
        self._background.cancel_others()
        self._evaluator.give_up(f"the run ended: {self._progress.error or self._progress.state}")
        await self._learner.close(at_once=True)
        if self._relay is not None:
            await self._relay.close()
        self._hub.max_frame_bytes = self._hub.server_frame_bytes
        await self._record.close()
        if self.browsers.store is not None:
            self.browsers.store.close(unlink=True)

    async def _keep_time(self) -> None:
        next_fleet_event = 0.0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = self._clock()
            self.apply_effects(self._core.tick(now))
            if now >= next_fleet_event:
                next_fleet_event = now + FLEET_EVENT_SECONDS
                fleet = self.fleet()
                if self._progress.look_for_workers(fleet) and not self.is_ending:
                    await self._notifications.changed()
                self._notifications.publish("fleet", fleet, keep=False)

    async def _wake_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds + TIMER_SECONDS)
        self.apply_effects(self._core.tick(self._clock()))

    async def _until_ended(self, awaitable: Awaitable[Answer]) -> Answer:
        task = asyncio.ensure_future(awaitable)
        await asyncio.wait((task, self.finished), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        raise AttractError(f"run {self.run_id} ended: {self._progress.error or self._progress.state}")

    def broke(self, error: BaseException) -> None:
        """A part of it failed where nothing should: it ends, and says why."""
        log.error("a part of run %s broke", self.run_id, exc_info=error)
        self.fail(f"{type(error).__name__}: {error}")
