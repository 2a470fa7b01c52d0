"""Demonstrations as a batch that every part of a learner can read: files in, played again, segments out."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attract.collection.seating import Seating
from attract.collection.trust.replays import Play
from attract.errors import ConfigurationError
from attract.experience.batch import Batch, Finals
from attract.games.kept_game import serve_kept_game
from attract.games.library import GameLibrary, GameModule
from attract.runs.directory import RunDirectory
from attract.runs.episodes import INDEX, read_episode
from attract.schema.game import GameDescription
from attract.schema.recorded_episode import RecordedEpisode
from attract.vector.environments.replaying import EpisodeReplayer


@dataclass(frozen=True, slots=True)
class Demonstrated:
    """One demonstration with its game's observations and rewards."""

    path: Path
    episode: RecordedEpisode
    play: Play


def demonstration_files(source: Path) -> list[Path]:
    """The file itself, or every `.json` of a folder, by name.

    Raises: ConfigurationError: there is none.
    """
    if source.exists() and not source.is_dir():
        return [source]
    found = sorted(source.glob("*.json")) if source.is_dir() else []
    # A run's own episodes have an index beside them.
    files = [path for path in found if path.name != INDEX]
    if not files:
        what = "no demonstration is in this folder" if source.is_dir() else "there is no such file or folder"
        raise ConfigurationError(
            what, setting=str(source), fix="record one on the dashboard: Play yourself, Record"
        )
    return files


def read_demonstrations(source: Path) -> list[tuple[Path, RecordedEpisode]]:
    """Every demonstration of a file or folder.

    Raises: ConfigurationError: there is none. FileError: naming the file that is none.
    """
    folder = source if source.is_dir() else None
    return [(path, read_episode(path, folder)) for path in demonstration_files(source)]


