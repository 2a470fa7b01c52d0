"""Recorded episodes played again in the real game, from seed and actions (rule C5): of a module in Node."""

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from attract.collection.trust.replays import Columns, Play, play_of
from attract.errors import ConfigurationError, ProtocolError
from attract.games.library import GameModule
from attract.schema.episode_actions import unpack_actions
from attract.schema.game import GameDescription, GameReference
from attract.schema.messages import (
    Block,
    EpisodeTerms,
    GameFailed,
    Lease,
    ParameterDistribution,
    ReplayOrder,
    RolloutClose,
    Seat,
    WelcomeWorker,
)
from attract.schema.recorded_episode import RecordedEpisode
from attract.schema.tensor import from_numpy
from attract.vector.batch import VectorLayout
from attract.vector.environments.node_fleet import NodeFleet

RUN_ID: Final = "replay"
RETURN_TOLERANCE: Final = 1e-4
"""Returns agree within this times max(1, |x|): engines differ in the last bits of a sine."""
SILENCE_SECONDS: Final = 300.0


class EpisodeReplayer:
    """One copy of a game that plays what was recorded; a context manager, to be used from one thread.

    Args:
        module: of the game.

    Raises: ConfigurationError: no Node. GameError, ProtocolError: the game cannot be loaded there.
    """

    def __init__(self, module: GameModule) -> None:
        self._module = module
        self._fleet = NodeFleet(module, 1, run_id=RUN_ID)
        try:
            self.description = self._fleet.describe()
        except BaseException:
            self._fleet.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._fleet.close()

    def replay(self, episode: RecordedEpisode) -> Play:
        """Every step of the episode as the game decides it now.

        Raises: ConfigurationError: it is not of this game, or the game does not play it as it is recorded.
        """
        for message in replay_terms(self._module.reference, self.description, episode):
            self._fleet.send(0, message)
        return replayed(episode, self._answer())

    def _answer(self) -> list[Block]:
        blocks: list[Block] = []
        deadline = time.monotonic() + SILENCE_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            for _, message in self._fleet.poll(left):
                match message:
                    case Block():
                        blocks.append(message)
                    case RolloutClose():
                        return blocks
                    case GameFailed():
                        raise self._fleet.game_error(message)
                    case None:
                        raise ProtocolError("the process that plays the game has ended")
                    case _:
                        raise ProtocolError(f"the process that plays the game said {message.type}")
        raise ProtocolError(f"the game did not answer within {SILENCE_SECONDS:g} s")


def replay_terms(
    reference: GameReference, game: GameDescription, episode: RecordedEpisode
) -> tuple[WelcomeWorker, Lease]:
    """What a worker is told so that it plays the episode again, from its start to its last step.

    Raises: ConfigurationError: it is not of this game.
    """
    actions = _actions(game, episode)
    terms = EpisodeTerms(
        parameters={name: ParameterDistribution(values=[value]) for name, value in episode.parameters.items()}
    )
    order = ReplayOrder(
        instance_id=episode.instance,
        episode=episode.episode,
        first_step=0,
        num_before=0,
        action=from_numpy(actions),
        begun=terms,
        terms=terms,
    )
    welcome = WelcomeWorker(
        run_id=RUN_ID,
        worker_id=0,
        game=reference,
        # Stacks of pictures are read as they are: nothing is stored.
        description=game.model_copy(update={"picture_stacks": {}}),
        instance_ids=[0],
        seed=episode.seed,
        horizon=len(actions),
        max_frame_bytes=1 << 30,
    )
    lease = Lease(
        run_id=RUN_ID,
        lease_id=1,
        purpose="replay",
        seats=[Seat() for _ in range(game.num_agents)],
        game_sha256=reference.sha256,
        seed=episode.seed,
        num_segments=1,
        replays=[order],
    )
    return welcome, lease


def replayed(episode: RecordedEpisode, blocks: Iterable[Block]) -> Play:
    """The play in the blocks that a worker answered; there may be several, of some agents each.

    Raises: ConfigurationError: the game does not play the episode as it is recorded.
    """
    parts: list[Columns] = [(block, np.arange(block.slot_id.shape[0])) for block in blocks]
    if not parts:
        raise _refused("the game fails as soon as it begins")
    play = play_of(parts, len(episode.returns))
    problem = _difference(episode, play)
    if problem is not None:
        raise _refused(f"the game has changed since it was recorded: {problem}")
    return play


def _actions(game: GameDescription, episode: RecordedEpisode) -> NDArray[Any]:
    """[steps, agents, ...] as the wire has them."""
    if episode.game_id != game.id:
        raise _refused(f"it is an episode of {episode.game_id}, not of {game.id}")
    unknown = sorted(episode.parameters.keys() - game.parameters.keys())
    if unknown:
        known = ", ".join(game.parameters) or "none"
        raise _refused(f"it has the parameters {', '.join(unknown)}; {game.id} has {known}")
    if len(episode.returns) != game.num_agents:
        raise _refused(f"it has {len(episode.returns)} agents, {game.id} has {game.num_agents}")
    if episode.num_steps == 0:
        raise _refused("it has no step")
    layout = VectorLayout.for_game(game, horizon=1)
    actions = unpack_actions(episode.actions)
    shape = (episode.num_steps, game.num_agents, *layout.action_shape)
    if actions.shape != shape or not np.can_cast(actions.dtype, layout.action_dtype, "same_kind"):
        raise _refused(
            f"its actions are {actions.dtype} {list(actions.shape)}; those of {game.id} would be "
            f"{np.dtype(layout.action_dtype)} {list(shape)} ({game.action.kind})"
        )
    return actions.astype(layout.action_dtype)


def _difference(episode: RecordedEpisode, play: Play) -> str | None:
    """Differences between the replay and the record, as text; None if they are equal."""
    num_steps = episode.num_steps
    if play.num_failed:
        return "the game fails in it"
    ended = play.episodes[0].length_steps if play.episodes else None
    has_ended = episode.end_reason not in ("cut", "failed", "stopped")
    if has_ended and ended != num_steps:
        return f"it ended after {num_steps} steps, and now {'not' if ended is None else f'after {ended}'}"
    if not has_ended and ended is not None:
        return f"it went on after {num_steps} steps, and now ends after {ended}"
    returns = play.steps["reward"].astype(np.float64).sum(axis=0)
    for agent, (recorded, replayed) in enumerate(zip(episode.returns, returns.tolist(), strict=True)):
        if abs(recorded - replayed) > RETURN_TOLERANCE * max(1.0, abs(recorded)):
            whose = f" of agent {agent}" if len(returns) > 1 else ""
            return f"the return{whose} was {recorded:.6g}, and now is {replayed:.6g}"
    return None


def _refused(problem: str) -> ConfigurationError:
    return ConfigurationError(problem)
