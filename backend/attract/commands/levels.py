"""The work of `attract export --levels`: versions of a run from easy to hard, measured against each other."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from attract.commands.matching import arena, player_of
from attract.commands.output import CommandConsole
from attract.errors import ConfigurationError
from attract.files import MAX_JSON_BYTES, parse_object, read_file, write_atomically
from attract.runs.directory import RunDirectory
from attract.runs.exports import DOCUMENT_FILE
from attract.runs.version_model import version_model
from attract.schema.answers import ExportedLevel
from attract.settings.collection import MAIN
from attract.settings.run import ServerSettings

MAX_CANDIDATES: Final = 9
CANDIDATE_EPISODES: Final = 40
"""Of each two candidates."""
LEVEL_EPISODES: Final = 200
"""Of each level against the one below."""
STEP: Final = 7.5
"""Between two levels' ratings: the stronger one wins about 78 of 100."""
SEED: Final = 20_000


async def add_levels(
    out: Path, directory: RunDirectory, count: int, game: Path | None, server: ServerSettings
) -> list[ExportedLevel]:
    """Choose versions by rating and write them beside an exported policy, whose `policy.json` names them.

    Args:
        out: the folder of the export.
        directory: of the run.
        count: levels, at least 2.
        game: see `ExportOptions`.

    Returns: the levels, the easiest first.
    Raises: ConfigurationError: the game has one agent, the run several policies or too few versions.
    """
    _, description = directory.read_game()
    if description is None or description.num_agents < 2 or directory.read_settings().collection.seats:
        raise ConfigurationError(
            f"levels are measured by a match, and {directory.run_id} has one agent or several policies",
            setting="--levels",
            fix="export versions one by one, by --version; or let `agent.js` make mistakes",
        )
    versions = candidates(directory.versions(), directory.marked("best"))
    if len(versions) < count:
        raise ConfigurationError(
            f"{directory.run_id} has {len(versions)} versions", setting="--levels", fix="ask for fewer levels"
        )
    run_id, runs_dir = directory.run_id, server.runs_dir
    players = {f"{run_id}:{version}": version for version in versions}
    known = {name: await player_of(name, runs_dir) for name in players}
    async with arena(directory, server, game, CommandConsole(stderr=True)) as fleet:
        match = await fleet.played(list(known.values()), {}, description, CANDIDATE_EPISODES, SEED)
        ratings = {players[player.player]: player.rating for player in match.ratings()}
        chosen = choose_levels(ratings, count)
        names = [f"{run_id}:{version}" for version in chosen]
        ladder = await fleet.played(
            [known[name] for name in names], {}, description, LEVEL_EPISODES, SEED, neighbours=True
        )
    wins = {(pair.player, pair.opponent): pair.score.mean for pair in ladder.pairs()}
    template = (out / "policy.onnx").read_bytes()
    levels: list[ExportedLevel] = []
    for number, (version, name) in enumerate(zip(chosen, names, strict=True), 1):
        file = f"level-{number}.onnx"
        checkpoint = directory.inside(directory.checkpoints / str(version))
        write_atomically(out / file, version_model(checkpoint, MAIN, template))
        below = None if number == 1 else wins[name, names[number - 2]]
        levels.append(
            ExportedLevel(
                level=number, file=file, policy_version=version, rating=ratings[version], wins_below=below
            )
        )
    path = out / DOCUMENT_FILE
    document = parse_object(read_file(path, MAX_JSON_BYTES), path)
    document["levels"] = [level.model_dump() for level in levels]
    write_atomically(path, f"{json.dumps(document, indent=2, sort_keys=True)}\n".encode())
    return levels


def candidates(versions: Sequence[int], best: int | None) -> list[int]:
    """At most nine versions, spread evenly over those that are there, the newest and the best among them."""
    last = len(versions) - 1
    places = {round(last * place / (MAX_CANDIDATES - 2)) for place in range(MAX_CANDIDATES - 1)}
    spread = {versions[place] for place in places} if versions else set[int]()
    return sorted(spread if best is None or best not in versions else spread | {best})


def choose_levels(ratings: Mapping[int, float], count: int) -> list[int]:
    """Versions with even steps of rating below the strongest one, each once, the weakest first.

    Args:
        ratings: by version; at least `count` of them.
        count: at least 2.
    """
    strongest = max(ratings, key=lambda version: ratings[version])
    lowest = min(ratings.values())
    step = min(STEP, (ratings[strongest] - lowest) / (count - 1))
    chosen = [strongest]
    for number in range(1, count):
        left = [version for version in ratings if version not in chosen]
        wanted = ratings[strongest] - number * step
        chosen.append(min(left, key=lambda version: abs(ratings[version] - wanted)))
    return sorted(chosen, key=lambda version: ratings[version])
