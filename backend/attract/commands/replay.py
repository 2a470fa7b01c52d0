"""`attract replay`: plays recorded episodes again in a headless browser and says which are the same."""

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from attract.browser.chromium import require_chromium
from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.output import CommandConsole
from attract.errors import ConfigurationError
from attract.games.kept_builds import serve_kept_build
from attract.games.kept_game import page_folder, project_of, serve_kept_game
from attract.games.library import GameLibrary, GameModule
from attract.processes.exit_codes import DONE, FAILED, USAGE
from attract.run.game_checker import GameChecker
from attract.runs.directory import RunDirectory, find_run
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episode_files import SUFFIX, read_episode
from attract.runs.episodes import EpisodeStore
from attract.schema.recorded_episode import EpisodeEntry, EpisodeReplay, RecordedEpisode
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings

HOST_SECONDS: Final = 30.0
BUDGET_SECONDS: Final = 600.0
"""For the episodes of one order; a game that hangs is given up after it."""
ORDER_EPISODES: Final = 16
ORDER_BYTES: Final = 4 << 20
"""Base64 of the actions that one message has."""

Chosen = Literal["best", "worst", "failed"]


@dataclass(frozen=True)
class ReplayOptions:
    """Options of the command line."""

    episode: str
    """A file, a folder of files, `RUN:EPISODE`, or a run with `chosen`."""
    chosen: Chosen | None = None
    game: str | None = None
    """The build to play it in; None: the one it was recorded in."""
    json_output: bool = False


@dataclass(frozen=True)
class Recorded:
    """An episode and where it comes from."""

    name: str
    episode: RecordedEpisode


async def replay_episodes(order: ReplayOptions, server: ServerSettings) -> int:
    """Play the episodes and print what came of them; 0: all are equal, 1: one is not, 2: one was not played.

    Raises: ConfigurationError: there is no such episode, or no such game. AttractError: no browser.
    """
    run_id, recorded = find_recorded(order, server)
    require_chromium()
    directory = None
    if order.game is None:
        directory = _run_of(run_id or recorded[0].episode.run_id, server)
    if directory is not None and (project := project_of(directory)) is not None:
        server = server.model_copy(update={"project_dir": project})
    console = CommandConsole(stderr=order.json_output)

    def on_event(event: dict[str, Any]) -> None:
        if event.get("event") in ("page_error", "failed"):
            console.print(f"browser: {event.get('text')}", markup=False, highlight=False, soft_wrap=True)

    results: list[tuple[Recorded, EpisodeReplay]] = []
    problem: str | None = None
    async with running_gateway(server, port_is_fixed=False) as gateway:
        module = await _build(gateway.service.games, order.game, directory, recorded[0], server)
        host = await HostProcess.start(join_url(gateway.url, gateway.guard.issue("worker"), 0), on_event)
        try:
            async for entry, replay in _replayed(gateway.service.membership.checker, module, recorded):
                if isinstance(replay, str):
                    problem = f"{entry.name}: {replay}"
                    break
                results.append((entry, replay))
                _say(console, entry, replay, module)
        finally:
            await host.stop()
    if problem is not None:
        console.print(f"error: {problem}", markup=False, highlight=False, soft_wrap=True)
    elif len(results) > 1:
        equal = sum(replay.equal for _, replay in results)
        console.print(f"{equal} of {len(results)} episodes are equal", highlight=False, soft_wrap=True)
    if order.json_output:
        rows = [_row(entry, replay, module) for entry, replay in results]
        whole = {"game": module.reference.name, "equal": problem is None and all(r["equal"] for r in rows)}
        print(json.dumps({**whole, "problem": problem, "episodes": rows}), flush=True)
    if problem is not None:
        return USAGE
    return DONE if all(replay.equal for _, replay in results) else FAILED


def find_recorded(order: ReplayOptions, server: ServerSettings) -> tuple[str | None, list[Recorded]]:
    """The run that was named, if one was, and the episodes; at least one."""
    path = Path(order.episode)
    if order.chosen is None and path.is_dir():
        files = sorted(path.glob(f"*{SUFFIX}"))
        if not files:
            raise ConfigurationError(
                f"no file in it ends in {SUFFIX}",
                setting=order.episode,
                fix="`attract eval RUN --save FOLDER` writes some",
            )
        return None, [Recorded(file.name, read_episode(file, path)) for file in files]
    if order.chosen is None and (path.exists() or path.suffix == ".json"):
        return None, [Recorded(path.name, read_episode(path))]
    run, _, episode_id = order.episode.partition(":")
    directory = RunDirectory.view(server.runs_dir, find_run(server.runs_dir, run))
    if order.chosen is None and not episode_id:
        raise ConfigurationError(
            "which episode of the run?",
            setting=order.episode,
            fix=f"add --worst, --best or --failed, or name one: {run}:EPISODE",
        )
    return directory.run_id, [_kept(directory, episode_id, order.chosen)]


