"""One run while it is active: composes its parts, and is what the run service asks of it."""

import asyncio
import itertools
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from attract.collection.beginning import beginning_of
from attract.collection.config import episode_bytes
from attract.collection.core import CollectionCore
from attract.collection.standing import standing_of
from attract.curriculum.controller import CurriculumController
from attract.errors import AttractError, ConfigurationError
from attract.experience.unpacking import BlockUnpacker
from attract.games.library import GameLibrary, GameModule
from attract.processes.children import StartInference, StartLearner, spawn_inference
from attract.processes.cores import usable_cores
from attract.processes.learner_supervisor import LearnerSupervisor
from attract.run import ending, inputs
from attract.run.background import WorkInOrder, read_on_loop
from attract.run.browser_messages import BrowserSide
from attract.run.core import RunCore
from attract.run.effect_runner import EffectRunner
from attract.run.effects import AnswerEvaluation
from attract.run.episode_keeper import EpisodeKeeper
from attract.run.evaluation import EvaluationRequest
from attract.run.game_checker import GameChecker
from attract.run.health import RunHealth
from attract.run.inference_relay import CentralRelay
from attract.run.learner_messages import LearnerMessages
from attract.run.notifications import Listener, Notifications
from attract.run.outputs import RunOutputs
from attract.run.outside_players import NOBODY, MakePlayers
from attract.run.plan import begin_inference_message, begin_message, collection_config, create_store
from attract.run.policy_cache import BroughtPlayers, PolicyCache
from attract.run.ports import BrowserSockets
from attract.run.progress import RunProgress, RunResult
from attract.run.random_play import measure
from attract.run.record import RunRecord
from attract.run.start_checks import check_same_spaces
from attract.runs.version_model import opponent_models
from attract.schema.api import EvaluationView, FleetView, RunView
from attract.schema.episode_results import EpisodeResult
from attract.schema.game import GameDescription
from attract.schema.game_messages import CheckedPlay
from attract.schema.messages import ParameterDistribution, Seat
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import RunSettings

CHECK_SECONDS = 0.7
"""Browser time spent on checking the game before training."""
TICK_SECONDS = 0.25
FLEET_EVENT_SECONDS = 1.0
log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
KeepStart = Callable[..., None]
"""Writes what a run is started or resumed with, as `write_start`; given the description, once it is known."""
TakeEpisodes = Callable[[Sequence[RecordedEpisode]], None]


