"""The run core: takes inputs of collection, learner, disk and people, and returns effects; no I/O."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from attract.collection.core import CollectionCore
from attract.curriculum.controller import CurriculumController
from attract.run import callbacks, collection_effects, ending
from attract.run.core_state import CoreState
from attract.run.effects import Effect
from attract.run.progress import RunProgress
from attract.schema.game import GameDescription
from attract.settings.run import RunSettings

P = ParamSpec("P")
Input = Callable[Concatenate[CoreState, float, P], None]
"""Of the state, the time and what came: a public function of `inputs`, `versions` or `ending`."""


class RunCore:
    """Decides what becomes of a run: when it pauses, what is announced, what is evaluated, when it is over.

    Owned by the effect runner. `collection` belongs to it: what that core emits is given to it as
    `inputs.collected`, and comes out again where the run has no part in it. The learner's messages come one
    at a time: the next one once the row of the one before is committed (rule D1).
    """

    def __init__(
        self,
        settings: RunSettings,
        collection: CollectionCore,
        controller: CurriculumController,
        progress: RunProgress,
        *,
        num_cores: int = 1,
        starts_untrained: bool = True,
        trains: bool = True,
        expected: GameDescription | None = None,
    ) -> None:
        """`num_cores`: of this machine; `starts_untrained`: its first policy is random; `trains`: False for a
        past run that is only evaluated or exported, and keeps nothing; `expected`: how the game of a resumed
        run must describe itself.
        """
        self._state = CoreState(
            settings,
            collection,
            controller,
            progress,
            collection_effects.HANDLERS,
            num_cores=num_cores,
            starts_untrained=starts_untrained,
            trains=trains,
            expected=expected,
        )

    # --- views ---

    @property
    def collection(self) -> CollectionCore:
        """The core that decides who plays what."""
        return self._state.collection

    @property
    def progress(self) -> RunProgress:
        """How far the run is."""
        return self._state.progress

    @property
    def has_policy(self) -> bool:
        """Whether there is a policy, and a learner that has it."""
        return self._state.has_policy

    @property
    def learner_is_ready(self) -> bool:
        """Whether a learner has said that it has its policy, or waits for the first statistics."""
        return self._state.learner_is_ready

    @property
    def num_dropped(self) -> int:
        """Updates that were undone (rule P8)."""
        return self._state.updates.num_dropped

    @property
    def export(self) -> tuple[int | None, str | None]:
        """Version and folder of the export that ended the run; None without one."""
        return self._state.export

    def sockets_refused(self, number: int) -> None:
        """How many sockets were refused so far, for the metrics."""
        self._state.sockets_refused = number

    def handle(self, take: Input[P], now: float, *args: P.args, **kwargs: P.kwargs) -> list[Effect]:
        """Take one input; `now`: monotonic seconds that never go back.

        Returns: what is to be done, in order.
        Raises: as the input says.
        """
        state = self._state
        take(state, now, *args, **kwargs)
        while state.due or callbacks.begin_evaluation(state, now):
            due, state.due = state.due, []
            for action in due:
                callbacks.act(state, action, now)
        ending.finish(state)
        out, state.out = state.out, []
        return out
