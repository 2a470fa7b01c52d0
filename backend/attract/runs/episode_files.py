"""Reads and writes files of recorded episodes; reads the demonstrations that came before them, too."""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from attract.errors import ConfigurationError, FileError
from attract.files import first_problem, parse_object, read_file
from attract.schema.demonstrations import Demonstration
from attract.schema.episode_actions import check_recorded, deflated, pack_actions
from attract.schema.recorded_episode import EpisodeMarks, EpisodeSeat, RecordedEpisode

MAX_FILE_BYTES: Final = 4 << 20
"""The longest actions have half of that, as base64 that is not deflated."""
SUFFIX: Final = ".episode.json"


def read_episode(path: Path, folder: Path | None = None) -> RecordedEpisode:
    """The episode of a file, which may be a stranger's.

    Args:
        path: the file.
        folder: that it was found in, which no link may lead out of; None: it was named itself.

    Raises: FileError: it cannot be read, or is no recorded episode.
    """
    data = read_file(path, MAX_FILE_BYTES, folder)
    document = parse_object(data, path)
    try:
        if document.get("version") == 1 and "format" not in document:
            return from_demonstration(Demonstration.model_validate(document))
        episode = RecordedEpisode.model_validate(document)
        check_recorded(episode)
    except ValidationError as error:
        raise FileError(path, f"is no recorded episode: {first_problem(error)}") from None
    except ConfigurationError as error:
        raise FileError(path, f"is no recorded episode: {error.setting}: {error.problem}") from None
    return episode


def written(episode: RecordedEpisode) -> bytes:
    """The content of its file: what has a default and is not set is left out."""
    document = deflated(episode).model_dump(mode="json", exclude_defaults=True)
    whole = {"format": episode.format, "version": episode.version, **document}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()


def from_demonstration(old: Demonstration) -> RecordedEpisode:
    """A demonstration of version 1: it has no marks, and its step's length and its end are not known.

    Raises: ConfigurationError: its fields disagree.
    """
    if old.num_steps != len(old.actions):
        raise ConfigurationError(
            f"it says {old.num_steps} steps and has {len(old.actions)} actions", setting="num_steps"
        )
    actions = _actions_of(old)
    return RecordedEpisode(
        id=old.id if len(old.id) <= 64 else "",
        game_id=old.game_id,
        game_sha256=old.game_sha256,
        seed=old.seed,
        instance=0,
        episode=old.episode,
        parameters=old.parameters,
        seats=[EpisodeSeat(player="person" if agent == 0 else "random") for agent in range(len(old.returns))],
        seconds_per_step=1.0,
        actions=pack_actions(actions),
        marks=EpisodeMarks(interval=1, hashes=""),
        returns=old.returns,
        num_steps=len(old.actions),
        num_ticks=0,
        end_reason="terminated" if old.ended else "stopped",
        created_at=old.created_at[:40],
    )


def _actions_of(old: Demonstration) -> NDArray[Any]:
    """[steps, agents] or [steps, agents, components]; zeros for an agent that was away."""
    num_agents = len(old.returns)
    first = next((action for step in old.actions for action in step if action is not None), 0)
    away = [0] * len(first) if isinstance(first, list) else 0
    rows = [[away if action is None else action for action in step] for step in old.actions]
    if any(len(row) != num_agents for row in rows):
        raise ConfigurationError(f"not every step has {num_agents} actions", setting="actions")
    try:
        actions: NDArray[Any] = np.asarray(rows)
    except ValueError:
        raise ConfigurationError("they are not all of one kind", setting="actions") from None
    return actions.astype(np.float32) if actions.dtype.kind == "f" else actions
