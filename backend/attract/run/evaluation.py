"""Evaluations of one run: asked of the core, kept in the record, and what they say of the best version."""

import asyncio
from collections.abc import Callable, Mapping

from attract.curriculum.metrics import EVALUATION_PREFIX
from attract.errors import AttractError, ConfigurationError
from attract.run.progress import RunProgress
from attract.run.record import RunRecord
from attract.runs.metrics import UpdateRow
from attract.schema.api import EvaluationView
from attract.schema.messages import Seed
from attract.schema.philox import derive_seed


class Evaluator:
    """Owned by the active run, used on its event loop.

    `request(episodes, deterministic, seed)` asks the core, which answers through `done`; `heard` is told each
    evaluation's metrics. Without `keep` (a past run that is only looked at) nothing is written.
    """

    def __init__(
        self,
        progress: RunProgress,
        record: RunRecord,
        request: Callable[[int, bool, Seed], None],
        heard: Callable[[dict[str, float]], None],
        *,
        keep: bool,
    ) -> None:
        self._progress = progress
        self._record = record
        self._request = request
        self._keep = keep
        self._heard = heard
        self._turn = asyncio.Lock()
        self._waiting: asyncio.Future[EvaluationView] | None = None
        self._best_return: float | None = None
        self._best_evaluation: float | None = None

    @property
    def is_running(self) -> bool:
        """Whether an evaluation has not been answered yet."""
        return self._turn.locked()

    async def run(self, episodes: int, *, deterministic: bool, seed: int) -> EvaluationView:
        """Have fixed-seed episodes played with the newest version, each to its end.

        Raises: ConfigurationError: when one is under way. AttractError: when the run ends before.
        """
        if self.is_running:
            raise ConfigurationError("an evaluation is under way", fix="wait until it is done")
        return await self.run_in_turn(episodes, deterministic=deterministic, seed=seed)

    async def run_in_turn(self, episodes: int, *, deterministic: bool, seed: int) -> EvaluationView:
        """As `run`, after those that are under way. Raises: AttractError: when the run ends before."""
        async with self._turn:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                self._request(episodes, deterministic, derive_seed(seed, "evaluation"))
                view = await self._waiting
            finally:
                self._waiting = None
            self._progress.evaluation = view
            if self._keep:
                await self._write(view)
            return view

    def done(self, view: EvaluationView) -> None:
        """The core has all results."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(view)

    def give_up(self, why: str) -> None:
        """The run has ended."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(AttractError(why))

    def state(self) -> dict[str, float | None]:
        """What the best version came to, for a checkpoint."""
        return {"return": self._best_return, "evaluation": self._best_evaluation}

    def load(self, state: Mapping[str, float | None]) -> None:
        """What `state` gave."""
        self._best_return, self._best_evaluation = state.get("return"), state.get("evaluation")

    async def mark_best_by_return(self, row: UpdateRow) -> None:
        """Until an evaluation decides, the best version is the newest of the highest training return.

        Where one agent wins what another loses, all of them have the same.
        """
        mean = self._progress.goal.return_mean
        if self._best_evaluation is not None or mean is None or not row.values:
            return
        if self._best_return is None or mean >= self._best_return:
            self._best_return = mean
            # The episodes were played by the version before the one that they made.
            await self._record.mark_best(max(0, row.policy_version - 1))

    async def _write(self, view: EvaluationView) -> None:
        decides = view.confirmed and view.deterministic == self._progress.settings.evaluation.deterministic
        if decides and (self._best_evaluation is None or view.return_mean >= self._best_evaluation):
            self._best_evaluation = view.return_mean
            await self._record.mark_best(view.policy_version)
        family = EVALUATION_PREFIX[view.deterministic]
        values = {
            f"{family}mean_reward": view.return_mean,
            f"{family}std_reward": view.return_std,
            f"{family}mean_ep_length": view.length_mean,
        }
        for agent, mean in enumerate(view.agent_return_means):
            values[f"{family}mean_reward/agent_{agent}"] = mean
        self._heard(values)
        counters = self._progress.counters
        await self._record.add_evaluation(counters.updates, counters.agent_steps, values)