class ActiveRun:
    """Composes cores, store, learner and record for one run; owned by the run service, on its event loop."""

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
        checker: GameChecker,
        check: bool = False,
        keep_start: KeepStart | None = None,
        players: BroughtPlayers | None = None,
        outside: MakePlayers = NOBODY,
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
            checker: has browsers of this machine measure random play.
            check: whether it checks the game, too, as soon as that is described.
            keep_start: called once the run is sure to begin; None: it only shows what is there.
            players, outside: opponents that it does not make itself; makes programs that may play.
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
        self.trains = train = keep_start is not None
        """Whether it is trained, and not only looked at."""
        self._checker = checker
        self._check = check
        self._keep_start = keep_start
        created = str(record.directory.read_config()["created"])
        controller = self._controller = CurriculumController(settings)
        title = games.title_of(module.reference.name)
        self._progress = RunProgress(
            self.run_id, created, settings, module.reference, controller, clock(), title=title
        )
        self._expected = record.directory.read_game()[1] if resume else None
        # Drawn, since a start that trained nothing leaves nothing that counts it.
        first_lease_id = 1 + secrets.randbits(40) if resume else 1
        config = collection_config(
            settings,
            self.run_id,
            module.reference,
            resumed_from=record.directory.resumed_from() if resume else "",
            first_lease_id=first_lease_id,
        )
        self._policies = PolicyCache(self.run_id)
        opponents = opponent_models(record.directory) if resume else {}
        self._policies.hold(opponents)
        for version, onnx in opponents.items():
            self._policies.keep(version, onnx)
        self._players = players or BroughtPlayers()
        self._policies.bring(self._players)
        config = replace(config, max_frame_bytes=hub.server_frame_bytes, opponents=frozenset(opponents))
        core = self._core = RunCore(
            settings,
            CollectionCore(config),
            controller,
            self._progress,
            num_cores=usable_cores(),
            starts_untrained=initialize_from is None,
            trains=train,
            expected=self._expected,
        )
        self.runner = EffectRunner(core, clock, lambda: hub.refused.total())
        """Every input of the run goes through it."""
        sha256 = module.reference.sha256
        self._notifications = Notifications(
            self._progress,
            record,
            lambda stack, method: games.own_stack(sha256, stack, method),
            self.fleet,
            listener,
            clock,
            keep=train,
            beginning=lambda: beginning_of(core.collection, clock()) if train else None,
        )
        self._keepings = WorkInOrder(self.runner.background, self.runner.broke)
        self._episodes = EpisodeKeeper(
            record.directory,
            settings.recording,
            module,
            self._notifications,
            self._keepings,
            lambda: self._progress.description,
            adapter_folder=games.adapter_folder(module.reference),
            keep=train,
        )
        self._learner = LearnerSupervisor(
            start_learner,
            LearnerMessages(self.runner, record, self._notifications, self._accept),
        )
        self.browsers = BrowserSide(self.runner, hub, outside)
        """What browsers of this run say goes here."""
        self._relay: CentralRelay | None = None
        if settings.collection.inference == "server" and train:
            self._relay = self.browsers.relay = CentralRelay(
                self.run_id,
                start_inference,
                self.runner,
                self.browsers.handle_message,
                hub,
                self._policies,
                record.directory.path,
            )
        self._outputs = RunOutputs(
            self.runner,
            record,
            self._notifications,
            prepare_game=self._prepare_game,
            release=self._release,
            hub=hub,
            learner=self._learner,
            relay=self._relay,
            policies=self._policies,
            episodes=self._episodes,
        )
        self.runner.connect(self._outputs.apply)
        record.disk.listen(lambda reason: self.runner.do(inputs.disk_changed, reason))
        self._request_ids = itertools.count(1)

    def view(self) -> RunView:
        """The run as it stands; a thread waits for the event loop, on which alone the run changes."""
        return read_on_loop(self.finished.get_loop(), self._notifications.view)

    @property
    def policy_version(self) -> int:
        """The newest version that was announced."""
        return self._progress.policy_version

    def fleet(self) -> FleetView:
        """Hosts and workers now."""
        view = self.runner.collection.fleet_view(self._clock())
        return view.model_copy(update={"sockets_refused": self._hub.refused.total()})

    def health(self) -> RunHealth:
        """Facts for monitoring the server."""
        core, collection = self._core, self.runner.collection
        return RunHealth(
            run_id=self.run_id,
            game=self._module.reference.name,
            state=self._progress.state,
            num_workers=self.settings.collection.num_workers,
            counters=collection.counters,
            policy_version=self._progress.policy_version,
            episode_return_mean=self._progress.goal.return_mean,
            updates_dropped=core.updates.num_dropped,
            is_described=self._progress.description is not None,
            learner_is_alive=self._learner.is_alive,
            learner_is_ready=core.learner_is_ready,
            learner_restarts=self._learner.restarts,
            disk_refuses=self._record.disk.reason is not None,
            collection=standing_of(collection),
        )

    def policy(self, version: int, policy_id: str) -> bytes | None:
        """ONNX bytes of a recent version of a policy, or None."""
        return self._policies.onnx(version, policy_id=policy_id)

    async def start(self) -> None:
        """Start the learner, which gets ready while browsers load the game; wait for neither.

        Raises: LearnerError, OSError: when no learner could be started.
        """
        directory = self._record.directory
        await self._learner.start()
        if self._relay is not None:
            await self._relay.start()
        is_same = directory.described_sha256() == self._module.reference.sha256
        before = await self._record.kept_view() if self._resume else None
        if before is not None and before.random_play is not None and is_same:
            self.runner.do(inputs.played_at_random, before.random_play)
        # A run that only shows what is there must not wait for a browser.
        known = self._expected if is_same or not self.trains else None
        self.runner.do(inputs.begin, known, is_same_module=is_same, before=before)
        self.runner.background.spawn(self._keep_time())
        await self.runner.notices.idle.wait()

    async def let_in(self, identity: str) -> None:
        """Let an identity that was left out play again. Raises: KeyError: it is not left out."""
        self.runner.ask(inputs.let_in, identity)
        await self.runner.notices.idle.wait()

    async def pause(self) -> None:
        """Let leases run out and give no new ones; an update under way is finished."""
        self.runner.do(inputs.pause)
        await self.runner.notices.idle.wait()

    async def resume(self) -> None:
        """Go on after `pause`, or after the run paused itself; while the disk refuses it stays paused."""
        self.runner.do(inputs.resume)
        await self.runner.notices.idle.wait()

    async def stop(self) -> RunResult:
        """Finish the update under way, save, export, end; the result."""
        self.runner.do(ending.stop)
        return await asyncio.shield(self.finished)

    async def abort(self) -> None:
        """End now: what is not durable yet is lost, nothing is exported."""
        self.runner.do(ending.abort)
        await asyncio.shield(self.finished)

    async def has_policy(self) -> None:
        """Wait until there is a policy. Raises: AttractError: when the run ends before."""
        await self._until_ended(self.runner.ready.wait())

    async def evaluate(
        self,
        episodes: int,
        *,
        deterministic: bool,
        seed: int,
        version: tuple[int, Mapping[str, bytes]] | None = None,
        take: TakeEpisodes | None = None,
    ) -> EvaluationView:
        """Play fixed-seed episodes in the fleet, each to its end.

        Args:
            version: an older version, and the ONNX bytes of each of its policies; None: the newest.
            take: is given every episode that workers of the admin's own recorded.

        Raises: AttractError: when the run ends before. ConfigurationError: when one is under way.
        """
        request = EvaluationRequest("asked", episodes, deterministic, seed, record_all=take is not None)
        if version is not None:
            request = replace(request, version=version[0])
            for policy_id, onnx in version[1].items():
                self._policies.keep(version[0], onnx, policy_id=policy_id)
        return (await self._ask(request, take)).view

    async def match(
        self,
        seats: Sequence[Seat],
        models: Mapping[tuple[str, int], bytes],
        scripts: Mapping[str, str],
        episodes: int,
        *,
        seed: int,
        parameters: Mapping[str, float] | None = None,
        record_all: bool = False,
    ) -> tuple[Sequence[EpisodeResult], Sequence[RecordedEpisode]]:
        """As `evaluate`, with a player on each seat: all results, and some episodes as they were played.

        Args:
            seats: one per agent, each with a policy of an id that is none of this run, or none.
            models: ONNX bytes of each of them, by policy id and version.
            scripts: code of those that are scripts, by policy id.
            episodes: at least 1.
            seed: of the episodes.
            parameters: values of the game's; None: those of the run's evaluations.
            record_all: whether all of the episodes are recorded.
        """
        self._policies.hold([version for _, version in models])
        for (policy_id, version), onnx in models.items():
            self._policies.keep(version, onnx, policy_id=policy_id)
        self._policies.bring(BroughtPlayers(scripts))
        request = EvaluationRequest("asked", episodes, False, seed, seats=tuple(seats), record_all=record_all)
        if parameters is not None:
            values = {name: ParameterDistribution(values=[value]) for name, value in parameters.items()}
            request = replace(request, parameters=values)
        answer = await self._ask(request)
        return answer.results, await self._episodes.filled(answer.recorded)

    async def _ask(self, request: EvaluationRequest, take: TakeEpisodes | None = None) -> AnswerEvaluation:
        await self.has_policy()
        number = next(self._request_ids)
        self.runner.ask(inputs.evaluate, replace(request, request_id=number))
        answer = await self._until_ended(self._outputs.ask(number))
        await self.runner.notices.idle.wait()
        if take is not None:
            take(await self._episodes.filled(answer.recorded))
        return answer

    @property
    def evaluated(self) -> tuple[int, int] | None:
        """Finished and all episodes of the current evaluation; None while there is none."""
        return self.runner.collection.evaluated

    def end_evaluation(self) -> bool:
        """Have `evaluate` answer with the episodes so far; False: no episode has its result."""
        if not (self.evaluated or (0, 0))[0]:
            return False
        self.runner.do(inputs.end_evaluation)
        return True

    async def export(self, out_dir: str, version: int | None = None) -> int:
        """Have the models and policy.json of a version (None: the newest) written to a folder; the version.

        Raises: LearnerError: when the learner could not.
        """
        await self.has_policy()
        return await self._outputs.export(out_dir, version)

    # --- what the outputs ask ---

    def _prepare_game(self, description: GameDescription) -> None:
        """The game is known: make the store and give the learner its work."""
        config = self.runner.collection.config.fitted(description)
        directory = self._record.directory
        try:
            if self._initialize_from is not None:
                check_same_spaces(Path(self._initialize_from), description)
            for checkpoint in self._players.checkpoints:
                check_same_spaces(checkpoint, description, setting="self_play.seats")
            self.browsers.store = store = create_store(self.settings, config, directory)
        except AttractError as error:
            self.runner.do(ending.fail, str(error), refused=isinstance(error, ConfigurationError))
            return
        self._hub.max_frame_bytes = min(
            self._hub.server_frame_bytes,
            config.frame_bytes() + episode_bytes(description) * self.settings.evaluation.episodes,
        )
        self.browsers.unpacker = BlockUnpacker(
            store.layout, description.picture_stacks, self._hub.max_frame_bytes
        )
        if self._relay is not None:
            try:
                self._relay.begin(
                    lambda inbound, outbound: begin_inference_message(
                        self.settings, config, directory, inbound, outbound
                    )
                )
            except AttractError as error:
                self.runner.do(ending.fail, str(error))
                return
        if self._keep_start is not None and not self._resume:
            self._keep_start(description)
        store_path = str(store.path)
        self._learner.begin(
            lambda: begin_message(self.settings, directory, description, store_path, self._initialize_from)
        )
        if self.trains:
            # The learner is being started meanwhile, which takes longer.
            self.runner.background.spawn(self._look_at_game())

    async def _accept(self) -> None:
        """The learner continues from the checkpoint: from now on the resumed run is written."""
        description = self._progress.description
        if self._keep_start is not None and description is not None:
            await self._record.accept(partial(self._keep_start, description))

    async def _look_at_game(self) -> None:
        """Have the game checked where that was asked for, and random play measured."""
        played: CheckedPlay | None = None
        try:
            if self._check:
                found = await self._checker.check(self._module, CHECK_SECONDS)
                self.runner.do(inputs.game_checked, found.findings, unplayable=found.unplayable)
                played = found.play
            await self._measure_random_play(played)
        except AttractError as error:
            log.info("the game was not checked, or not played at random: %s", error)

    async def _measure_random_play(self, checked: CheckedPlay | None) -> None:
        parameters, kept = self._controller.base_parameters(), self._progress.random_play
        if self._progress.life.is_ending or (kept is not None and kept.parameters == parameters):
            return
        random_play = await measure(self._checker, self._module, parameters, checked=checked)
        if random_play is not None:
            self.runner.do(inputs.played_at_random, random_play)

    async def _release(self) -> None:
        """The run has ended: nothing more is heard or written; the run directory is free."""
        # The run's own state is the last that pages hear of it.
        await self.runner.notices.idle.wait()
        # What a full disk still refuses is given up.
        await self._record.disk.wait_unless_full(self.runner.writes.idle)
        await self._keepings.idle.wait()
        # Reports name the episodes that were kept since the state changed last.
        await self._notifications.keep(self.view())
        ended = self._progress.error or self._progress.state
        log.info("run %s ends: %s, %s", self.run_id, self._progress.state, self._progress.error or "no error")
        try:
            await self.browsers.close()
            self.runner.background.cancel_others()
            self._outputs.give_up_asked(f"the run ended: {ended}")
            await self._learner.close(at_once=True)
            if self._relay is not None:
                await self._relay.close()
            self._hub.max_frame_bytes = self._hub.server_frame_bytes
            await self._record.close(is_refused=self._progress.refused)
            if self.browsers.store is not None:
                self.browsers.store.close(unlink=True)
        finally:
            core, now = self._core, self._clock()
            version, folder = core.export
            self.finished.set_result(self._progress.result(version, folder, now))

    async def _keep_time(self) -> None:
        next_fleet_event = 0.0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.runner.do(inputs.tick)
            now = self._clock()
            if now >= next_fleet_event:
                next_fleet_event = now + FLEET_EVENT_SECONDS
                fleet = self.fleet()
                self.runner.do(inputs.look_for_workers, fleet)
                self._notifications.publish("fleet", fleet, keep=False)

    async def _until_ended(self, awaitable: Awaitable[Answer]) -> Answer:
        task = asyncio.ensure_future(awaitable)
        await asyncio.wait((task, self.finished), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        raise AttractError(f"run {self.run_id} ended: {self._progress.error or self._progress.state}")
