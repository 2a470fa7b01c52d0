import asyncio
from pathlib import Path
from typing import Any

from attract.run.progress import RunResult
from attract.runs.metrics import MetricsStore
from attract.schema import learner as ipc
from attract.schema.api import GameReport, LessonView
from fake_learner import FakeLearner
from gateway_world import GatewayWorld, gateway, start_run
from socket_fleet import SocketFleet
from waiting import WAIT_SECONDS

LESSONS: dict[str, Any] = {
    "every_episodes": 4,
    "lessons": [
        {
            "name": "small",
            "parameters": {"size": 6},
            "until": {"metric": "rollout/ep_rew_mean", "at_least": 9.0, "times": 2},
            "min_episodes": 40,
        },
        {"name": "large", "parameters": {"size": {"uniform": [12, 20]}}},
    ],
}


async def finished(world: GatewayWorld) -> RunResult:
    return await asyncio.wait_for(world.service.wait_finished(), WAIT_SECONDS)


def lessons_of(fleet: SocketFleet, purpose: str) -> list[tuple[str | None, dict[str, list[float]]]]:
    """Lesson and parameters of each lease, repetitions left out."""
    found: list[tuple[str | None, dict[str, list[float]]]] = []
    for lease in fleet.leases:
        setting = (lease.lesson_id, {name: parameter.values for name, parameter in lease.parameters.items()})
        if lease.purpose == purpose and setting not in found[-1:]:
            found.append(setting)
    return found


def trained(learner: FakeLearner) -> list[ipc.Train]:
    return [message for message in learner.heard if isinstance(message, ipc.Train)]


def series(world: GatewayWorld, run_id: str, *names: str) -> dict[str, list[float]]:
    store = MetricsStore(world.runs_dir / run_id / "metrics.db")
    found = {sery.name: sery.values for sery in store.query(run_id, list(names)).series}
    store.close()
    return found


