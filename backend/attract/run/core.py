"""The run core: takes inputs of collection, learner, disk and people, and returns effects; no I/O."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from attract.run import callbacks, collection_effects, ending
from attract.run.core_state import CoreState
from attract.run.effects import Effect

P = ParamSpec("P")
Input = Callable[Concatenate[CoreState, float, P], None]
"""Of the state, the time and what came: a public function of `inputs`, `versions` or `ending`."""


class RunCore(CoreState):
    """Decides what becomes of a run: when it pauses, what is announced, what is evaluated, when it is over.

    Owned by the effect runner. `collection` belongs to it: what that core emits is given to it as
    `inputs.collected`, and comes out again where the run has no part in it. The learner's messages come one
    at a time: the next one once the row of the one before is committed (rule D1).
    """

    handlers = collection_effects.HANDLERS

    def handle(self, handler: Input[P], now: float, *args: P.args, **kwargs: P.kwargs) -> list[Effect]:
        """Take one input; `now`: monotonic seconds that never go back.

        Returns: what is to be done, in order.
        Raises: as the input says.
        """
        handler(self, now, *args, **kwargs)
        while self.due or callbacks.begin_evaluation(self, now):
            due, self.due = self.due, []
            for action in due:
                callbacks.act(self, action, now)
        ending.finish(self)
        out, self.out = self.out, []
        return out