def _kept(directory: RunDirectory, episode_id: str, chosen: Chosen | None) -> Recorded:
    """An episode that the run keeps. Raises: ConfigurationError: there is none."""
    store = EpisodeStore(directory.path, EpisodeLimits(0, 0))
    entries = [entry for entry in store.entries() if entry.problem is None]
    if chosen is not None:
        episode_id = _chosen(entries, chosen, directory.run_id)
    elif all(entry.id != episode_id for entry in entries):
        names = ", ".join(entry.id for entry in entries[:5])
        raise ConfigurationError(
            f"{directory.run_id} keeps no episode {episode_id}",
            setting="EPISODE",
            fix=f"its newest ones: {names}" if names else "it keeps none",
        )
    return Recorded(f"{directory.run_id}:{episode_id}", store.get(episode_id))


def _chosen(entries: Sequence[EpisodeEntry], chosen: Chosen, run_id: str) -> str:
    """The id that is meant, of evaluations if there are any. Raises: ConfigurationError: there is none."""
    if chosen == "failed":
        found = [entry for entry in entries if entry.end_reason == "failed"]
    else:
        whole = [entry for entry in entries if entry.end_reason != "failed"]
        found = [entry for entry in whole if entry.source == "evaluation"] or whole
    if not found:
        raise ConfigurationError(f"{run_id} keeps no such episode", setting=f"--{chosen}")
    if chosen == "failed":
        return found[0].id
    choose = max if chosen == "best" else min
    return choose(found, key=lambda entry: entry.episode_return).id


def _run_of(run_id: str | None, server: ServerSettings) -> RunDirectory | None:
    """The folder of a run; None: it is not here, as where another person sent the episode."""
    if run_id is None or not (server.runs_dir / run_id).is_dir():
        return None
    return RunDirectory.view(server.runs_dir, run_id)


async def _build(
    games: GameLibrary,
    game: str | None,
    directory: RunDirectory | None,
    first: Recorded,
    server: ServerSettings,
) -> GameModule:
    """The game to play in. Raises: ConfigurationError: it is not known, or not there."""
    if game is not None:
        return await games.resolve(game)
    if directory is not None:
        recorded_in = first.episode.game_sha256
        module = None if recorded_in is None else serve_kept_build(games, directory, recorded_in)
        module = module or serve_kept_game(games, directory)
        if module is not None:
            folder = page_folder(directory, server.project_dir, None)
            if folder is not None:
                games.place_page(module.reference.name, folder)
            return module
    for name in games.bundled_names():
        module = await games.resolve(name)
        if module.reference.sha256 == first.episode.game_sha256:
            return module
    raise ConfigurationError(
        f"the game of this episode, {first.episode.game_id}, is not known here",
        setting=first.name,
        fix="name its module or its adapter: --game PATH",
    )


async def _replayed(
    checker: GameChecker, module: GameModule, recorded: Sequence[Recorded]
) -> AsyncGenerator[tuple[Recorded, EpisodeReplay | str]]:
    """Each episode with its replay, or with why it was not played, which ends it."""
    for part in in_orders(recorded):
        episodes = [entry.episode for entry in part]
        answer = await checker.replay(module, episodes, BUDGET_SECONDS, HOST_SECONDS)
        for entry, replay in zip(part, answer.replays, strict=False):
            yield entry, replay
        if len(answer.replays) < len(part):
            yield part[len(answer.replays)], answer.problem or "the browser did not play it"
            return


def in_orders(recorded: Sequence[Recorded]) -> Iterator[list[Recorded]]:
    """Parts small enough for a message."""
    part: list[Recorded] = []
    for entry in recorded:
        size = sum(len(each.episode.actions.data) for each in [*part, entry])
        if part and (len(part) >= ORDER_EPISODES or size > ORDER_BYTES):
            yield part
            part = []
        part.append(entry)
    yield part


def _say(console: CommandConsole, entry: Recorded, replay: EpisodeReplay, module: GameModule) -> None:
    console.print(
        f"{entry.name}: {replay_text(entry, replay)}", markup=False, highlight=False, soft_wrap=True
    )
    if not replay.equal and _is_other_build(entry, module):
        text = "  it was recorded in another build of the game than this one"
        console.print(text, highlight=False, soft_wrap=True)


def replay_text(entry: Recorded, replay: EpisodeReplay) -> str:
    """What is printed of an episode after its name."""
    episode, difference = entry.episode, replay.difference
    if difference is not None:
        return f"differs at {difference.seconds:.1f} s (step {difference.step}): {difference.text}"
    how = f"failed: {episode.error.text.splitlines()[0]}" if episode.error else episode.end_reason
    returns = ", ".join(f"{value:.6g}" for value in replay.returns)
    return f"equal: {replay.num_steps} steps ({episode.seconds:.1f} s), return {returns}, {how}"


def _is_other_build(entry: Recorded, module: GameModule) -> bool:
    return entry.episode.game_sha256 not in (None, module.reference.sha256)


def _row(entry: Recorded, replay: EpisodeReplay, module: GameModule) -> dict[str, Any]:
    return {
        "episode": entry.name,
        "other_build": _is_other_build(entry, module),
        **replay.model_dump(mode="json"),
    }
