"""Opponents that a run does not make itself: modules of the game's author, and versions of other runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attract.errors import ConfigurationError
from attract.games.library import GameLibrary
from attract.run.models import RunModels
from attract.run.policy_cache import BroughtPlayers
from attract.runs.directory import RunDirectory, find_run
from attract.settings.run import RunSettings
from attract.settings.self_play import NEWEST, POOL, RANDOM, SCRIPT


@dataclass(frozen=True)
class RunPlayer:
    """A version of a run."""

    directory: RunDirectory
    version: int
    models: Mapping[str, bytes]
    """ONNX bytes of its policies, by id."""

    @property
    def checkpoint(self) -> Path:
        return self.directory.checkpoints / str(self.version)


async def run_player(models: RunModels, runs_dir: Path, name: str) -> RunPlayer:
    """The version that RUN or RUN:VERSION names; without VERSION the newest.

    Raises: ConfigurationError: there is no such run or version.
    """
    run, _, version_name = name.partition(":")
    directory = RunDirectory.view(runs_dir, find_run(runs_dir, run))
    version = directory.find_version(version_name or NEWEST)
    return RunPlayer(directory, version, await models.all_models(directory.run_id, version))


async def bring_players(
    games: GameLibrary, models: RunModels, directory: RunDirectory, settings: RunSettings
) -> BroughtPlayers:
    """Those that settings name: as the run has kept them, else as they are now, which is kept.

    Raises:
        ConfigurationError: there is no such file, run or version, or the run has several policies or
            another memory.
        GameError: a script that cannot be bundled.
    """
    scripts: dict[str, str] = {}
    networks: dict[str, bytes] = {}
    checkpoints: list[Path] = []
    for player in settings.self_play.brought:
        brought = directory.player(player)
        if brought is None and player.startswith(SCRIPT):
            brought = (await games.player(player.removeprefix(SCRIPT))).encode()
            directory.keep_player(player, brought)
        elif brought is None:
            found = await _single(models, directory.path.parent, player, settings)
            (brought,) = found.models.values()
            checkpoints.append(found.checkpoint)
            directory.keep_player(player, brought)
        if player.startswith(SCRIPT):
            scripts[player] = brought.decode(errors="replace")
        else:
            networks[player] = brought
    return BroughtPlayers(scripts, networks, tuple(checkpoints))


async def _single(models: RunModels, runs_dir: Path, player: str, settings: RunSettings) -> RunPlayer:
    """One that can sit beside the policy that learns."""
    try:
        found = await run_player(models, runs_dir, player)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"nobody is called {player!r}: {error.problem}",
            setting="self_play.seats",
            fix=f"{NEWEST}, {POOL}, {RANDOM}, {SCRIPT}FILE, or a run and its version: duel-1:best",
        ) from None
    if len(found.models) > 1:
        raise ConfigurationError(
            f"run {found.directory.run_id} has {len(found.models)} policies, and a seat takes one",
            setting="self_play.seats",
            fix="name a run of one policy",
        )
    own, other = (_memory(one) for one in (settings, found.directory.read_settings()))
    if own != other:
        raise ConfigurationError(
            f"run {found.directory.run_id} has {other}, this one {own}: the games of a worker keep one kind",
            setting="self_play.seats",
            fix="train with the same policy.recurrent and policy.recurrent_size, or name another run",
        )
    return found


def _memory(settings: RunSettings) -> str:
    policy = settings.policy
    return "no memory" if policy.recurrent == "none" else f"{policy.recurrent} of {policy.recurrent_size}"
