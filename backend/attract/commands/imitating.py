"""The work of `attract imitate`: demonstrations become version 0 of a run, without a step of its own."""

import asyncio
import contextlib
import math
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from attract.commands.imitate import ImitateOptions
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, say
from attract.commands.train_display import printable
from attract.errors import ConfigurationError
from attract.games.kept_builds import write_start
from attract.games.library import GameLibrary, GameModule
from attract.learner.checkpoints.checkpoint import write_checkpoint
from attract.learner.checkpoints.exporting import export_policies
from attract.learner.imitation.crossing import has_trees
from attract.learner.imitation.demonstrations import (
    Demonstrated,
    naming,
    play_again,
    read_demonstrations,
)
from attract.learner.imitation.fitting import Epoch, FitPlan
from attract.learner.imitation.start import ClonedStart, clone
from attract.learner.process.machine import default_threads, resolve_device
from attract.learner.registry import choose_algorithm
from attract.policy.export import OnnxPatcher
from attract.policy.network import build_policy
from attract.processes.exit_codes import DONE
from attract.run.events import EventHub
from attract.run.record import RunRecord
from attract.run.start_checks import check_device, check_outside
from attract.runs.demonstrations import demonstrations_folder
from attract.runs.directory import RunDirectory, discard_unused
from attract.runs.exports import export_models
from attract.runs.metrics import UpdateRow
from attract.runs.run_ids import create_run_id
from attract.schema.answers import ImitateAnswer
from attract.schema.api import RunView
from attract.schema.frames import decode_from_browser
from attract.schema.game import GameDescription
from attract.schema.messages import Block
from attract.settings.run import RunSettings, ServerSettings
from attract.settings.self_play import OUTSIDE
from attract.vector.environments.replaying import EpisodeReplayer, replay_terms, replayed

LINE_SECONDS = 2.0


async def imitate_game(
    game_path: str, settings: RunSettings, options: ImitateOptions, server: ServerSettings
) -> int:
    """Fit a policy to demonstrations and keep it as a run; the exit code.

    Raises: ConfigurationError: no such game, demonstrations that cannot be used, or such settings.
    """
    started = time.perf_counter()
    console = CommandConsole(stderr=options.json_output)
    games = GameLibrary(server.project_dir, server.web_dir)
    await check_device(settings.device)
    module = await games.resolve(game_path)
    if options.source is not None and options.source.startswith(OUTSIDE):
        with tempfile.TemporaryDirectory() as folder:
            await _played_outside(game_path, options, server, Path(folder), console)
            game, played = await _play_again(module, Path(folder), server, console)
    else:
        source = None if options.source is None else Path(options.source)
        game, played = await _play_again(module, source, server, console)
    say(console, _described(game, played))
    if not has_trees():
        say(
            console,
            "pip install 'attract-rl[imitate]' (scikit-learn) learns more from few episodes",
        )
    plan = FitPlan(epochs=options.epochs, held_out=options.held_out)
    fitted = await asyncio.to_thread(_fit, console, game, settings, played, plan)
    run_id = options.run_id or create_run_id(game_path, project_dir=server.project_dir)
    directory = RunDirectory.create(server.runs_dir, run_id, force=options.force)
    try:
        write_start(directory, game_path, settings, module)
        directory.write_game(module.reference, game)
        elapsed = time.perf_counter() - started
        title = games.title_of(module.reference.name)
        await _keep(directory, fitted, module, game, settings, title, elapsed)
    except BaseException:
        directory.close()
        discard_unused(server.runs_dir, directory.run_id, keep_logs=False)
        raise
    _print_result(console, options, directory, fitted, played, time.perf_counter() - started)
    return DONE


