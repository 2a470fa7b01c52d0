"""How far a run is, and what is told of it: time, waiting, rows, events, its result."""

import math
from typing import Any

import pytest

from attract.collection.core import CollectionCore
from attract.diagnosis.verdict import UNMEASURED, Measured
from attract.run.life import PauseReason
from attract.run.progress import WAITING_SECONDS, RunProgress
from attract.schema.api import EvaluationView, FleetView, GameReport, MetricsRow, PolicyView, RandomPlay
from attract.schema.episodes import Episode
from attract.schema.learner import Counters
from driven_core import DrivenCore, ready_learner, small_config
from fake_worker import counting_description
from known_runs import run_state

LATER = 3_600.0
COUNTERS = Counters(agent_steps=640, collected_steps=700, episodes=9, updates=10)
LESSONS: dict[str, Any] = {
    "lessons": [
        {"name": "easy", "until": {"metric": "rollout/ep_rew_mean", "at_least": 1.0}},
        {"name": "hard"},
    ]
}


def progress(**settings: Any) -> RunProgress:
    """Progress of a run that began at 0."""
    return run_state(**settings).progress


def nobody(last_left_seconds: float | None = None) -> FleetView:
    view = CollectionCore(small_config()).fleet_view(0.0)
    return view.model_copy(update={"last_left_seconds": last_left_seconds, "steps_per_second": 50.0})


def somebody() -> FleetView:
    return DrivenCore.started().core.fleet_view(0.0)


def evaluation(return_mean: float) -> EvaluationView:
    return EvaluationView(
        policy_version=10,
        episodes=4,
        return_mean=return_mean,
        return_std=0.0,
        length_mean=7.0,
        deterministic=True,
    )


def episode(episode_return: float) -> Episode:
    return Episode(
        instance_id=0,
        episode=0,
        step=0,
        returns=[episode_return],
        length_steps=7,
        length_ticks=7,
        end_reason="terminated",
        metrics={},
        reward_terms={},
    )


def test_time_runs_from_the_first_lease_to_the_end() -> None:
    one = progress()
    assert one.elapsed_seconds(50.0) == 0.0
    one.leased(60.0)
    one.leased(70.0)
    assert one.elapsed_seconds(75.0) == 15.0
    one.ended(80.0)
    one.ended(90.0)
    assert one.elapsed_seconds(99.0) == 20.0


def test_D2_a_resumed_run_counts_the_time_of_before_once_and_its_speed_from_now_on() -> None:
    one = progress()
    one.ready(ready_learner(10, agent_steps=1_000), 300.0)
    one.leased(20.0)
    # Its learner died: another brings the newest checkpoint, of this session.
    one.ready(ready_learner(12, agent_steps=1_500), 310.0)
    assert (one.elapsed_seconds(30.0), one.policy_version, one.counters.agent_steps) == (310.0, 12, 1_500)
    one.ended(70.0)
    result = one.result(None, None, 99.0)
    assert (result.wall_seconds, result.steps_per_second) == (50.0, 10.0), "500 steps in 50 s"


def test_the_verdict_is_of_training_or_of_the_goal_s_evaluation() -> None:
    one = progress(until_return=6.0)
    assert one.verdict() == UNMEASURED
    one.played_at_random(RandomPlay(episodes=100, return_mean=5.0, standard_error=0.1))
    for _ in range(100):
        one.goal.window.add(episode(4.0))
    assert (one.verdict().trained, one.verdict().learned) == (Measured(4.0, 0.0, 100), False)
    one.evaluation = evaluation(6.0).model_copy(update={"episodes": 25, "return_std": 1.0})
    assert one.verdict().learned is False, "an evaluation that reached no goal"
    one.goal.reached = True
    assert one.verdict().learned is False, "a goal that no evaluation confirms, as a win rate"
    one.goal.confirmed = one.evaluation
    # 1 / sqrt(25); 6 - 5 is more than 3 * sqrt(0.2^2 + 0.1^2).
    assert (one.verdict().trained, one.verdict().learned) == (Measured(6.0, 0.2, 25), True)
    assert one.result(None, None, 9.0).verdict == one.verdict()
    assert one.view(9.0, nobody(), []).learned is True


def test_returns_of_a_lesson_are_not_judged_by_play_without_it() -> None:
    one = progress(curriculum=LESSONS)
    one.played_at_random(RandomPlay(episodes=100, return_mean=5.0, standard_error=0.1))
    for _ in range(100):
        one.goal.window.add(episode(9.0))
    assert one.verdict().learned is None


