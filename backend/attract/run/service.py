"""The run service: at most one active run, all past ones, and the sockets of hosts that wait for the next."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from functools import partial
from typing import Any

from attract.errors import ConfigurationError, RunActiveError, UnknownRunError
from attract.games.kept_builds import write_start
from attract.games.kept_game import CODE, MAX_CODE_BYTES, serve_kept_game
from attract.games.library import GameLibrary, GameModule
from attract.processes.children import StartLearner
from attract.processes.extras import check_installed
from attract.run.active import ActiveRun, KeepStart, TakeEpisodes
from attract.run.effects import Kind
from attract.run.episodes import RunEpisodes
from attract.run.events import EventHub
from attract.run.health import RunHealth
from attract.run.membership import Membership
from attract.run.models import RunModels
from attract.run.notifications import Listener
from attract.run.outside_players import OutsidePlayers
from attract.run.players import bring_players
from attract.run.ports import AuditLog, BrowserSockets
from attract.run.progress import RunResult
from attract.run.random_play import of_run
from attract.run.record import RunRecord
from attract.run.rollback import roll_back
from attract.run.settings_view import settings_of, settings_resumed
from attract.run.start_checks import check_device, check_named, check_resumed, check_source
from attract.runs.archive import RunArchive, known_run
from attract.runs.catalogue import RunCatalogue
from attract.runs.directory import RunDirectory, closing_on_error, find_run
from attract.runs.log_lines import bind
from attract.runs.run_ids import create_run_id
from attract.schema import close_codes
from attract.schema.api import (
    CheckView,
    EvaluationView,
    FleetView,
    LogView,
    RandomPlay,
    RunView,
)
from attract.schema.base import WireModel
from attract.schema.devices import device_of
from attract.settings.given import Layer, LayeredSettings, join_layers
from attract.settings.run import RunSettings, ServerSettings

log = logging.getLogger(__name__)


class RunService:
    """Starts, shows and ends runs; used by the routes, and by the command line in the same process.

    Lives on one event loop. `clock` is monotonic seconds.
    """

    def __init__(
        self,
        settings: ServerSettings,
        games: GameLibrary,
        start_learner: StartLearner,
        clock: Callable[[], float],
        audit: AuditLog,
    ) -> None:
        """`audit`: the server's own; starts and ends of runs are written there."""
        self._settings = settings
        self.games = games
        self._start_learner = start_learner
        self._clock = clock
        self.archive = RunArchive(settings.runs_dir)
        self.catalogue = RunCatalogue(
            self.archive,
            lambda game: settings_of(games, game, {}),
            self._active_view,
        )
        self.models = RunModels(self.archive, lambda: self.active)
        self.episodes = RunEpisodes(self.archive, games)
        self._active: ActiveRun | None = None
        self._starting = False
        outside = partial(OutsidePlayers, settings.outside, settings.outside_seconds)
        self.membership = Membership(games, lambda: self.active, outside)
        """Takes what browsers' sockets send."""
        self._listeners: list[Listener] = []
        self.events = EventHub()
        self._audit = audit
        self.host_restarts = 0
        """Times that the command line had to start its headless browser again."""

    def attach(self, hub: BrowserSockets) -> None:
        """Say where messages to browsers go; once, before anything else."""
        self.membership.hub = hub

    @property
    def active(self) -> ActiveRun | None:
        """The run that is being trained, or None."""
        active = self._active
        return None if active is None or active.finished.done() else active

    @property
    def is_starting(self) -> bool:
        """Whether a run is being made: its game bundled, its folder written."""
        return self._starting

    def health(self) -> RunHealth | None:
        """How the active run stands, or the last one of this process; None before the first."""
        return None if self._active is None else self._active.health()

    @property
    def active_run_id(self) -> str | None:
        """Id of the active run, or None."""
        active = self.active
        return None if active is None else active.run_id

    def _active_view(self) -> RunView | None:
        active = self.active
        return None if active is None else active.view()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener(kind, body)` called for each event of the active run; returns what ends that."""
        self._listeners.append(listener)
        return lambda: None if listener not in self._listeners else self._listeners.remove(listener)

    def settings_of(
        self, game: str, given: Mapping[str, Any], *, resumed: str | None = None
    ) -> LayeredSettings:
        """What a run of `game` would use with `given`, nested and unchecked.

        Args:
            game: bundled name or path; of a resumed run it is not asked for.
            given: on top of the settings that the game comes with, or of the resumed run's own.
            resumed: the run to go on with, which may be `latest`; None: a new one.

        Raises: ConfigurationError: no such game or run, or settings that cannot work.
        """
        if resumed is None:
            return settings_of(self.games, game, given)
        return join_layers(settings_resumed(self.archive.runs_dir, resumed), Layer(given))

    async def start_run(
        self,
        game: str,
        settings: LayeredSettings,
        *,
        run_id: str | None = None,
        resume: bool = False,
        force: bool = False,
        initialize_from: str | None = None,
        check: bool = False,
    ) -> RunView:
        """Start (or go on with) a run; it waits for browsers to join.

        Args:
            game: bundled name or path; with `resume` it may be empty, the run knows its own.
            settings: those of `settings_of` or of the command line; with `resume` on top of the run's own.
            run_id: its folder's name; None: made from game and time.
            resume: go on with the existing run `run_id`, which may be `latest`.
            force: move an existing run `run_id` to the trash.
            initialize_from: run id, or `latest`, whose newest weights and normaliser start this one.
            check: have a browser of this machine's own check the game meanwhile, and report what it found.

        Raises:
            RunActiveError: another run is active.
            ConfigurationError: settings, game or run id cannot be used.
            GameError: the game's module cannot be bundled.
        """
        past: RunDirectory | None = None
        if resume:
            if run_id is None:
                raise ConfigurationError("which run?", setting="run_id", fix="name it with --run-id")
            run_id = find_run(self.archive.runs_dir, run_id)
            past = self.archive.directory(run_id)
            check_resumed(past, settings)
            game = game or str(past.read_config()["game"])
        chosen = settings.run
        check_named(settings, self._settings.outside)
        source = None if initialize_from is None else check_source(self._source(initialize_from), chosen)
        with self._claim():
            await check_device(chosen.device)
            kept = None if past is None else past.read(CODE, MAX_CODE_BYTES)
            module = await self.games.resolve(game, device_of(kept or b""))
            if resume and run_id is not None:
                directory = RunDirectory.open_locked(self.archive.runs_dir, run_id)
            else:
                name = run_id or create_run_id(game, project_dir=self._settings.project_dir)
                directory = RunDirectory.create(self.archive.runs_dir, name, force=force)
            with closing_on_error(directory, is_new=not resume):
                keep_start = partial(write_start, directory, game, chosen, module)
                if not resume:
                    keep_start()
                return await self._activate(
                    chosen, module, directory, keep_start, resume, initialize_from=source, check=check
                )

    async def check_game(
        self, game: str, *, budget_seconds: float, wait_seconds: float, record: bool = False
    ) -> CheckView:
        """What a browser of this machine, which must come within `wait_seconds`, finds out about a game.

        With `record`, its first random episode and those in which the game failed come with it.

        Raises:
            ConfigurationError: there is no such game.
            GameError: its module cannot be bundled.
            AttractError: no browser came, or it did not answer.
        """
        module = await self.games.resolve(game)
        return await self.membership.checker.check(module, budget_seconds, wait_seconds, record=record)

    async def pause(self, run_id: str) -> RunView:
        """Pause the active run. Raises: UnknownRunError: when it is not this one."""
        run = self._require_active(run_id)
        await run.pause()
        return run.view()

    async def let_in(self, run_id: str, identity: str) -> RunView:
        """Lift the ban of an identity.

        Raises: UnknownRunError: the run is not active, or that identity is not banned.
        """
        run = self._require_active(run_id)
        try:
            await run.let_in(identity)
        except KeyError:
            raise UnknownRunError(f"{identity!r} is not banned from run {run_id}") from None
        return run.view()

    async def resume(self, run_id: str) -> RunView:
        """Go on with the paused run, or with one that is over, as `attract train --resume` does.

        Raises:
            UnknownRunError: there is no such run.
            RunActiveError: another run is active.
            ConfigurationError, GameError: as `start_run`.
        """
        if self.active is not None and self.active.run_id == run_id:
            await self.active.resume()
            return self.active.view()
        run_id = self.view(run_id).run_id
        settings = self.settings_of("", {}, resumed=run_id)
        return await self.start_run("", settings, run_id=run_id, resume=True, check=True)

    async def stop(self, run_id: str) -> RunView:
        """Finish the update, save, export, end. Raises: UnknownRunError: when it is not this one."""
        run = self._require_active(run_id)
        await run.stop()
        return run.view()

    async def wait_finished(self) -> RunResult:
        """The active run's result, once it has ended.

        Raises: RuntimeError: when none was started.
        """
        if self._active is None:
            raise RuntimeError("expected a run to wait for, none was started")
        return await asyncio.shield(self._active.finished)

    async def evaluate(
        self,
        run_id: str,
        *,
        episodes: int | None = None,
        deterministic: bool | None = None,
        seed: int | None = None,
        version: int | None = None,
        take: TakeEpisodes | None = None,
    ) -> EvaluationView:
        """Play fixed-seed episodes with a run's policy in the browsers that joined, each to its end.

        What is None is taken from the run's own settings. Works on the active run, and on a past one, which
        is then active until the evaluation is done. `take` is given every episode.

        Args:
            version: of a past run, one whose checkpoint is there; None: the newest.

        Raises: RunActiveError: another run is active, or a version of an active one is asked for.
            ConfigurationError: no such run, or no policy yet. UnknownRunError: no such version.
        """
        run_id = find_run(self.archive.runs_dir, run_id)
        if self.active is not None and self.active.run_id == run_id:
            if version is not None:
                raise RunActiveError(run_id)
            return await self._evaluate(self.active, episodes, deterministic, seed, None, take)
        async with self.opened(run_id) as run:
            return await self._evaluate(run, episodes, deterministic, seed, version, take)

    async def random_play(self, run_id: str) -> RandomPlay | None:
        """What random play returns, to compare an evaluation with: as the run has kept it, else measured now.

        Of a game in a page always now: evaluations play fresh pages, and the run may restart its page.

        Raises: UnknownRunError: no such run. AttractError: no browser of this machine came, or none answers.
        """
        return await of_run(self.membership.checker, self.games, self.view(run_id))

    async def export(self, run_id: str, out_dir: str, *, version: int | None = None) -> int:
        """Write the models and policy.json of a version (None: `best`, else the newest); the version.

        Raises: RunActiveError, ConfigurationError: as `evaluate`. LearnerError: when it cannot be written.
        """
        run_id = find_run(self.archive.runs_dir, run_id)
        version = self.archive.directory(run_id).marked("best") if version is None else version
        if self.active is not None and self.active.run_id == run_id:
            return await self.active.export(out_dir, version)
        async with self.opened(run_id) as run:
            return await run.export(out_dir, version)

    def roll_back(self, run_id: str, version: int) -> RunView:
        """Set aside every version of a past run after `version`, as `attract rollback` does; its view then.

        Raises: RunActiveError: the run is active, here or in another process. UnknownRunError: no such run.
            ConfigurationError: it has no version to go back to.
        """
        with known_run(run_id):
            run_id = find_run(self.archive.runs_dir, run_id)
        if self.active_run_id == run_id:
            raise RunActiveError(run_id)
        _, newest = roll_back(self.archive.runs_dir, run_id, version)
        self._audit.write("rolled_back", run=run_id, version=newest)
        return self.view(run_id)

    async def abort(self) -> None:
        """End the active run, if there is one, without finishing or exporting anything."""
        if self.active is not None:
            await self.active.abort()

    async def close(self) -> None:
        """Stop the active run as `stop` does, and end every stream; at shutdown."""
        if self.active is not None:
            await self.active.stop()
        self.events.close()

    async def say_goodbye(self) -> None:
        """Close every socket with the reason after which no host reconnects; wait until it is sent."""
        if self.membership.hub is not None:
            await self.membership.hub.close_all(close_codes.NORMAL, close_codes.GOODBYE)

    def view(self, run_id: str) -> RunView:
        """One run, by its id or as `latest`. Raises: UnknownRunError."""
        # Once: in a thread the run may end between two looks at it.
        active = self.active
        if active is not None and active.run_id == run_id:
            return active.view()
        with known_run(run_id):
            view = self.archive.view(find_run(self.archive.runs_dir, run_id))
            serve_kept_game(self.games, self.archive.directory(view.run_id))
        return view

    def fleet(self, run_id: str) -> FleetView:
        """The fleet of the active run; empty for past ones. Raises: UnknownRunError."""
        if self.active is not None and self.active.run_id == run_id:
            return self.active.fleet()
        self.view(run_id)
        return FleetView(hosts=[], steps_per_second=0.0, leases_open=0, leases_lapsed=0, blocks_refused=0)

    def log(self, run_id: str, *, whole: bool = True) -> LogView:
        """The end of a run's log files; `whole`: not only of its game's. Raises: UnknownRunError."""
        return LogView(entries=self.archive.log_entries(self.view(run_id).run_id, whole=whole))

    @contextlib.contextmanager
    def _claim(self) -> Generator[None]:
        """Keep others from starting a run while this one is being made.

        Raises: RunActiveError: one is active or being made. NotInstalledError: the learner is not installed.
        """
        check_installed("train", "run")
        if self.active is not None:
            raise RunActiveError(self.active.run_id)
        if self._starting:
            raise RunActiveError("", is_starting=True)
        self._starting = True
        try:
            yield
        finally:
            self._starting = False

    async def _activate(
        self,
        settings: RunSettings,
        module: GameModule,
        directory: RunDirectory,
        keep_start: KeepStart | None,
        resume: bool,
        *,
        initialize_from: str | None = None,
        check: bool = False,
    ) -> RunView:
        if self.membership.hub is None:
            raise RuntimeError("expected attach() before a run is started")
        # Every task of the run is started from here, or from a task that was.
        bind(run=directory.run_id)
        train = keep_start is not None
        record = RunRecord(
            directory,
            self.events,
            track=train,
            trackers=self._settings.trackers,
            log_format=self._settings.log_format,
            log_level=self._settings.log_level,
            is_resumed=resume and train,
        )
        players = await bring_players(self.games, self.models, directory, settings) if train else None
        run = ActiveRun(
            settings,
            module,
            record,
            hub=self.membership.hub,
            games=self.games,
            start_learner=self._start_learner,
            clock=self._clock,
            listener=self._notify,
            resume=resume,
            initialize_from=initialize_from,
            checker=self.membership.checker,
            check=check,
            keep_start=keep_start,
            players=players,
            outside=self.membership.outside,
        )
        self._active = run
        try:
            await run.start()
        except BaseException:
            self._active = None
            raise
        if train:
            self._audit.write("run_started", run=run.run_id, game=module.reference.name, resumed=resume)
            run.finished.add_done_callback(self._run_ended)
        self.membership.hand_over(run)
        return run.view()

    @contextlib.asynccontextmanager
    async def opened(self, run_id: str) -> AsyncGenerator[ActiveRun]:
        """A past run made active to look at its policy: nothing is trained."""
        with self._claim():
            directory = RunDirectory.open_locked(self.archive.runs_dir, run_id)
            with closing_on_error(directory):
                if not directory.versions():
                    raise ConfigurationError(f"run {run_id} has no policy yet", setting="run")
                config = directory.read_config()
                module = serve_kept_game(
                    self.games, self.archive.directory(run_id)
                ) or await self.games.resolve(str(config["game"]))
                settings = directory.read_settings()
                await self._activate(settings, module, directory, None, True)
        run = self._active
        if run is None:
            raise RuntimeError("expected the run just opened to be active")
        try:
            yield run
        finally:
            await run.stop()

    async def _evaluate(
        self,
        run: ActiveRun,
        episodes: int | None,
        deterministic: bool | None,
        seed: int | None,
        version: int | None,
        take: TakeEpisodes | None,
    ) -> EvaluationView:
        own, models = run.settings.evaluation, None
        if version is not None:
            await run.has_policy()
            models = version, await self.models.all_models(run.run_id, version)
        return await run.evaluate(
            own.episodes if episodes is None else episodes,
            deterministic=own.deterministic if deterministic is None else deterministic,
            seed=own.seed if seed is None else seed,
            version=models,
            take=take,
        )

    def _run_ended(self, finished: asyncio.Future[RunResult]) -> None:
        if not finished.cancelled() and finished.exception() is None:
            result = finished.result()
            self._audit.write("run_ended", run=result.run_id, state=result.state, updates=result.updates)

    def _require_active(self, run_id: str) -> ActiveRun:
        if self.active is None or self.active.run_id != run_id:
            if self.view(run_id).is_elsewhere:
                raise RunActiveError(run_id, is_elsewhere=True)
            raise UnknownRunError(f"run {run_id} is not active")
        return self.active

    def _source(self, run_id: str) -> RunDirectory:
        """The run that another is to start from."""
        return self.archive.directory(find_run(self.archive.runs_dir, run_id))

    def _notify(self, kind: Kind, body: WireModel) -> None:
        for listener in list(self._listeners):
            try:
                listener(kind, body)
            except (Exception, SystemExit):  # rich exits so when its terminal is gone; the run goes on.
                log.exception("a listener of %s events failed: it gets no more events", kind)
                self._listeners.remove(listener)
