"""A browser game of any number of agents as PettingZoo knows parallel environments."""

from typing import Any

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from typing_extensions import Unpack, override

from attract.errors import GameError
from attract.vector.batch import StepBatch
from attract.vector.environments.environment import GameOptions, VectorEnvironment
from attract.vector.environments.gymnasium_environment import SEEDS
from attract.vector.environments.gymnasium_spaces import GameSpaces, together

Agents = dict[str, Any]


class PettingZooEnv(ParallelEnv[str, Any, Any]):
    """One copy of a game in a Node worker thread; no browser. Agents are `agent_0`, `agent_1` and so on.

    An agent that is out is not in `agents` any more; one that joins late is in it from the step in which the
    game says `active`. PettingZoo knows no agent that comes back: one that does is another agent,
    `agent_0_life_2` and so on, which `possible_agents` has from then on to the end of the episode. Games with
    masks have them as `infos[agent]["action_mask"]`, [choices] int8. When a game fails, each agent that plays
    is truncated, at the last good step.
    """

    metadata: dict[str, Any]

    def __init__(self, game: str, **options: Unpack[GameOptions]) -> None:
        """Start the thread and load the game.

        Args:
            game: a bundled game's name, or a path to a module, `.ts` or `.js`.
            options: as for `VectorEnvironment`.

        Raises: ConfigurationError, GameError, ProtocolError: no such game, no Node, or it cannot be loaded.
        """
        self._games = VectorEnvironment(game, 1, 1, num_workers=1, tells_terminal=True, **options)
        description = self._games.description
        self._spaces = GameSpaces(description)
        self.metadata = {"name": description.id, "render_modes": [], "is_parallelizable": True}
        self.possible_agents = [_name(column, 1) for column in range(description.num_agents)]
        self._columns = {agent: column for column, agent in enumerate(self.possible_agents)}
        self._lives = [0] * description.num_agents
        """How many agents each column has been in this episode."""
        self.agents: list[str] = []
        self.observation_spaces = dict.fromkeys(self.possible_agents, self._spaces.observation)
        self.action_spaces = dict.fromkeys(self.possible_agents, self._spaces.action)
        self._random = seeding.np_random(None)[0]
        self._seen: dict[str, NDArray[Any]] = {}
        self._episode = 0

    @override
    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    @override
    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    @override
    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Agents, dict[str, Agents]]:
        """A fresh game. `seed`: as `--seed` of a run; None: the next. There are no options."""
        if seed is not None:
            self._random = seeding.np_random(seed)[0]
        self._games.restart(int(self._random.integers(SEEDS)) if seed is None else seed)
        (batch,) = self._games.reset()
        self._lives = [0] * len(self._lives)
        del self.possible_agents[len(self._lives) :]
        self.agents = self._joining(batch, [])
        self._remember(batch)
        return {agent: self._observation(batch, agent) for agent in self.agents}, self._infos(batch)

    @override
    def step(
        self, actions: Agents
    ) -> tuple[Agents, dict[str, float], dict[str, bool], dict[str, bool], dict[str, Agents]]:
        """One step of each agent that plays. `actions`: of each of `agents`, boxes in the game's units.

        Returns: observations, rewards, ends and infos of these, and of those that join, with reward 0.

        Raises:
            GameError: the game broke again and again, or the thread does not answer any more.
            ValueError: an agent's action is missing, or is none of its space.
            RuntimeError: no agent plays: `reset` is next.
        """
        if not self.agents:
            raise RuntimeError("expected reset() first: the episode is over")
        playing = self.agents
        if missing := [agent for agent in playing if agent not in actions]:
            raise ValueError(f"expected an action of each agent that plays, {', '.join(missing)} has none")
        self._games.send(self._wire_actions({agent: actions[agent] for agent in playing}))
        batch = self._games.recv()
        columns = {agent: self._columns[agent] for agent in playing}
        has_ended = int(batch.episode[0]) != self._episode
        if not has_ended and not batch.valid[list(columns.values())].any():
            raise GameError("hang", "the thread does not answer any more")
        finals = {int(column): row for row, column in enumerate(batch.final_column)}
        seen, rewards, terminated, truncated = (
            Agents(),
            dict[str, float](),
            dict[str, bool](),
            dict[str, bool](),
        )
        for agent, column in columns.items():
            terminated[agent] = bool(batch.terminated[column])
            # A failed game terminates none of its agents.
            truncated[agent] = bool(batch.truncated[column]) or (has_ended and not terminated[agent])
            rewards[agent] = float(batch.reward[column])
            if column in finals:
                seen[agent] = self._spaces.row(batch.final_observation, finals[column])
            elif has_ended:
                seen[agent] = self._spaces.row(self._seen, column)
            else:
                seen[agent] = self._observation(batch, agent)
        staying = [agent for agent in playing if not (terminated[agent] or truncated[agent])]
        joining = [] if has_ended else self._joining(batch, staying)
        for agent in joining:
            seen[agent] = self._observation(batch, agent)
            rewards[agent], terminated[agent], truncated[agent] = 0.0, False, False
        self.agents = sorted(staying + joining, key=self._columns.__getitem__)
        infos = self._infos(batch)
        self._remember(batch)
        return seen, rewards, terminated, truncated, {agent: infos.get(agent, {}) for agent in seen}

    @override
    def close(self) -> None:
        self._games.close()

    def _joining(self, batch: StepBatch, staying: list[str]) -> list[str]:
        """Agents of the columns that are active and that none of `staying` has, by new names if need be."""
        taken = {self._columns[agent] for agent in staying}
        found: list[str] = []
        for column in np.flatnonzero(batch.active).tolist():
            if column in taken:
                continue
            self._lives[column] += 1
            agent = _name(column, self._lives[column])
            found.append(agent)
            if agent not in self.possible_agents:
                self.possible_agents.append(agent)
                self._columns[agent] = column
                self.observation_spaces[agent] = self._spaces.observation
                self.action_spaces[agent] = self._spaces.action
        return found

    def _observation(self, batch: StepBatch, agent: str) -> Any:
        return self._spaces.row(batch.observation, self._columns[agent])

    def _infos(self, batch: StepBatch) -> dict[str, Agents]:
        """Infos of `agents`, as they are after the step."""
        mask = batch.action_mask
        if mask is None:
            return {agent: {} for agent in self.agents}
        return {agent: {"action_mask": mask[self._columns[agent]].astype(np.int8)} for agent in self.agents}

    def _wire_actions(self, actions: Agents) -> NDArray[Any]:
        """Actions of every slot; the values for slots that do not play are ignored."""
        own = self._spaces.actions(together([*actions.values()]), len(actions))
        every = np.zeros((len(self._lives), *own.shape[1:]), own.dtype)
        every[[self._columns[agent] for agent in actions]] = own
        return every

    def _remember(self, batch: StepBatch) -> None:
        self._seen = {key: values.copy() for key, values in batch.observation.items()}
        self._episode = int(batch.episode[0])


def _name(column: int, life: int) -> str:
    return f"agent_{column}" if life == 1 else f"agent_{column}_life_{life}"
