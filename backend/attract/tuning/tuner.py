"""One study from its first trial to its winner: search, then confirmation on fresh seeds."""

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, Final

from attract.errors import ConfigurationError, TrialError
from attract.schema.studies import StudyConfirmation, StudyState, StudyView
from attract.settings.presets import layer_settings
from attract.settings.run import RunSettings
from attract.tuning.process_runner import TrialOrder, TrialProgress, TrialResult, TrialRunner
from attract.tuning.search import Search, SearchTrial
from attract.tuning.space import (
    SPACE_DATA,
    Domain,
    Space,
    base_values,
    default_space,
    nested,
    search_space,
    value_at,
)
from attract.tuning.verdict import (
    Point,
    Rungs,
    Sample,
    finalists_of,
    is_behind,
    is_late,
    judge,
    scores_at,
    winner_of,
)

DEFAULT: Final = 0
"""The trial of the defaults."""
MAX_FINALISTS: Final = 2
MAX_FAILURES: Final = 3
"""So many failed trials without one that did not: the game or the machine is at fault, not the settings."""


@dataclass(frozen=True)
class StudyOrder:
    """The subject of a study: it never changes during the study."""

    game: str
    beneath: Mapping[str, Any]
    """Settings that the game came with."""
    given: Mapping[str, Any]
    """Settings that were given by file, variables and flags: fixed."""
    searched: Mapping[str, Domain | None]
    """See `space.read_search`."""
    project_dir: str | None = None
    """See `TrialOrder`; no part of what makes two studies the same."""

    @property
    def settings(self) -> RunSettings:
        """The defaults: those that a run would have without a search."""
        return RunSettings.from_mapping(layer_settings(self.beneath, self.given))

    def data(self) -> dict[str, Any]:
        """As JSON, so that a resumed command can be recognised."""
        searched = {name: choice and asdict(choice) for name, choice in self.searched.items()}
        data = {"game": self.game, "beneath": self.beneath, "given": self.given, "searched": searched}
        return json.loads(json.dumps(data))


@dataclass(frozen=True)
class Budget:
    """Limits of a study."""

    num_trials: int
    minutes: float | None
    """Limit of this call; None: as long as it takes."""
    parallel: int
    num_seeds: int
    """Seeds of each finalist, and of the defaults beside them."""


