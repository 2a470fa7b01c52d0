"""A whole study with trials that cost nothing: what is tried, ended early, confirmed and written."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from attract.errors import ConfigurationError, TrialError
from attract.schema.studies import StudyView
from attract.tuning.process_runner import TrialOrder, TrialProgress, TrialResult
from attract.tuning.search import Search
from attract.tuning.space import Choice
from attract.tuning.tuner import Budget, StudyOrder, Tuner, same_study

GAMMAS = Choice((0.99, 0.9, 0.95, 0.8))


@dataclass
class CountedRunner:
    """Scores are a function of the settings; what was run is written down."""

    score: Callable[[dict[str, Any]], float | None]
    seconds: Callable[[dict[str, Any]], float] = lambda _settings: 10.0
    hang_at: str = ""
    hangs: asyncio.Event = field(default_factory=asyncio.Event)
    orders: list[TrialOrder] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def run(self, order: TrialOrder, goes_on: Callable[[TrialProgress], bool]) -> TrialResult:
        self.orders.append(order)
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            settings = dict(order.settings)
            total = settings["total_steps"]
            for quarter in range(1, 5):
                await asyncio.sleep(0)
                if order.run_id.startswith(self.hang_at) and self.hang_at:
                    self.hangs.set()
                    await asyncio.Event().wait()
                score = self.score(settings)
                if not goes_on(TrialProgress(quarter * total // 4, quarter, score)):
                    self.ended.append(order.run_id)
                    return TrialResult(score, quarter, quarter * total // 4, ended_early=True)
            return TrialResult(score, self.seconds(settings), total)
        finally:
            self.at_once -= 1


def gamma(settings: dict[str, Any]) -> float:
    return settings["ppo"]["gamma"]


def order_of(given: dict[str, Any] | None = None, **beneath: Any) -> StudyOrder:
    given = {"total_steps": 1000, **(given or {})}
    return StudyOrder("snake", beneath, given, {"ppo.gamma": GAMMAS} | dict.fromkeys(OTHERS))


OTHERS = (
    "ppo.learning_rate",
    "ppo.gae_lambda",
    "ppo.n_epochs",
    "ppo.horizon",
    "policy.hidden_sizes",
    "policy.shared_trunk",
    "collection.instances_per_worker",
    "ppo.entropy_coef",
    "ppo.minibatch_steps",
)


def tuner_of(
    folder: Path,
    runner: CountedRunner,
    *,
    trials: int = 8,
    parallel: int = 1,
    order: StudyOrder | None = None,
    minutes: float | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    views: list[StudyView] | None = None,
) -> Tuner:
    published = views if views is not None else []
    budget = Budget(trials, minutes, parallel, 4)
    return Tuner("s", order or order_of(), budget, Search(folder), runner, published.append, clock=clock)


async def test_the_defaults_are_first_and_what_is_better_wins_on_fresh_seeds(tmp_path: Path):
    runner = CountedRunner(lambda settings: -abs(gamma(settings) - 0.9) + settings["seed"] * 1e-6)
    tuner = tuner_of(tmp_path, runner)
    view = await tuner.run()
    assert view.state == "finished"
    assert gamma(dict(runner.orders[0].settings)) == 0.99
    assert runner.orders[0].checked
    assert view.winner is not None
    assert view.trials[view.winner].settings == {"ppo.gamma": 0.9}
    confirmed = [order for order in runner.orders if order.evaluated]
    assert sorted({order.settings["seed"] for order in confirmed}) == [1, 2, 3, 4]
    assert view.confirmations[0].trial == 0
    assert view.confirmations[1].verdict == "better"
    assert tuner.winning_settings(view.winner) == {"ppo": {"gamma": 0.9}}


async def test_luck_on_the_seed_of_the_search_does_not_win(tmp_path: Path):
    def lucky(settings: dict[str, Any]) -> float:
        return 100.0 if settings["seed"] == 0 and gamma(settings) == 0.9 else float(settings["seed"])

    view = await tuner_of(tmp_path, CountedRunner(lucky)).run()
    assert view.winner is None
    assert view.confirmations[1].verdict == "no better"


async def test_the_same_score_in_fewer_seconds_wins_where_no_score_is_higher(tmp_path: Path):
    runner = CountedRunner(lambda _settings: 5.0, lambda settings: 10.0 * gamma(settings))
    view = await tuner_of(tmp_path, runner, trials=12).run()
    assert view.winner is not None
    assert view.trials[view.winner].settings == {"ppo.gamma": 0.8}
    assert (
        next(confirmation for confirmation in view.confirmations if confirmation.trial == view.winner).verdict
        == "quicker"
    )


async def test_the_file_has_what_the_game_had_and_what_was_given_but_no_run(tmp_path: Path):
    runner = CountedRunner(lambda settings: -gamma(settings))
    order = order_of({"ppo": {"clip_range": 0.3}, "seed": 5, "until_return": 9.0}, ppo={"horizon": 64})
    tuner = tuner_of(tmp_path, runner, order=order, trials=10)
    view = await tuner.run()
    assert view.winner is not None
    assert tuner.winning_settings(view.winner) == {"ppo": {"horizon": 64, "clip_range": 0.3, "gamma": 0.8}}
    assert {order.settings["seed"] for order in runner.orders if not order.evaluated} == {5}
    assert {order.settings["seed"] for order in runner.orders if order.evaluated} == {6, 7, 8, 9}


async def test_trials_behind_the_median_end_early_and_are_no_points(tmp_path: Path):
    runner = CountedRunner(gamma)
    view = await tuner_of(tmp_path, runner, trials=20).run()
    pruned = [trial for trial in view.trials if trial.state == "pruned"]
    assert pruned
    assert len(runner.ended) == len(pruned)
    assert all(trial.agent_steps in (250, 500, 750) and not trial.on_front for trial in pruned)
    assert all(trial.settings["ppo.gamma"] < 0.99 for trial in pruned)
    # Not before four others were there.
    assert min(trial.number for trial in pruned) >= 4


async def test_on_the_way_to_a_goal_a_trial_ends_early_by_its_seconds_alone(tmp_path: Path):
    # What is behind in score at a step may be ahead in time.
    runner = CountedRunner(lambda settings: gamma(settings), seconds=lambda _settings: 2.5)
    order = order_of({"until_return": 0.5})
    view = await tuner_of(tmp_path, runner, trials=10, order=order).run()
    # The first four took 2.5 s to the goal: a trial that is still on the way after three is late.
    late = [trial for trial in view.trials if trial.state == "pruned"]
    assert [trial.number for trial in late] == [4, 5, 6, 7, 8, 9]
    assert all(trial.agent_steps == 750 for trial in late)


async def test_several_run_at_once_after_the_defaults(tmp_path: Path):
    runner = CountedRunner(gamma)
    view = await tuner_of(tmp_path, runner, parallel=3).run()
    assert runner.most_at_once == 3
    assert len(view.trials) == 8


async def test_a_study_that_was_ended_in_the_middle_goes_on(tmp_path: Path):
    hanging = CountedRunner(gamma, hang_at="trial-0003")
    first = asyncio.ensure_future(tuner_of(tmp_path, hanging).run())
    await hanging.hangs.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert hanging.at_once == 0
    runner = CountedRunner(gamma)
    view = await tuner_of(tmp_path, runner).run()
    assert view.state == "finished"
    assert len(view.trials) == 8
    tried = [order for order in runner.orders if not order.evaluated]
    # 0, 1 and 2 are known; the one that hung is run again with its settings, in a folder of its own.
    assert len(tried) == 5
    assert gamma(dict(hanging.orders[-1].settings)) in [gamma(dict(trial.settings)) for trial in tried]
    assert not {order.run_id for order in runner.orders} & {order.run_id for order in hanging.orders}


async def test_a_confirmation_that_was_ended_goes_on_with_the_seeds_that_are_missing(tmp_path: Path):
    hanging = CountedRunner(lambda settings: -gamma(settings), hang_at="confirm-0000-3")
    first = asyncio.ensure_future(tuner_of(tmp_path, hanging).run())
    await hanging.hangs.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    runner = CountedRunner(lambda settings: -gamma(settings))
    view = await tuner_of(tmp_path, runner).run()
    assert {order.settings["seed"] for order in runner.orders} == {3, 4}
    assert view.winner is not None
    done = CountedRunner(gamma)
    assert (await tuner_of(tmp_path, done).run()).winner == view.winner
    assert done.orders == []


async def test_more_trials_go_on_with_a_study_that_was_done(tmp_path: Path):
    await tuner_of(tmp_path, CountedRunner(gamma), trials=3).run()
    runner = CountedRunner(gamma)
    view = await tuner_of(tmp_path, runner, trials=5).run()
    assert len(view.trials) == 5
    assert sum(not order.evaluated for order in runner.orders) == 2


async def test_minutes_leave_time_for_the_confirmation(tmp_path: Path):
    now = [0.0]

    def minute_each(_settings: dict[str, Any]) -> float:
        # Four looks a trial.
        now[0] += 15.0
        return 1.0

    runner = CountedRunner(minute_each)
    view = await tuner_of(tmp_path, runner, trials=100, minutes=20, clock=lambda: now[0]).run()
    # Two finalists and the defaults on 4 seeds are 12 of the 20 minutes.
    assert len(view.trials) == 8
    assert now[0] <= 20 * 60


async def test_a_trial_that_fails_is_told_and_the_search_goes_on(tmp_path: Path):
    def breaks(settings: dict[str, Any]) -> float:
        if gamma(settings) == 0.8:
            raise TrialError("t", "out of memory")
        return gamma(settings)

    view = await tuner_of(tmp_path, CountedRunner(breaks), trials=15).run()
    failed = [trial for trial in view.trials if trial.state == "failed"]
    assert failed
    assert {trial.error for trial in failed} == {"out of memory"}
    assert view.state == "finished"


async def test_when_nothing_but_the_defaults_can_be_trained_it_says_so(tmp_path: Path):
    def breaks(settings: dict[str, Any]) -> float:
        if gamma(settings) != 0.99:
            raise TrialError("t", "no room")
        return 1.0

    order = StudyOrder(
        "snake", {}, {"total_steps": 1000}, {"ppo.gamma": Choice((0.9, 0.8))} | dict.fromkeys(OTHERS)
    )
    runner = CountedRunner(breaks)
    with pytest.raises(TrialError, match="no room"):
        await tuner_of(tmp_path, runner, order=order).run()
    assert len(runner.orders) == 4


async def test_defaults_that_cannot_be_trained_end_the_study(tmp_path: Path):
    def breaks(_settings: dict[str, Any]) -> float:
        raise TrialError("t", "no such game", refused=True)

    with pytest.raises(TrialError, match="no such game"):
        await tuner_of(tmp_path, CountedRunner(breaks)).run()


async def test_what_is_told_while_it_runs_is_the_study_as_it_stands(tmp_path: Path):
    views: list[StudyView] = []
    await tuner_of(tmp_path, CountedRunner(gamma), views=views).run()
    assert views[0].trials == []
    running = [trial for view in views for trial in view.trials if trial.state == "running"]
    assert {trial.agent_steps for trial in running} >= {0, 250, 500, 750}
    assert {view.state for view in views} == {"searching", "confirming", "finished"}


def test_a_command_that_asks_for_another_study_is_refused():
    order = order_of({"ppo": {"clip_range": 0.3}}, ppo={"horizon": 64})
    kept = order.data()
    assert same_study(kept, order_of({"ppo": {"clip_range": 0.3}}, ppo={"horizon": 16})).beneath == {
        "ppo": {"horizon": 64}
    }
    with pytest.raises(ConfigurationError, match="other settings"):
        same_study(kept, order_of({"ppo": {"clip_range": 0.2}}))