@contextmanager
def naming(path: Path) -> Generator[None]:
    """Has what is wrong with a demonstration say of which."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(
            error.problem, setting=str(path), fix="remove that file, or record the episode again"
        ) from None


def play_again(module: GameModule, source: Path) -> tuple[GameDescription, list[Demonstrated]]:
    """Every demonstration of `source`, a file or folder, as the game plays it now.

    Raises:
        ConfigurationError: naming the file that is none, is of another game, or that the game no longer
            plays so; or the game lives in a page, which Node cannot play.
        GameError, ProtocolError: the game cannot be played in Node.
    """
    if module.reference.has_page:
        raise ConfigurationError(
            f"{module.reference.name} lives in a page: its demonstrations are played in a browser, which a "
            "learner has not",
            setting="cloning.demonstrations",
            fix="attract imitate, then attract train --resume --run-id with the run that it makes",
        )
    read = read_demonstrations(source)
    found: list[Demonstrated] = []
    with EpisodeReplayer(module) as replayer:
        for path, episode in read:
            with naming(path):
                found.append(Demonstrated(path, episode, replayer.replay(episode)))
        return replayer.description, found


def demonstration_batch(demonstrations: Iterable[Demonstrated], agents: Sequence[int], horizon: int) -> Batch:
    """The play of these agents, cut into segments of `horizon` steps, the last filled up with invalid ones.

    The slot of a segment is the place of its trajectory, demonstrations times agents, so that they chain.
    Log-probabilities, values and recurrent states are zeros: no policy has been evaluated yet.

    Args:
        demonstrations: of one game.
        agents: whose steps are taken; of an episode in which a person plays some of them, the person's.
        horizon: steps per segment.

    Raises: ConfigurationError: none of them took part in any step.
    """
    columns: list[_Column] = []
    for number, demonstration in enumerate(demonstrations):
        for agent in _shown(demonstration.episode, agents):
            columns += _columns(
                demonstration.play, agent, number * len(agents) + agents.index(agent), horizon
            )
    if not any(column.steps["valid"].any() for column in columns):
        raise ConfigurationError("no agent took part in any step of these demonstrations")
    return _stacked(columns)


def _shown(episode: RecordedEpisode, agents: Sequence[int]) -> Sequence[int]:
    """The agents whose play is to be learned: those of a person, where one is among them."""
    return [agent for agent in agents if episode.seats[agent].player == "person"] or agents


@dataclass(frozen=True, slots=True)
class _Column:
    """One segment of one agent, [horizon, ...] each."""

    steps: Mapping[str, NDArray[Any]]
    action: NDArray[Any]
    after: Mapping[str, NDArray[Any]]
    """[...] each, the observation after the last step."""
    finals: Mapping[int, Mapping[str, NDArray[Any]]]
    slot: int
    first_step: int


def _columns(play: Play, agent: int, slot: int, horizon: int) -> Iterable[_Column]:
    num_steps = len(play.action)
    for first in range(0, num_steps, horizon):
        chosen = slice(first, min(first + horizon, num_steps))
        filling = horizon - (chosen.stop - first)
        steps = {name: _filled(array[chosen, agent], filling) for name, array in play.steps.items()}
        is_last = chosen.stop == num_steps
        after = {
            key: array[agent] if is_last else play.steps[f"obs.{key}"][chosen.stop, agent]
            for key, array in play.after.items()
        }
        finals = {
            step - first: final
            for (step, whose), final in play.finals.items()
            if whose == agent and chosen.start <= step < chosen.stop
        }
        if filling and not steps["terminated"][-filling - 1] and not steps["truncated"][-filling - 1]:
            # The player stopped here: what would follow is worth what the policy thinks of it (rule E1).
            steps["truncated"] = steps["truncated"].copy()
            steps["truncated"][-filling - 1] = bool(steps["valid"][-filling - 1])
            finals[horizon - filling - 1] = after
        yield _Column(steps, _filled(play.action[chosen, agent], filling), after, finals, slot, first)


def _filled(array: NDArray[Any], num_rows: int) -> NDArray[Any]:
    """With `num_rows` rows of zeros behind."""
    if num_rows == 0:
        return array
    return np.concatenate((array, np.zeros((num_rows, *array.shape[1:]), array.dtype)))


def _stacked(columns: Sequence[_Column]) -> Batch:
    def steps(name: str, dtype: type | None = None) -> Tensor:
        array = np.stack([column.steps[name] for column in columns], axis=1)
        return _tensor(array if dtype is None else array.astype(dtype))

    keys = list(columns[0].after)
    actions = _tensor(np.stack([column.action for column in columns], axis=1))
    masks = steps("action_mask", np.bool_) if "action_mask" in columns[0].steps else None
    valid = steps("valid", np.bool_)
    if masks is not None:
        # Where no agent acts nothing may be forbidden: every distribution allows something.
        masks = masks | ~valid.unsqueeze(-1)
    places = [(step, at) for at, column in enumerate(columns) for step in column.finals]
    finals = Finals(
        step=torch.tensor([step for step, _ in places], dtype=torch.int64),
        column=torch.tensor([at for _, at in places], dtype=torch.int64),
        observation={
            key: _tensor(np.stack([columns[at].finals[step][key] for step, at in places])) for key in keys
        }
        if places
        else {},
    )
    zeros = torch.zeros(valid.shape)
    return Batch(
        observation={key: steps(f"obs.{key}") for key in keys},
        action=actions if actions.is_floating_point() else actions.long(),
        log_prob=zeros,
        value=zeros,
        reward=steps("reward", np.float32),
        terminated=steps("terminated", np.bool_),
        truncated=steps("truncated", np.bool_),
        valid=valid,
        final_value=zeros,
        bootstrap_value=torch.zeros(len(columns)),
        slot_id=torch.tensor([column.slot for column in columns]),
        first_step=torch.tensor([column.first_step for column in columns]),
        policy_version=torch.zeros(len(columns), dtype=torch.int64),
        worker_id=torch.zeros(len(columns), dtype=torch.int64),
        action_mask=masks,
        bootstrap_observation={key: _tensor(np.stack([c.after[key] for c in columns])) for key in keys},
        finals=finals if places else None,
    )


def keep_slots(batch: Batch, slots: Sequence[int]) -> Batch:
    """The segments of these slots alone."""
    return batch.keep_segments(torch.isin(batch.slot_id, torch.tensor(slots, device=batch.slot_id.device)))


def on_device(batch: Batch, device: torch.device) -> Batch:
    """The same on `device`."""
    moved: dict[str, Any] = {}
    for name in Batch.__dataclass_fields__:
        value = getattr(batch, name)
        if isinstance(value, Tensor):
            moved[name] = value.to(device)
        elif isinstance(value, Mapping):
            moved[name] = {key: tensor.to(device) for key, tensor in value.items()}
        elif isinstance(value, Finals):
            observations = {key: tensor.to(device) for key, tensor in value.observation.items()}
            moved[name] = Finals(value.step.to(device), value.column.to(device), observations)
    return replace(batch, **moved)


def _tensor(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))  # pyright: ignore[reportUnknownMemberType]


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
