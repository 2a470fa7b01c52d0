"""The work of `attract eval`: fixed-seed episodes of a run's policy in a headless browser."""

import asyncio
import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attract.browser.chromium import require_chromium
from attract.commands.destination import check_writable, write_output, writing
from attract.commands.evaluate import EvaluateOptions
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, say
from attract.commands.own_host import gateway_with_host
from attract.diagnosis.verdict import Verdict, as_evaluated, as_measured, judge
from attract.errors import AttractError, ConfigurationError, CutOffError
from attract.files import can_write
from attract.games.kept_game import CODE, CODE_MAP, page_folder, project_of
from attract.processes.exit_codes import DONE, FAILED
from attract.processes.interrupt import Interrupts
from attract.runs.config_file import CONFIG
from attract.runs.directory import GAME, RunDirectory, find_run
from attract.runs.disk import is_locked
from attract.runs.episodes import SUFFIX, written
from attract.schema.answers import EvaluateAnswer
from attract.schema.api import EvaluationView, RandomPlay
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from attract.run.service import RunService

Answer = TypeVar("Answer")
REFRESH_SECONDS = 0.25
LINE_SECONDS = 5.0
LINE_SHARE = 1 / 60
"""Between two lines of progress pass `LINE_SECONDS`, and this share of the time so far: as in a training."""


async def evaluate_run(run: str, options: EvaluateOptions, server: ServerSettings) -> int:
    """Play the episodes and print what came of them; the exit code.

    A run that is being trained goes on undisturbed, see `readable_run`. The first signal ends
    the evaluation: what is printed is over the episodes so far. The second ends at once.

    Raises:
        ConfigurationError: when there is no such run, version or page, or it has no policy yet.
        CutOffError: a signal came before an episode had its result, or a second one.
    """
    run_id = find_run(server.runs_dir, run)
    directory = RunDirectory.view(server.runs_dir, run_id)
    version = None if options.version is None else directory.find_version(options.version)
    folder = page_folder(directory, server.project_dir, options.game)
    project = project_of(directory)
    if project is not None:
        server = server.model_copy(update={"project_dir": project})
    if options.save is not None:
        check_writable(options.save)
    require_chromium()
    console = CommandConsole(stderr=options.json_output)

    recorded: list[RecordedEpisode] = []
    best = directory.marked("best")
    async with contextlib.AsyncExitStack() as stack:
        server = stack.enter_context(readable_run(directory, version, server))
        workers = directory.read_settings().collection.num_workers
        gateway = await stack.enter_async_context(gateway_with_host(server, console, workers))
        game, _ = directory.read_game()
        if game is not None and folder is not None:
            gateway.service.games.place_page(game.name, folder)
        evaluation = gateway.service.evaluate(
            run_id,
            episodes=options.episodes,
            deterministic=options.deterministic,
            seed=options.seed,
            version=version,
            take=None if options.save is None else recorded.extend,
        )
        with Interrupts().listening() as interrupts:
            view = await _watched(gateway.service, evaluation, interrupts)
            verdict = await _judge(gateway.service, run_id, view, interrupts)
    if options.save is not None:
        await asyncio.to_thread(save_episodes, options.save, recorded)
    if options.json_output:
        print_answer(
            EvaluateAnswer(
                run_id=run_id,
                policy_version=view.policy_version,
                episodes=view.episodes,
                return_mean=view.return_mean,
                return_std=view.return_std,
                length_mean=view.length_mean,
                episodes_saved=None if options.save is None else len(recorded),
                **verdict.numbers(),
            )
        )
    else:
        say(
            console,
            f"{view.episodes} episodes of {run_id} v{view.policy_version}: "
            f"return {view.return_mean:.2f} +- {view.return_std:.2f}, length {view.length_mean:.1f} steps",
        )
        if options.save is not None:
            text = saved_text(len(recorded), view.episodes, options.save)
            say(console, text)
        if verdict.text is not None:
            say(console, verdict.text)
        hint = hint_of_best(view.policy_version, best)
        if hint and options.version is None:
            say(console, hint)
    return interrupts.exit_code or DONE