def test_a_run_that_never_played_has_no_speed() -> None:
    result = progress().result(None, None, 10.0)
    assert (result.wall_seconds, result.steps_per_second, result.export) == (0.0, 0.0, None)


def test_scale_03_a_run_says_that_it_waits_once_that_is_no_mere_moment() -> None:
    one = progress()
    assert not one.look_for_workers(nobody(), WAITING_SECONDS - 0.5)
    assert one.waiting_seconds(WAITING_SECONDS - 0.5) is None
    assert one.look_for_workers(nobody(), WAITING_SECONDS)
    assert not one.look_for_workers(nobody(), WAITING_SECONDS + 1.0), "said once"
    assert one.waiting_seconds(WAITING_SECONDS + 1.0) == WAITING_SECONDS + 1.0
    assert one.look_for_workers(somebody(), WAITING_SECONDS + 2.0)
    assert one.waiting_seconds(LATER) is None
    # From when the last one left, not from when that was seen.
    assert one.look_for_workers(nobody(6.0), 100.0)
    assert one.waiting_seconds(101.0) == 7.0


def test_all_the_time_without_workers_is_in_the_result() -> None:
    one = progress()
    one.look_for_workers(somebody(), 10.0)
    one.look_for_workers(nobody(2.0), 32.0)
    one.look_for_workers(somebody(), 40.0)
    one.look_for_workers(nobody(1.0), 61.0)
    one.ended(65.0)
    one.look_for_workers(somebody(), 99.0)
    # 10 s before the first, 10 s from 30 to 40, 5 s from 60 to the end.
    assert one.result(None, None, 99.0).waited_seconds == 25.0


def test_a_pause_is_no_time_of_waiting_and_takes_none_away() -> None:
    one = progress()
    one.look_for_workers(nobody(), 10.0)
    one.life.pause(PauseReason.USER)
    one.look_for_workers(nobody(), 11.0)
    one.look_for_workers(nobody(), LATER)
    one.life.lift(PauseReason.USER)
    one.look_for_workers(nobody(), LATER + 1.0)
    one.look_for_workers(somebody(), LATER + 5.0)
    # 10 s before the pause and 5 s after it; how long the pause itself was does not matter.
    assert one.result(None, None, LATER + 9.0).waited_seconds == 15.0
    one.look_for_workers(nobody(0.0), LATER + 10.0)
    one.look_for_workers(nobody(10.0), LATER + 20.0)
    one.life.pause(PauseReason.USER)
    one.look_for_workers(somebody(), LATER + 21.0)
    assert one.result(None, None, LATER + 30.0).waited_seconds == 25.0, "they came during a pause"


def test_who_is_paused_waits_for_nobody() -> None:
    one = progress()
    one.life.pause(PauseReason.USER)
    assert not one.look_for_workers(nobody(), 100.0)
    assert one.waiting_seconds(100.0) is None


def test_a_row_is_what_a_version_came_from_without_what_no_page_can_read() -> None:
    one = progress()
    one.leased(5.0)
    values = {"a": 1.5, "b": math.nan, "c": -math.inf, "d": 0.0}
    row = one.row(7, COUNTERS, "sha", values, 9.0)
    assert (row.update, row.agent_steps, row.collected_steps, row.seconds) == (10, 640, 700, 4.0)
    assert (row.policy_version, row.checkpoint, row.weights_sha256) == (7, "checkpoints/7", "sha")
    assert row.values == {"a": 1.5, "d": 0.0}


def test_D1_a_view_goes_with_its_row_and_the_run_stands_so_only_when_that_is_committed() -> None:
    one = progress()
    row = one.row(7, COUNTERS, "sha", {}, 9.0)
    now = one.view(9.0, nobody(), [])
    after = one.view_after(row, COUNTERS, now)
    stands = (after.policy_version, after.agent_steps, after.collected_steps, after.updates, after.episodes)
    assert stands == (7, 640, 700, 10, 9)
    assert one.view(9.0, nobody(), []) == now
    one.advance(row, COUNTERS)
    assert one.view(9.0, nobody(), []) == after


def test_an_ended_run_is_shown_without_speed() -> None:
    one = progress()
    assert one.view(1.0, nobody(), []).steps_per_second == 50.0
    one.ended(2.0)
    assert one.view(3.0, nobody(), []).steps_per_second == 0.0


