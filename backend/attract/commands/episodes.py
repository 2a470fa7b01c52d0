"""Recorded episodes that a command names, and the build of the game to play them in."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attract.errors import ConfigurationError
from attract.games.kept_builds import serve_kept_build
from attract.games.kept_game import page_folder, project_of, serve_kept_game
from attract.games.library import GameLibrary, GameModule
from attract.runs.directory import RunDirectory, find_run
from attract.runs.episode_choice import EpisodeLimits
from attract.runs.episodes import SUFFIX, EpisodeStore, read_episode
from attract.schema.recorded_episode import EpisodeEntry, RecordedEpisode
from attract.settings.run import ServerSettings

Chosen = Literal["best", "worst", "failed"]


@dataclass(frozen=True)
class Recorded:
    """An episode and where it comes from."""

    name: str
    episode: RecordedEpisode


def chosen_of(options: object) -> Chosen | None:
    """Which of `--worst`, `--best` and `--failed` is given. Raises: ConfigurationError: several are."""
    choices: tuple[Chosen, ...] = ("worst", "best", "failed")
    given: list[Chosen] = [name for name in choices if getattr(options, name)]
    if len(given) > 1:
        raise ConfigurationError("one at a time", setting=" ".join(f"--{name}" for name in given))
    return given[0] if given else None


def find_recorded(
    named: str, chosen: Chosen | None, server: ServerSettings
) -> tuple[str | None, list[Recorded]]:
    """The run that was named, if one was, and the episodes; at least one.

    Args:
        named: a file, a folder of files, `RUN:EPISODE`, or a run with `chosen`.

    Raises: ConfigurationError: there is no such episode. FileError: a file is no recorded episode.
    """
    path = Path(named)
    if chosen is None and path.is_dir():
        files = sorted(path.glob(f"*{SUFFIX}"))
        if not files:
            raise ConfigurationError(
                f"no file in it ends in {SUFFIX}",
                setting=named,
                fix="`attract eval RUN --save FOLDER` writes some",
            )
        return None, [Recorded(file.name, read_episode(file, path)) for file in files]
    if chosen is None and (path.exists() or path.suffix == ".json"):
        return None, [Recorded(path.name, read_episode(path))]
    run, _, episode_id = named.partition(":")
    directory = RunDirectory.view(server.runs_dir, find_run(server.runs_dir, run))
    if chosen is None and not episode_id:
        raise ConfigurationError(
            "which episode of the run?",
            setting=named,
            fix=f"add --worst, --best or --failed, or name one: {run}:EPISODE",
        )
    return directory.run_id, [_kept(directory, episode_id, chosen)]


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
        whole = [entry for entry in entries if entry.end_reason != "failed" and entry.source != "match"]
        found = [entry for entry in whole if entry.source == "evaluation"] or whole
    if not found:
        raise ConfigurationError(f"{run_id} keeps no such episode", setting=f"--{chosen}")
    if chosen == "failed":
        return found[0].id
    choose = max if chosen == "best" else min
    return choose(found, key=lambda entry: entry.episode_return).id


def run_of(
    run_id: str | None, first: Recorded, game: str | None, server: ServerSettings
) -> tuple[RunDirectory | None, ServerSettings]:
    """The run whose build is played, and settings with the folder that its game was trained in.

    Args:
        run_id: of the run that was named; None: the episode may name one.
        game: the build that was given in its place; None: none was.

    Returns: None in place of a run that is not here, as where another person sent the episode.
    """
    run_id = run_id or first.episode.run_id
    if game is not None or run_id is None or not (server.runs_dir / run_id).is_dir():
        return None, server
    directory = RunDirectory.view(server.runs_dir, run_id)
    project = project_of(directory)
    return directory, server if project is None else server.model_copy(update={"project_dir": project})


async def find_build(
    games: GameLibrary,
    game: str | None,
    directory: RunDirectory | None,
    first: Recorded,
    server: ServerSettings,
) -> GameModule:
    """The game to play in. Raises: ConfigurationError: it is not known, or not there."""
    recorded_in, device = first.episode.game_sha256, first.episode.device or "desktop"
    if game is not None:
        module = await games.resolve(game)
        # Its own build is on that device already.
        return module if module.reference.sha256 == recorded_in else await games.resolve(game, device)
    if directory is not None:
        module = None if recorded_in is None else serve_kept_build(games, directory, recorded_in)
        module = module or serve_kept_game(games, directory)
        if module is not None:
            folder = page_folder(directory, server.project_dir, None)
            if folder is not None:
                games.place_page(module.reference.name, folder)
            return module
    for name in games.bundled_names():
        for module in (await games.resolve(name), await games.resolve(name, device)):
            if module.reference.sha256 == recorded_in:
                return module
    raise ConfigurationError(
        f"the game of this episode, {first.episode.game_id}, is not known here",
        setting=first.name,
        fix="name its module or its adapter: --game PATH",
    )
