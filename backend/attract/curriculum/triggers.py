"""When a callback is due: every n episodes of `global_episode_index`, or n agent steps (rule C6)."""

from typing import Any


class Trigger:
    """Counts the multiples of `every` that a rising count has passed; owned by the controller."""

    def __init__(self, every: int) -> None:
        self.every = every
        self._passed = 0

    def passed(self, count: int) -> int:
        """How many multiples of `every` lie between the last count and this one, this one included.

        A count that went back, as after a learner's death, brings nothing a second time.
        """
        new = count // self.every - self._passed
        if new <= 0:
            return 0
        self._passed += new
        return new

    def state(self) -> dict[str, int]:
        """State for a checkpoint."""
        return {"every": self.every, "passed": self._passed}

    def load(self, state: dict[str, Any], count: int) -> None:
        """Go on where `state` was, at `count`; under another interval, from `count` on."""
        same = state.get("every") == self.every
        self._passed = int(state["passed"]) if same else count // self.every