async def _play_again(
    module: GameModule, source: Path | None, server: ServerSettings, console: CommandConsole
) -> tuple[GameDescription, list[Demonstrated]]:
    """The demonstrations of `source`, or those that the dashboard keeps of this game, as it plays them now.

    Raises: ConfigurationError: there are none, or one cannot be used. GameError, ProtocolError, AttractError:
        the game cannot be played.
    """
    if not module.reference.has_page:
        folder = await asyncio.to_thread(_recorded, module, server) if source is None else source
        return await asyncio.to_thread(play_again, module, folder)
    from attract.commands.crowd_play import crowd_gateway, find_build
    from attract.commands.replay import BUDGET_SECONDS

    found: list[Demonstrated] = []
    async with crowd_gateway(server, None, console) as gateway:
        game = (await find_build(gateway, module.reference.name)).description
        folder = _kept(game.id, module, server) if source is None else source
        for path, episode in await asyncio.to_thread(read_demonstrations, folder):
            with naming(path):
                seat, lease = replay_terms(module.reference, game, episode)
                checker = gateway.service.membership.checker
                answer = await checker.play_again(module, seat, lease, BUDGET_SECONDS)
                if answer.problem is not None:
                    raise ConfigurationError(answer.problem)
                blocks = [
                    message
                    for data in answer.blocks
                    if isinstance(message := decode_from_browser(data), Block)
                ]
                found.append(Demonstrated(path, episode, replayed(episode, blocks)))
    return game, found


def _recorded(module: GameModule, server: ServerSettings) -> Path:
    with EpisodeReplayer(module) as replayer:
        return _kept(replayer.description.id, module, server)


def _kept(game_id: str, module: GameModule, server: ServerSettings) -> Path:
    """Where the dashboard keeps what was recorded of this game.

    Raises: ConfigurationError: nothing was.
    """
    folder = demonstrations_folder(server.runs_dir, game_id)
    if not folder.is_dir():
        raise ConfigurationError(
            f"no demonstrations of {module.reference.name}: there is no folder {folder}",
            setting="--from",
            fix="record episodes on the dashboard (Play yourself, Record), or name a file or folder",
        )
    return folder


async def _played_outside(
    game: str, options: ImitateOptions, server: ServerSettings, folder: Path, console: CommandConsole
) -> None:
    """Have a program outside play, and keep its episodes in `folder`.

    Raises: ConfigurationError: it is not defined, or played nothing. AttractError: the game cannot be played.
    """
    from attract.commands.crowd_play import crowd_gateway, find_build, seed_of
    from attract.commands.evaluating import save_episodes
    from attract.commands.matching import print_outside
    from attract.commands.outside_play import outside_episodes

    player = str(options.source)
    check_outside([player], server.outside, setting="--from")
    name = player.removeprefix(OUTSIDE)
    async with crowd_gateway(server, None, console) as gateway:
        build = await find_build(gateway, game)
        say(console, f"{player} plays up to {options.episodes} episodes")
        episodes, reports = await outside_episodes(
            gateway, build, seed_of(0), options.seconds, options.episodes, console, [name]
        )
    begun = [episode for episode in episodes if episode.num_steps > 0]
    if not begun:
        problems = [problem for report in reports for problem in report.problems]
        failures = {episode.error.text for episode in episodes if episode.error is not None}
        problems += [f"{player} could not play: {printable(text)}" for text in sorted(failures)]
        if problems:
            raise ConfigurationError("; ".join(problems))
        raise ConfigurationError(
            f"{player} played no episode within {options.seconds:g} s", setting="--from", fix="add --seconds"
        )
    print_outside(reports, console)
    save_episodes(folder, begun)


def _fit(
    console: Console,
    game: GameDescription,
    settings: RunSettings,
    played: list[Demonstrated],
    plan: FitPlan,
) -> ClonedStart:
    import torch

    torch.set_num_threads(settings.learner_threads or default_threads())
    printed_at = time.perf_counter()

    def on_epoch(policy_id: str, epoch: Epoch) -> None:
        nonlocal printed_at
        now = time.perf_counter()
        if now - printed_at < LINE_SECONDS:
            return
        printed_at = now
        held_out = "" if epoch.held_out is None else f", best error held out {epoch.held_out:.3g}"
        whose = "" if not settings.collection.seats else f"{policy_id}: "
        say(console, f"{whose}epoch {epoch.number} of {plan.epochs}: loss {epoch.loss:.3g}{held_out}")

    # Without experience there is nothing to explore.
    algorithm = choose_algorithm(settings.model_copy(update={"exploration": "none"}))
    return clone(game, settings, algorithm, played, plan, resolve_device(settings, game), on_epoch)