class Tuner:
    """Runs a study's trials; owned by the tune command, on its event loop.

    Cancelled, it ends the trials that run; another one that opens the same study goes on.
    """

    def __init__(
        self,
        name: str,
        order: StudyOrder,
        budget: Budget,
        search: Search,
        runner: TrialRunner,
        on_change: Callable[[StudyView], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_change` gets the study whenever a trial begins, advances by a quarter or ends."""
        self._name = name
        self._order = order
        self._budget = budget
        self._search = search
        self._runner = runner
        self._on_change = on_change
        self._clock = clock
        self._began = clock()
        self._elapsed_before = float(search.fact("elapsed_seconds") or 0.0)
        self._base = order.settings
        self._state: StudyState = "searching"
        self._running: dict[int, SearchTrial] = {}
        self._attempt = int(search.fact("attempts") or 0)
        search.keep("attempts", self._attempt + 1)
        self._space: Space | None = None
        if (kept := search.fact("space")) is not None:
            self._space = SPACE_DATA.validate_python(kept)

    @property
    def total_steps(self) -> int:
        if self._base.total_steps is None:
            raise RuntimeError("expected an order whose settings have total_steps")
        return self._base.total_steps

    async def run(self) -> StudyView:
        """Search and confirm until the budget is used; the study as it is then.

        Raises:
            TrialError: when the defaults cannot be trained, or no trial can.
            ConfigurationError: when the space holds what no run could have.
        """
        self._publish()
        if self._space is None:
            await self._try_default()
        await self._in_parallel(self._has_time, self._try_next)
        finalists = self._finalists()
        if finalists:
            self._state = "confirming"
            self._publish()
            left = self._unconfirmed(finalists)
            await self._in_parallel(lambda: bool(left), lambda: self._confirm(*left.pop(0)))
        self._state = "finished"
        return self._publish()

    async def _in_parallel(self, is_more: Callable[[], bool], do: Callable[[], Awaitable[None]]) -> None:
        """Run several at once, in order; the first failure ends the others."""

        async def work() -> None:
            while is_more():
                await do()

        tasks = [asyncio.ensure_future(work()) for _ in range(self._budget.parallel)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # --- the search ---

    async def _try_default(self) -> None:
        """The defaults come first, alone: what they tell of the game decides what is searched."""
        everything = default_space(self._base, None) | {
            name: choice for name, choice in self._order.searched.items() if choice is not None
        }
        trial = SearchTrial(
            number=DEFAULT, state="running", settings=base_values(self._base, tuple(everything))
        )
        rungs = Rungs(self.total_steps)

        def goes_on(progress: TrialProgress) -> bool:
            if rungs.reached(progress.agent_steps, progress.score):
                self._progressed(trial, progress)
            return True

        result = await self._run(trial, self._order_of(trial, {}, checked=True), goes_on)
        rungs.ended(result.score)
        trial.rungs = rungs.scores
        space = search_space(self._base, self._order.given, result.description, self._order.searched)
        trial.settings = base_values(self._base, tuple(space))
        self._search.add_default(space, trial)
        self._search.keep("space", SPACE_DATA.dump_python(space, mode="json"))
        self._space = space
        self._publish()

    def _has_time(self) -> bool:
        trials = self._search.trials()
        if len(trials) >= self._budget.num_trials:
            return False
        if self._budget.minutes is None:
            return True
        took = fmean(trial.took_seconds for trial in trials if trial.state == "finished")
        confirmations = (1 + MAX_FINALISTS) * self._budget.num_seeds
        reserved = math.ceil(confirmations / self._budget.parallel) * took
        return self._clock() - self._began + took + reserved <= 60 * self._budget.minutes

    async def _try_next(self) -> None:
        assert self._space is not None
        trial = self._search.ask(self._space)
        rungs = Rungs(self.total_steps)

        def goes_on(progress: TrialProgress) -> bool:
            new = rungs.reached(progress.agent_steps, progress.score)
            if new:
                self._progressed(trial, progress)
            others = [trial for trial in self._search.trials() if trial.state in ("finished", "pruned")]
            if (goal := self._base.until_return) is not None:
                return not is_late(progress.seconds, _seconds_to(goal, others))
            rungs_of_others = [other.rungs for other in others]
            return not any(is_behind(progress.score, scores_at(rung, rungs_of_others)) for rung in new)

        try:
            result = await self._run(trial, self._order_of(trial, trial.settings), goes_on)
        except TrialError as error:
            trial.state, trial.error = "failed", error.said or str(error)
            self._search.finish(trial)
            self._publish()
            self._check_failures(error)
            return
        if not result.ended_early:
            rungs.ended(result.score)
        trial.rungs = rungs.scores
        self._search.finish(trial)
        self._publish()

    def _check_failures(self, error: TrialError) -> None:
        others = [trial.state for trial in self._search.trials() if trial.number != DEFAULT]
        if others.count("failed") >= MAX_FAILURES and not {"finished", "pruned"} & set(others):
            raise error

    # --- one run ---

    async def _run(
        self, trial: SearchTrial, order: TrialOrder, goes_on: Callable[[TrialProgress], bool]
    ) -> TrialResult:
        """Run it, and write the result into `trial`."""
        began = self._clock()
        self._running[trial.number] = trial
        self._publish()
        try:
            result = await self._runner.run(order, goes_on)
        finally:
            del self._running[trial.number]
        trial.state = "pruned" if result.ended_early else "finished"
        trial.score, trial.seconds, trial.agent_steps = result.score, result.seconds, result.agent_steps
        trial.took_seconds = self._clock() - began
        return result

    def _order_of(
        self, trial: SearchTrial, values: Mapping[str, Any], *, checked: bool = False
    ) -> TrialOrder:
        run_id = f"trial-{trial.number:04}-{self._attempt}"
        return TrialOrder(
            run_id,
            self._order.game,
            self._settings_with(values),
            checked=checked,
            project_dir=self._order.project_dir,
        )

    def _settings_with(self, values: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Every setting of a run with these values of what is searched."""
        layers = (self._order.beneath, self._order.given, nested(values), more)
        return RunSettings.from_mapping(layer_settings(*layers)).model_dump(mode="json")

    def _progressed(self, trial: SearchTrial, progress: TrialProgress) -> None:
        trial.score, trial.seconds, trial.agent_steps = progress.score, progress.seconds, progress.agent_steps
        self._publish()

    # --- the confirmation ---

    def _points(self) -> list[Point]:
        return [
            Point(trial.number, trial.score, trial.seconds)
            for trial in self._search.trials()
            if trial.state == "finished" and trial.score is not None and trial.seconds is not None
        ]

    def _finalists(self) -> list[int]:
        return finalists_of(self._points())

    def _confirmed(self) -> dict[str, dict[str, list[float]]]:
        """By trial and seed: score and seconds."""
        return self._search.fact("confirmed") or {}

    def _unconfirmed(self, finalists: Sequence[int]) -> list[tuple[int, int]]:
        """Trial and seed of the runs that are still to be had: seed by seed, so that a busy hour hits all."""
        known = self._confirmed()
        first = self._base.seed + 1
        return [
            (trial, seed)
            for seed in range(first, first + self._budget.num_seeds)
            for trial in (DEFAULT, *finalists)
            if str(seed) not in known.get(str(trial), {})
        ]

    async def _confirm(self, number: int, seed: int) -> None:
        values = next(trial.settings for trial in self._search.trials() if trial.number == number)
        settings = self._settings_with({} if number == DEFAULT else values, seed=seed)
        order = TrialOrder(
            f"confirm-{number:04}-{seed}-{self._attempt}",
            self._order.game,
            settings,
            evaluated=True,
            project_dir=self._order.project_dir,
        )
        result = await self._runner.run(order, lambda _progress: True)
        if result.score is None:
            raise TrialError(order.run_id, "no episode ended within its steps: give it more --total-steps")
        known = self._confirmed()
        known.setdefault(str(number), {})[str(seed)] = [result.score, result.seconds]
        self._search.keep("confirmed", known)
        self._publish()

    def _judged(self) -> tuple[list[StudyConfirmation], int | None]:
        known, finalists = self._confirmed(), self._finalists()
        rows: list[StudyConfirmation] = []
        judged: list[tuple[int, Any, Sample]] = []
        for number in (DEFAULT, *finalists) if known else ():
            runs = sorted((int(seed), run) for seed, run in known.get(str(number), {}).items())
            rows.append(
                StudyConfirmation(
                    trial=number,
                    seeds=[seed for seed, _ in runs],
                    scores=[run[0] for _, run in runs],
                    seconds=[run[1] for _, run in runs],
                )
            )
        if not rows or any(len(row.seeds) < self._budget.num_seeds for row in rows):
            return rows, None
        default = Sample(rows[0].scores, rows[0].seconds)
        for place, row in enumerate(rows[1:], start=1):
            sample = Sample(row.scores, row.seconds)
            verdict, chance = judge(sample, default, num_finalists=len(finalists))
            rows[place] = row.model_copy(update={"verdict": verdict, "chance": chance})
            judged.append((row.trial, verdict, sample))
        return rows, winner_of(judged)

    def winning_settings(self, winner: int) -> dict[str, Any]:
        """Contents of the winner's file: the game's own settings, the given and the winning ones, nested.

        Without what belongs to a run, not to a game: seed, steps and goal.
        """
        values = next(trial.settings for trial in self._search.trials() if trial.number == winner)
        usual = self._base.model_dump(mode="json")
        changed = {name: value for name, value in values.items() if value != value_at(usual, name)}
        merged = layer_settings(self._order.beneath, self._order.given, nested(changed))
        return {
            name: value
            for name, value in merged.items()
            if name not in ("seed", "total_steps", "until_return", "until_win_rate")
        }

    # --- what is reported ---

    def _publish(self) -> StudyView:
        view = self.view()
        self._search.keep("elapsed_seconds", view.elapsed_seconds)
        self._on_change(view)
        return view

    def view(self) -> StudyView:
        front = self._search.front()
        known = {trial.number: trial for trial in self._search.trials()} | self._running
        confirmations, winner = self._judged()
        return StudyView(
            study=self._name,
            game=self._order.game,
            state=self._state,
            total_steps=self.total_steps,
            goal=self._base.until_return,
            num_trials=self._budget.num_trials,
            parallel=self._budget.parallel,
            elapsed_seconds=self._elapsed_before + self._clock() - self._began,
            trials=[
                known[number].model_copy(update={"on_front": number in front}) for number in sorted(known)
            ],
            confirmations=confirmations,
            winner=winner,
        )


def _seconds_to(goal: float, trials: Sequence[SearchTrial]) -> list[float]:
    """Seconds of each trial that reached it."""
    return [
        trial.seconds
        for trial in trials
        if trial.state == "finished"
        and trial.seconds is not None
        and trial.score is not None
        and trial.score >= goal
    ]


def same_study(kept: Mapping[str, Any], order: StudyOrder) -> StudyOrder:
    """The order that a study goes on with: as it began, though its winner may lie beside the game by now.

    Raises: ConfigurationError: when the command asks for another study.
    """
    asked = order.data()
    for part, what in (("game", "game"), ("given", "settings"), ("searched", "--search file")):
        if kept[part] != asked[part]:
            raise ConfigurationError(
                f"the study was started with another {what}: {kept[part]}"
                if part == "game"
                else f"the study was started with other {what}: {kept[part]}",
                setting="--study",
                fix="give the same again, or choose another name",
            )
    return replace(order, beneath=kept["beneath"])