async def test_C6_a_lesson_changes_by_its_metric_and_reaches_later_leases_pages_and_charts(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        view = await world.start(
            total_steps=640, curriculum=LESSONS, parameters={"size": 8}, evaluation={"episodes": 2}
        )
        await finished(world)
        assert lessons_of(fleet, "train") == [("small", {"size": [6.0]}), ("large", {"size": [12.0, 20.0]})]
        (lesson,) = [body for kind, body in world.events if kind == "lesson"]
        assert isinstance(lesson, LessonView)
        assert (lesson.name, lesson.number, lesson.num_lessons) == ("large", 2, 2)
        # 4 slots of a worker finish in one step; the check at the 40th episode, index 39, decides.
        assert lesson.global_episode_index == 39
        assert "rollout/ep_rew_mean was at least 9 2 times in a row" in (lesson.reason or "")
        now = world.service.view(view.run_id)
        assert now.lesson is not None
        assert now.lesson.name == "large"
        numbers = series(world, view.run_id, "curriculum/lesson")["curriculum/lesson"]
        assert (numbers[0], numbers[-1]) == (1.0, 2.0)
        assert numbers == sorted(numbers)


async def test_D2_a_run_resumed_in_the_middle_goes_on_in_its_lesson_with_its_window(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined() as fleet:
        view = await world.start(total_steps=640, curriculum=LESSONS)
        before = await finished(world)
        saved = trained(world.learner)[-1].curriculum
        fleet.leases.clear()
        fleet.episode_return = 20.0
        await start_run(world.service, "", {"total_steps": 896}, run_id=view.run_id, resume=True)
        after = await finished(world)
        assert after.updates > before.updates
        assert [lesson for lesson, _ in lessons_of(fleet, "train")] == ["large"]
        first, *_, last = [message.curriculum for message in trained(world.learner)[before.updates :]]
        assert first["lesson"]["name"] == saved["lesson"]["name"] == "large"
        # The episodes of before are still in the window: its mean is between those of both sessions.
        assert before.episode_return_mean == 10.0
        assert after.episode_return_mean is not None
        assert 10.0 < after.episode_return_mean < 20.0
        assert last["window"][: len(saved["window"])] == saved["window"]
        assert len(last["window"]) > len(saved["window"])


async def test_C6_evaluations_fall_due_by_steps_in_both_modes_on_the_runs_own_parameters(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet(evaluation_return=7.0).joined() as fleet:
        view = await world.start(
            total_steps=640,
            curriculum=LESSONS,
            parameters={"size": 8},
            callbacks={
                "evaluation": {"every_steps": 200, "episodes": 4, "modes": ["deterministic", "sampled"]}
            },
        )
        await finished(world)
        orders = [lease for lease in fleet.leases if lease.purpose == "evaluate"]
        assert {lease.seats[0].deterministic for lease in orders} == {True, False}
        assert lessons_of(fleet, "evaluate") == [(None, {"size": [8.0]})]
        assert len({(lease.seed.low, lease.seed.high) for lease in orders}) == 1
        found = series(world, view.run_id, "eval/mean_reward", "eval_sampled/mean_reward")
        assert set(found["eval/mean_reward"]) == {7.0}
        assert set(found["eval_sampled/mean_reward"]) == {7.0}
        best = world.runs_dir / view.run_id / "best"
        assert int(best.readlink().name) in {lease.seats[0].policy_version for lease in orders}


async def test_C6_an_evaluation_decides_a_lesson(tmp_path: Path):
    until = {"metric": "eval/mean_reward", "at_least": 7.0, "times": 2}
    lessons = [{"name": "a", "until": until, "min_episodes": 0}, {"name": "b"}]
    async with gateway(tmp_path) as world, world.fleet(evaluation_return=7.0).joined():
        await world.start(
            total_steps=64 * 40,
            curriculum={"every_episodes": 1, "lessons": lessons},
            callbacks={"evaluation": {"every_steps": 64, "episodes": 2}},
        )
        await finished(world)
        (lesson,) = [body for kind, body in world.events if kind == "lesson"]
        assert isinstance(lesson, LessonView)
        assert lesson.reason == "eval/mean_reward was at least 7 2 times in a row, lastly 7"


async def test_C6_versions_are_kept_for_good_by_steps(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start(total_steps=640, callbacks={"checkpoint": {"every_steps": 128}})
        await finished(world)
        kept = sorted(path.name for path in (world.runs_dir / view.run_id / "kept").iterdir())
        assert len(kept) >= 3
        assert all(((world.runs_dir / view.run_id / "kept" / name).resolve()).is_dir() for name in kept)


async def test_the_return_of_an_earlier_lesson_is_no_goal(tmp_path: Path):
    lessons = [
        {"name": "a", "until": {"metric": "game/none", "at_least": 1}, "min_episodes": 0},
        {"name": "b"},
    ]
    until = {"metric": "train/loss", "at_least": 30.0, "times": 1}
    lessons[0]["until"] = until
    async with gateway(tmp_path) as world, world.fleet().joined():
        # The fake learner's loss is the version: the second lesson begins at version 30, after 160 episodes.
        await world.start(until_return=9.0, curriculum={"every_episodes": 1, "lessons": lessons})
        result = await finished(world)
        assert result.goal_reached
        assert result.updates > 30


FEDERATED = {"rendezvous": "127.0.0.1:1", "rank": 0, "world_size": 2, "every_episodes": 10}


async def test_C6_rounds_of_averaging_go_with_the_update_whose_episodes_make_them_due(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.drop_updates = 2
        await world.start(total_steps=640, federated=FEDERATED)
        await finished(world)
        begin = next(message for message in world.learner.heard if isinstance(message, ipc.Begin))
        federated = begin.settings["federated"]
        assert (federated["rank"], federated["every_episodes"]) == (0, 10)
        messages = trained(world.learner)
        undone, done = messages[:2], messages[2:]
        rounds = [number for update in done for number in update.federated_rounds]
        assert rounds == list(range(1, len(rounds) + 1))
        assert len(rounds) >= 3
        seen = 0
        for update in done:
            seen = update.counters.global_episode_index // 10
            assert update.curriculum["federated_rounds"] == seen
            assert update.federated_rounds == [] or update.federated_rounds[-1] == seen
        assert all(update.federated_rounds in ([], [1], [1, 2]) for update in undone)


async def test_scale_12_what_is_told_of_other_trainers_reaches_whoever_listens(tmp_path: Path):
    heard: list[GameReport] = []
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.note = "trainer 1 is gone"
        world.service.subscribe(
            lambda kind, body: heard.extend([body] if isinstance(body, GameReport) else [])
        )
        await world.start(total_steps=128)
        await finished(world)
    assert [(note.kind, note.text) for note in heard] == [("federated", "trainer 1 is gone")]


async def test_the_learner_that_takes_over_gets_the_same_message_again(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        world.learner.hold.clear()
        await world.start(total_steps=192, federated=FEDERATED, curriculum=LESSONS)
        await asyncio.wait_for(world.learner.holding.wait(), WAIT_SECONDS)
        await world.learner.die()
        world.learner.hold.set()
        await finished(world)
        first, second = trained(world.learner)[:2]
        assert first.batch_id == second.batch_id
        assert (first.curriculum, first.federated_rounds) == (second.curriculum, second.federated_rounds)


async def test_settings_that_the_game_does_not_know_fail_the_run_with_the_nearest(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        await world.start(parameters={"sise": 8})
        result = await finished(world)
        assert result.state == "failed"
        assert result.error is not None
        assert "parameters.sise: Counting-v1 has no such parameter" in result.error
        assert "did you mean 'size'?" in result.error


async def test_a_lesson_that_was_taken_away_fails_the_resumed_run(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        view = await world.start(total_steps=640, curriculum=LESSONS)
        await finished(world)
        other = {"curriculum": {"lessons": [{"name": "only"}]}, "total_steps": 6400}
        await start_run(world.service, "", other, run_id=view.run_id, resume=True)
        result = await finished(world)
        assert result.state == "failed"
        assert "in lesson 'large', which is not among the lessons" in (result.error or "")