async def _watched(
    service: "RunService", evaluation: Coroutine[Any, Any, EvaluationView], interrupts: Interrupts
) -> EvaluationView:
    """The evaluation, with lines of progress on stderr; after a signal that of the episodes so far."""
    progress = EvaluationProgress(time.monotonic())
    async with beside(evaluation) as task, beside(interrupts.first.wait()) as first:
        while not task.done() and not first.done():
            await asyncio.wait((task, first), timeout=REFRESH_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            line = progress.line(_evaluated(service), time.monotonic())
            if line is not None:
                print(line, file=sys.stderr, flush=True)
        if not task.done():
            async with beside(interrupts.second.wait()) as second:
                if service.active is not None and service.active.end_evaluation():
                    await asyncio.wait((task, second), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise CutOffError(
                "interrupted before an episode of the evaluation had its result",
                fix="play fewer episodes: `--episodes 20`; stderr shows how long they take",
                exit_code=interrupts.exit_code or FAILED,
            )
        return await task


def _evaluated(service: "RunService") -> tuple[int, int] | None:
    return None if service.active is None else service.active.evaluated


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, Answer]) -> AsyncGenerator[asyncio.Task[Answer]]:
    """Run `work` beside the block, no longer than that."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait((task,))


class EvaluationProgress:
    """Says how far an evaluation is, every few seconds; no I/O, no clock."""

    def __init__(self, now: float) -> None:
        """`now`: monotonic seconds."""
        self._began: float | None = None
        self._said_at = now

    def line(self, evaluated: tuple[int, int] | None, now: float) -> str | None:
        """The line that is due, if one is.

        Args:
            evaluated: episodes that have their result, and all; None: the evaluation is not under way.
            now: monotonic seconds.
        """
        if evaluated is None:
            return None
        if self._began is None:
            self._began = self._said_at = now
        seconds = now - self._began
        if now - self._said_at < max(LINE_SECONDS, LINE_SHARE * seconds):
            return None
        self._said_at = now
        num_done, num_episodes = evaluated
        left = f", about {seconds / num_done * (num_episodes - num_done):.0f} s left" if num_done else ""
        return f"{num_done} of {num_episodes} episodes after {seconds:.0f} s{left}"


async def _judge(service: "RunService", run_id: str, view: EvaluationView, interrupts: Interrupts) -> Verdict:
    """The verdict; random play is not measured after a signal."""
    random_play = None if interrupts.first.is_set() else await _random_play(service, run_id, interrupts)
    run = service.view(run_id)
    game = run.description
    if random_play is None and (game is None or game.page is None):
        random_play = run.random_play
    return judge(
        as_evaluated(view),
        as_measured(random_play),
        num_agents=1 if game is None else game.num_agents,
    )


async def _random_play(service: "RunService", run_id: str, interrupts: Interrupts) -> RandomPlay | None:
    async with (
        beside(service.random_play(run_id)) as task,
        beside(interrupts.first.wait()) as first,
    ):
        await asyncio.wait((task, first), return_when=asyncio.FIRST_COMPLETED)
        try:
            return await task if task.done() else None
        except AttractError:
            # The evaluation stands by itself.
            return None


@contextlib.contextmanager
def readable_run(
    directory: RunDirectory, version: int | None, server: ServerSettings
) -> Generator[ServerSettings]:
    """Settings by which the version (None: the newest) can be opened: of a copy if the run cannot be locked.

    Another process writes it, or its folder is read-only. Raises: as `copy_version`.
    """
    if can_write(directory.path) and not is_locked(directory.path):
        yield server
        return
    with tempfile.TemporaryDirectory() as folder:
        copy_version(directory, version, Path(folder))
        yield server.model_copy(update={"runs_dir": Path(folder)})


def copy_version(directory: RunDirectory, version: int | None, runs_dir: Path) -> None:
    """A run of the same id in `runs_dir` that has this version (None: the newest) and no other.

    Raises:
        ConfigurationError: the run has no version yet, or its trainer has removed this one.
        FileError: a link leads out of the run's folder.
    """
    version = max(directory.versions(), default=None) if version is None else version
    if version is None:
        raise ConfigurationError(f"run {directory.run_id} has no policy yet", setting="run")
    copy = runs_dir / directory.run_id
    checkpoint = directory.inside(directory.checkpoints / str(version))
    try:
        shutil.copytree(checkpoint, copy / "checkpoints" / str(version), symlinks=True)
    except (FileNotFoundError, shutil.Error):
        raise ConfigurationError(
            f"version {version} of run {directory.run_id} was thinned out just now",
            fix="name another version",
        ) from None
    for name in (CONFIG, GAME, CODE, CODE_MAP):
        source = directory.inside(directory.path / name)
        if source.is_file():
            shutil.copyfile(source, copy / name)


def save_episodes(folder: Path, episodes: Sequence[RecordedEpisode], prefix: str = "") -> None:
    """Write each into a file of its own, `RUN-vVERSION-SEED-NUMBER.episode.json`; other files stay.

    `prefix`: of the names, where several episodes have the same seed and number.

    Raises: ConfigurationError: the folder cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for episode in episodes:
        version = max((seat.policy_version or 0 for seat in episode.seats), default=0)
        # The index of an evaluation's episode stands in for the instance (rule C5).
        name = f"{prefix}{episode.run_id}-v{version}-{episode.seed.low:08x}-{episode.instance:04d}"
        write_output(folder / f"{name}{SUFFIX}", written(episode))


def saved_text(num_saved: int, num_played: int, folder: Path) -> str:
    """How many episodes are in the folder now, and why not all."""
    text = f"saved {num_saved} episodes in {folder}"
    missing = num_played - num_saved
    return text if missing == 0 else f"{text}; {missing} were too long to be recorded, or their game failed"


def hint_of_best(newest: int, best: int | None) -> str:
    """A hint if `attract export` ships another version than the one evaluated; else empty."""
    if best is None or best == newest:
        return ""
    return (
        f"v{newest} is the newest; v{best} had the best evaluation during training. "
        f"`attract export` ships v{best} unless you give --version {newest}"
    )
