"""Demonstrations of a run in training, from the files that its settings name, in the game that it keeps."""

from pathlib import Path

from attract.collection.seating import Seating
from attract.errors import ConfigurationError
from attract.experience.batch import Batch
from attract.games.kept_game import serve_kept_game
from attract.games.library import GameLibrary
from attract.learner.imitation.demonstrations import demonstration_batch, play_again
from attract.runs.directory import RunDirectory


def demonstrations_of(run_dir: Path, source: Path, seating: Seating, horizon: int) -> dict[str | None, Batch]:
    """The play of each policy's agents, by policy id; None for a sole policy.

    Args:
        run_dir: of a run, which keeps its game.
        source: a file or a folder of demonstrations.
        seating: who plays whom.
        horizon: steps per segment.

    Raises:
        ConfigurationError: naming the file that cannot be used.
        GameError, ProtocolError: the game cannot be played in Node.
    """
    module = serve_kept_game(GameLibrary(run_dir), RunDirectory.view(run_dir.parent, run_dir.name))
    if module is None:
        raise ConfigurationError(f"run {run_dir.name} keeps no game to play demonstrations in")
    _, played = play_again(module, source)
    found: dict[str | None, Batch] = {}
    for policy_id in seating.policy_ids:
        agents = [agent for agent, name in enumerate(seating.seats) if name == policy_id]
        key = policy_id if len(seating.policy_ids) > 1 else None
        found[key] = demonstration_batch(played, agents, horizon)
    return found