async def _keep(
    directory: RunDirectory,
    fitted: ClonedStart,
    module: GameModule,
    game: GameDescription,
    settings: RunSettings,
    title: str,
    elapsed: float,
) -> None:
    """Write checkpoint, row, view and export, as a run in training does with its version 0."""
    snapshot = fitted.snapshot(directory.run_id, game, settings)
    write_checkpoint(directory.checkpoints, snapshot)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    record = RunRecord(directory, EventHub())
    try:
        row = UpdateRow(
            update=0,
            agent_steps=0,
            collected_steps=0,
            seconds=elapsed,
            policy_version=0,
            checkpoint="checkpoints/0",
            weights_sha256=snapshot.document["weights_sha256"],
            values=fitted.metrics(),
        )
        view = RunView(
            run_id=directory.run_id,
            game=module.reference.name,
            title=title,
            state="finished",
            created=created,
            seed=settings.seed,
            policy_version=0,
            agent_steps=0,
            collected_steps=0,
            updates=0,
            episodes=0,
            elapsed_seconds=elapsed,
            steps_per_second=0.0,
            episode_return_mean=None,
            goal=settings.until_return,
            total_steps=settings.total_steps,
            newest_model=0,
            description=game,
            game_reference=module.reference,
            settings=settings.model_dump(mode="json"),
        )
        await record.commit_update(row, view)
        states = {
            name: policy_state.policy.state_dict() for name, policy_state in fitted.state.policies.items()
        }
        policies = list(fitted.state.policies.values())
        blank = build_policy(
            settings.policy, game, normalize_observations=bool(policies[0].policy.normalisers)
        )
        seats = list(settings.collection.seats) or [next(iter(states))] * game.num_agents
        summary = {"run_id": directory.run_id, "created": created, "seed": settings.seed, "agent_steps": 0}
        export_policies(
            directory.export,
            states,
            blank,
            OnnxPatcher(policies[0].policy),
            game,
            seats=seats,
            policy_version=0,
            training=summary,
        )
    finally:
        with contextlib.suppress(Exception):
            await record.close()


def _described(game: GameDescription, played: list[Demonstrated]) -> str:
    steps = sum(play.episode.num_steps for play in played)
    players = ", ".join(sorted({play.episode.seats[play.episode.shown_agent].player for play in played}))
    episodes = "1 demonstration" if len(played) == 1 else f"{len(played)} demonstrations"
    return f"{game.id}: {episodes} by {players}, {steps:,} steps, mean return {_mean_return(played):.4g}"


def _mean_return(played: list[Demonstrated]) -> float:
    return math.fsum(play.episode.mean_return for play in played) / len(played)


def _print_result(
    console: Console,
    options: ImitateOptions,
    directory: RunDirectory,
    fitted: ClonedStart,
    played: list[Demonstrated],
    seconds: float,
) -> None:
    several = len(fitted.fits) > 1
    for policy_id, fit in fitted.fits.items():
        plays = (
            f"plays {100 * fit.agreement:.1f} % of the demonstrated actions"
            if fit.agreement == fit.agreement
            else f"negative log-likelihood {fit.loss:.3g}"
        )
        held = ""
        if fit.held_out is not None:
            kind = fit.agreement == fit.agreement
            held = (
                f", {100 - 100 * fit.held_out:.1f} % of those held out"
                if kind
                else f", held out {fit.held_out:.3g}"
            )
        whose = f"{policy_id}: " if several else ""
        say(console, f"{whose}{plays}{held}, after {fit.epochs} epochs")
    models = export_models(directory.export, list(fitted.fits))
    for model in models:
        say(console, f"policy: {model}")
    run_id = directory.run_id
    say(console, f"in {seconds:.1f} s; evaluate it: attract eval {run_id}")
    if options.json_output:
        print_answer(
            ImitateAnswer(
                run_id=run_id,
                demonstrations=len(played),
                steps=sum(play.episode.num_steps for play in played),
                return_mean=_mean_return(played),
                policy_version=0,
                wall_seconds=seconds,
                export=str(directory.export),
                metrics=fitted.metrics(),
            )
        )