def test_a_committed_version_is_told_with_its_metrics_and_where_each_policy_is() -> None:
    one = progress()
    (kind, policy), *rest = one.events_of(one.row(0, Counters(), "sha", {}, 1.0))
    assert (kind, rest) == ("policy", []), "of version 0 there are no metrics"
    assert isinstance(policy, PolicyView)
    assert policy.urls == {"main": "api/runs/run-1/policy/0.onnx"}
    first, second = one.events_of(one.row(7, COUNTERS, "sha", {"a": 1.5}, 1.0))
    assert (first[0], second[0]) == ("metrics", "policy")
    assert isinstance(first[1], MetricsRow)
    assert (first[1].update, first[1].agent_steps, first[1].values) == (10, 640, {"a": 1.5})


def test_E9_each_of_several_policies_has_an_address_of_its_own() -> None:
    one = progress(collection={"seats": ["left", "right", "left"]})
    _, (_, policy) = one.events_of(one.row(3, COUNTERS, "sha", {"a": 1.0}, 1.0))
    assert isinstance(policy, PolicyView)
    assert policy.urls == {
        "left": "api/runs/run-1/policy/3.onnx?policy=left",
        "right": "api/runs/run-1/policy/3.onnx?policy=right",
    }


def test_the_lesson_is_in_the_view_and_among_the_metrics() -> None:
    assert (progress().lesson(), "curriculum/lesson" in metrics(progress())) == (None, False)
    one = progress(curriculum=LESSONS)
    one.counters = COUNTERS.model_copy(update={"global_episode_index": 40})
    lesson = one.view(1.0, nobody(), []).lesson
    assert lesson is not None
    assert (lesson.name, lesson.number, lesson.num_lessons) == ("easy", 1, 2)
    assert (lesson.agent_steps, lesson.global_episode_index) == (640, 40)
    assert metrics(one)["curriculum/lesson"] == 1.0
    assert one.metrics_so_far(COUNTERS, nobody(), 1.0)["curriculum/lesson"] == 1.0


def metrics(one: RunProgress) -> dict[str, float]:
    return one.metrics({"train/loss": 0.5}, COUNTERS, nobody(), 1.0)


def test_what_an_update_begins_with_takes_nothing_from_its_row() -> None:
    one = progress()
    one.statistics.lease_finished(4.0)
    for _ in range(2):
        assert one.metrics_so_far(COUNTERS, nobody(), 1.0)["fleet/worker_latency_mean"] == 4.0
    row = metrics(one)
    assert (row["train/loss"], row["fleet/worker_latency_mean"]) == (0.5, 4.0)
    assert "fleet/worker_latency_mean" not in metrics(one), "it was in the row before"


@pytest.mark.parametrize("is_reached", [True, False])
def test_the_result_has_the_evaluation_that_confirmed_the_goal_and_no_other(is_reached: bool) -> None:
    one = progress(until_return=5.0)
    one.evaluation, one.policy_version = evaluation(6.0), 10
    if is_reached:
        assert one.goal.evaluated(1, one.evaluation) == "finish"
    result = one.result(8, "exports", 1.0)
    assert (result.goal_reached, result.policy_version, result.export) == (is_reached, 8, "exports")
    assert result.episode_return_mean == (6.0 if is_reached else None)
    assert one.result(None, None, 1.0).policy_version == 10
    assert one.summary()["evaluation"]["return_mean"] == 6.0


def stuck_rows() -> list[tuple[int, int, dict[str, float]]]:
    """Updates in which no episode ever ends."""
    names = {"rollout/episodes": 0.0, "train/entropy": 1.0}
    return [(update, 4_096 * update, names) for update in range(1, 200)]


def test_findings_come_from_rows_and_a_resumed_run_has_them_anew() -> None:
    one = progress()
    assert one.findings == [], "no game, no diagnosis"
    one.examine_again(stuck_rows())
    assert one.findings == []
    one.described(counting_description(max_steps=None), num_cores=4)
    assert one.findings == []
    one.examine_again(stuck_rows())
    assert one.findings != []
    assert one.result(None, None, 1.0).findings == one.findings
    one.examine_again([])
    assert one.findings == [], "the diagnosis begins anew"


def test_workers_that_are_not_restarted_are_a_finding_of_the_result() -> None:
    one = progress()
    one.described(counting_description(), num_cores=2)
    assert one.findings == []
    one.counters = COUNTERS
    for worker, text in ((1, "out of memory"), (0, "boom")):
        one.worker_lost(GameReport(kind="throw", name="E", text=text, stack=None, worker_index=worker))
    (found,) = one.result(None, None, 9.0).findings
    assert found == one.findings[0]
    assert (found.finding_id, found.kind, found.value) == ("worker-lost", "speed", 2.0)
    assert found.text == "worker 0 failed three times within a minute and is not restarted; last: boom"
    assert (found.first_update, found.first_agent_steps) == (10, 640)
    assert "attract check" in found.advice
