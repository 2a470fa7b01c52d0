"""Scripted players, and the demonstrations that they leave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attract.runs.episodes import written
from attract.schema.episode_actions import pack_actions
from attract.schema.messages import Seed
from attract.schema.philox import derive_seed
from attract.schema.recorded_episode import EpisodeMarks, EpisodeSeat, RecordedEpisode
from attract.vector import VectorEnvironment

Player = Callable[[NDArray[Any], NDArray[np.bool_] | None], Any]
"""One agent's observation and mask to its action, as the wire has it."""
UP, DOWN, LEFT, RIGHT, USE = range(5)
KEYDOOR_WALL = 5


def record(
    game: str,
    player: Player,
    *,
    episodes: int,
    seed: int = 1,
    project_dir: Path | None = None,
    most_steps: int = 2_000,
) -> list[RecordedEpisode]:
    """Episodes 0, 1, ... of instance 0 of a game of one agent whose observation is one box."""
    found: list[RecordedEpisode] = []
    with VectorEnvironment(game, 1, async_factor=1, num_workers=1, seed=seed, project_dir=project_dir) as env:
        dtype = np.float32 if env.description.action.kind == "box" else np.int32
        (batch,) = env.reset()
        actions: list[list[Any]] = []
        while len(found) < episodes:
            mask = None if batch.action_mask is None else batch.action_mask[0]
            action = player(batch.observation["obs"][0], mask)
            actions.append([action])
            env.send(np.array([action], dtype))
            batch = env.recv()
            if not batch.episodes and len(actions) < most_steps:
                continue
            assert batch.episodes, f"{game} did not end within {most_steps} steps"
            number = len(found)
            found.append(
                demonstrated(
                    actions,
                    list(batch.episodes[0].returns),
                    id=f"{number:04}",
                    game_id=env.description.id,
                    seed=derive_seed(seed, "run"),
                    episode=number,
                )
            )
            actions = []
    return found


def demonstrated(
    actions: list[Any], returns: list[float], *, ended: bool = True, **fields: Any
) -> RecordedEpisode:
    """An episode of a person; `actions` by step and agent. It has no marks."""
    rows = np.asarray(actions)
    defaults: dict[str, Any] = {"id": "one", "game_id": "g", "seed": Seed(low=1, high=0), "episode": 0}
    return RecordedEpisode(
        **{**defaults, **fields},
        instance=0,
        seats=[EpisodeSeat(player="person" if agent == 0 else "random") for agent in range(len(returns))],
        seconds_per_step=1.0,
        actions=pack_actions(rows.astype(np.float32) if rows.dtype.kind == "f" else rows),
        marks=EpisodeMarks(interval=1, hashes=""),
        returns=returns,
        num_steps=len(actions),
        num_ticks=0,
        end_reason="terminated" if ended else "stopped",
        created_at="2026-11-23T00:00:00+00:00",
    )


def write_demonstrations(folder: Path, demonstrations: list[RecordedEpisode]) -> Path:
    """One file each; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for demonstration in demonstrations:
        (folder / f"{demonstration.id}.json").write_bytes(written(demonstration))
    return folder


def cartpole_player(seen: NDArray[Any], _mask: NDArray[np.bool_] | None) -> int:
    """Who pushes to where the pole will be a moment later."""
    _, speed, angle, turning = seen
    return int(angle + 0.5 * turning + 0.02 * speed > 0)


def keydoor_player(seen: NDArray[Any], _mask: NDArray[np.bool_] | None) -> int:
    """Who knows the rules: key, door, treasure."""
    numbers = np.rint(seen[:8] * np.array([10, 6] * 4)).astype(int)
    at = numbers[:2]
    key, door, treasure = (at + numbers[2 * i : 2 * i + 2] for i in (1, 2, 3))
    has_key, is_open = seen[8] > 0.5, seen[9] > 0.5
    if not has_key:
        return _towards(at, key)
    if not is_open:
        return _towards(at, np.array([KEYDOOR_WALL - 1, door[1]]))
    if at[0] <= KEYDOOR_WALL:
        return _towards(at, np.array([KEYDOOR_WALL + 1, door[1]]))
    return _towards(at, treasure)


def _towards(at: NDArray[Any], to: NDArray[Any]) -> int:
    """The longer way first, so that what is done hangs on nothing but which of few numbers is the largest."""
    right, down = (to - at).tolist()
    if right == down == 0:
        return USE
    if abs(right) >= abs(down):
        return RIGHT if right > 0 else LEFT
    return DOWN if down > 0 else UP
