"""What the algorithms that add to another one have in common."""

from collections.abc import Callable, Mapping

from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Algorithm, AlgorithmState, ExtraLoss, Progress, Report


class Wrapper:
    """`Algorithm`: does what another one does; base of those that add to it.

    Args:
        inner: owns the policy's weights.
    """

    def __init__(self, inner: Algorithm) -> None:
        self._inner = inner

    @property
    def moments(self) -> Mapping[str, RunningMoments]:
        return self._inner.moments

    @moments.setter
    def moments(self, moments: Mapping[str, RunningMoments]) -> None:
        self._inner.moments = moments

    @property
    def uses_log_probs(self) -> bool:
        return self._inner.uses_log_probs

    def can_learn_from(self, batch: Batch) -> bool:
        return self._inner.can_learn_from(batch)

    def update(self, batch: Batch, progress: Progress, extra_loss: ExtraLoss | None = None) -> Report:
        return self._inner.update(batch, progress, extra_loss)

    def commit(self) -> Mapping[str, RunningMoments]:
        return self._inner.commit()

    def snapshot(self) -> Callable[[], None]:
        return self._inner.snapshot()

    def state(self) -> AlgorithmState:
        return self._inner.state()

    def load_state(self, state: AlgorithmState) -> None:
        self._inner.load_state(state)
