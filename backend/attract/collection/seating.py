"""Which named policy plays which agent of a game: the same in every lease of a run."""

import numpy as np
from numpy.typing import NDArray

from attract.schema.messages import Seat


class Seating:
    """Immutable; `seats` has the policy id of each agent of the game."""

    def __init__(self, seats: tuple[str, ...]) -> None:
        self.seats = seats
        self.policy_ids = tuple(dict.fromkeys(seats))
        """Each policy once, in the order of its first seat."""
        self._index = np.array([self.policy_ids.index(seat) for seat in seats], np.int64)

    def index_of(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """[k]: which of `policy_ids` plays each of these slots."""
        return self._index[slots % len(self.seats)]

    def agents_of(self, policy_id: str) -> list[int]:
        """The agents that it plays."""
        return [agent for agent, seat in enumerate(self.seats) if seat == policy_id]

    def owns(self, policy_id: str, slots: NDArray[np.int64]) -> bool:
        """Whether that policy plays all of these slots."""
        if policy_id not in self.policy_ids:
            return False
        if len(self.policy_ids) == 1:
            return True
        return bool((self.index_of(slots) == self.policy_ids.index(policy_id)).all())


class GameSeats:
    """Immutable; who plays the agents of each game under a lease whose games differ in turn."""

    def __init__(self, seats: tuple[Seat, ...], num_agents: int, first_instance: int) -> None:
        """`seats`: as the lease has them, at least one game's; `first_instance`: of the lease's worker."""
        self.seats = seats
        self._first_instance = first_instance
        self._games = [seats[start : start + num_agents] for start in range(0, len(seats), num_agents)]
        self._learning = [
            tuple(agent for agent, seat in enumerate(game) if seat.learns) for game in self._games
        ]

    def of(self, instance_id: int) -> tuple[Seat, ...]:
        """One per agent."""
        return self._games[(instance_id - self._first_instance) % len(self._games)]

    def learning(self, instance_id: int) -> tuple[int, ...]:
        """The agents that learn, ascending."""
        return self._learning[(instance_id - self._first_instance) % len(self._games)]

    def reporting(self, instance_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """[games]: the slot of each with which what all its agents share is told: its first that learns."""
        firsts = np.array([learning[0] for learning in self._learning], np.int64)
        groups = (instance_ids - self._first_instance) % len(self._games)
        return instance_ids * len(self._games[0]) + firsts[groups]
