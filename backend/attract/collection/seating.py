"""Which named policy plays which agent of a game: the same in every lease of a run."""

import numpy as np
from numpy.typing import NDArray


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
