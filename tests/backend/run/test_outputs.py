"""What a run does to the world for each effect: sockets, learner, record, pages; in what order."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest

from attract.collection import effects as collecting
from attract.errors import AttractError, LearnerError
from attract.games.library import GameModule
from attract.processes.learner_supervisor import LearnerSupervisor
from attract.run import effects, ending, inputs, versions
from attract.run.background import BackgroundTasks, WorkInOrder
from attract.run.collection_effects import HANDLERS
from attract.run.effect_runner import EffectRunner
from attract.run.episode_keeper import EpisodeKeeper
from attract.run.events import EventHub
from attract.run.inference_relay import CentralRelay
from attract.run.notifications import Notifications
from attract.run.outputs import RunOutputs
from attract.run.policy_cache import PolicyCache
from attract.run.record import RunRecord
from attract.runs.directory import RunDirectory
from attract.runs.metrics import UpdateRow
from attract.schema.api import EvaluationView, FleetView, GameReport, LessonView, MetricsRow
from attract.schema.learner import Counters, Export, Warmup
from attract.schema.messages import RunEnded
from attract.schema.recorded_episode import EpisodeRole, RecordedEpisode
from attract.settings.run import RecordingSettings
from blocks import train_lease
from driven_core import small_config
from fake_worker import counting_description, counting_game
from recorded_episodes import recorded
from run_simulation import RunSimulation

FLEET = FleetView(hosts=[], steps_per_second=0.0, leases_open=0, leases_lapsed=0, blocks_refused=0)
COUNTERS = Counters(agent_steps=64, updates=1)
ROW = UpdateRow(1, 64, 64, 1.0, 1, "checkpoints/1", "sha", {"train/loss": 0.5})
METRICS = MetricsRow(update=1, agent_steps=64, seconds=1.0, values={"train/loss": 0.5})
EVALUATION = EvaluationView(
    policy_version=1, episodes=2, return_mean=3.0, return_std=0.0, length_mean=7.0, deterministic=True
)
ENDED = RunEnded(run_id="run-1", reason="over")


class Learner:
    """Exports what it is asked for, unless it cannot."""

    def __init__(self, done: list[Any]) -> None:
        self._done = done
        self.export_error: Exception | None = None
        self.close_error: Exception | None = None

    def send(self, message: Any) -> None:
        self._done.append(("send", message))

    async def export(self, order: Export) -> Any:
        self._done.append(("export", order.out_dir, order.policy_version, order.summary["run_id"]))
        if self.export_error is not None:
            raise self.export_error
        return SimpleNamespace(policy_version=order.policy_version or 5)

    async def close(self, *, at_once: bool) -> None:
        self._done.append(("close", at_once))
        if self.close_error is not None:
            raise self.close_error


class Hub:
    """Notes what goes to browsers."""

    def __init__(self, done: list[Any]) -> None:
        self._done = done

    def send(self, connection_id: int, message: Any, *, needs: int | None = None) -> None:
        self._done.append(("send", connection_id, message.type, needs))

    def send_policy(self, connection_id: int, frame: bytes, policy_id: str, policy_version: int) -> None:
        self._done.append(("send_policy", connection_id, policy_id, policy_version, len(frame) > 0))

    def close(self, connection_id: int, code: int, reason: str) -> None:
        self._done.append(("close_socket", connection_id, code, reason))


class Relay:
    """Takes what is for workers that the server decides for: connection 1."""

    def is_for_worker(self, connection_id: int, message: Any) -> bool:
        return connection_id != 1

    def policy(self, effect: collecting.SendPolicy) -> bool:
        return effect.connection_id == 1


class World:
    """The outputs of a run core, over a record of their own; `done` is what was done, in its order."""

    def __init__(self, folder: Path, relay: Relay | None = None) -> None:
        self.done: list[Any] = []
        self.inputs: list[tuple[Any, ...]] = []
        self.heard = asyncio.Event()
        """The core was given an input."""
        self.broken: list[BaseException] = []
        self.directory = RunDirectory.create(folder, "run-1")
        self.record = RunRecord(self.directory, EventHub(), track=False)
        core = RunSimulation(small_config()).run_core
        self.core = core
        self.background = BackgroundTasks(self.broken.append)
        self.writes = WorkInOrder(self.background, self.broken.append)
        self.notices = WorkInOrder(self.background, self.broken.append)
        self.learner = Learner(self.done)
        self.policies = PolicyCache("run-1")
        notifications = self.notifications = Notifications(
            core.progress,
            self.record,
            lambda stack, _method: stack,
            lambda: FLEET,
            lambda kind, body: self.done.append(("published", kind, body)),
            lambda: 0.0,
            keep=True,
        )
        self.outputs = RunOutputs(
            cast("EffectRunner", self),
            self.record,
            notifications,
            prepare_game=lambda description: self.done.append(("prepare", description)),
            release=self.release,
            hub=cast("Any", Hub(self.done)),
            learner=cast("LearnerSupervisor", self.learner),
            relay=cast("CentralRelay | None", relay),
            policies=self.policies,
            episodes=EpisodeKeeper(
                self.directory,
                RecordingSettings(),
                GameModule(counting_game(), b"", None),
                notifications,
                self.writes,
                counting_description,
                adapter_folder=None,
                keep=True,
            ),
        )

    # --- the runner ---

    def do(self, *event: Any) -> None:
        """Note the input."""
        self.inputs.append(event)
        self.heard.set()

    async def release(self) -> None:
        self.done.append("released")

    async def until_published(self, number: int) -> None:
        """Wait until so much was published: episodes are written in another thread."""
        async with asyncio.timeout(20):
            while len(self.done) < number:
                await asyncio.sleep(0)
                await self.writes.idle.wait()

    async def applied(self, *wanted: effects.Effect) -> None:
        """Apply these, and wait until all that follows is done."""
        for effect in wanted:
            self.outputs.apply(effect)
        for _ in range(5):
            await asyncio.sleep(0)
            await self.writes.idle.wait()
            await self.notices.idle.wait()


@pytest.fixture
async def world(tmp_path: Path):
    one = World(tmp_path)
    yield one
    await one.record.close()
    one.directory.close()
    assert one.broken == []


async def test_every_effect_is_either_taken_in_by_the_core_or_done(world: World) -> None:
    wanted = set(get_args(effects.RunEffect)) | set(get_args(collecting.Effect)) - HANDLERS.keys()
    done = world.outputs._apply_by.keys()
    assert wanted - done == set()
    # These are both: the core takes note of them, then they go out.
    both = {collecting.Send, collecting.SendToLearner, collecting.GameKnown, collecting.Report}
    assert done - wanted == both | {collecting.ForgerCaught}


async def test_messages_go_out_and_a_lease_only_behind_its_policy(world: World) -> None:
    world.policies.keep(3, b"onnx")
    await world.applied(
        collecting.Send(7, ENDED),
        collecting.SendPolicy(7, "main", 3),
        collecting.Send(7, train_lease(version=3)),
        collecting.CloseConnection(7, 1000, "bye"),
    )
    assert world.done == [
        ("send", 7, "run_ended", None),
        ("send_policy", 7, "main", 3, True),
        ("send", 7, "lease", 3),
        ("close_socket", 7, 1000, "bye"),
    ]


async def test_I1_what_the_relay_takes_does_not_reach_the_worker(tmp_path: Path) -> None:
    world = World(tmp_path, Relay())
    world.policies.keep(3, b"onnx")
    for connection_id in (1, 2):
        await world.applied(
            collecting.Send(connection_id, train_lease(version=3)),
            collecting.SendPolicy(connection_id, "main", 3),
        )
    assert [(call[0], call[1]) for call in world.done] == [("send", 2), ("send_policy", 2)]
    await world.record.close()
    world.directory.close()


async def test_the_models_of_a_version_are_there_before_it_is_sent(world: World) -> None:
    await world.applied(effects.KeepPolicies(4, {"left": b"l", "right": b"r"}))
    assert [world.policies.onnx(4, policy_id=policy_id) for policy_id in ("left", "right")] == [b"l", b"r"]
    assert world.policies.onnx(4) is None


async def test_D1_a_row_is_on_disk_before_its_commit_is_said_and_told_only_when_asked(world: World) -> None:
    await world.applied(effects.CommitRow(ROW, COUNTERS, (("metrics", METRICS),)))
    assert world.inputs == [(versions.row_committed,)]
    assert world.directory.marked("latest") == 1
    assert await world.record.newest_row() == (1.0, 1)
    assert world.done == [], "nobody hears of it before it is announced"
    await world.applied(effects.PublishRow())
    assert world.done == [("published", "metrics", METRICS)]
    assert world.core.progress.counters == Counters(), "the core moves on, not its outputs"


async def test_a_row_that_cannot_be_written_is_said_with_the_reason(world: World) -> None:
    no_number = replace(ROW, values={"train/loss": cast("float", object())})
    await world.applied(effects.CommitRow(no_number, COUNTERS, (("metrics", METRICS),)))
    ((failed, error),) = world.inputs
    assert failed is versions.row_failed
    assert world.broken == []
    assert error.startswith("TypeError: must be real number"), "the fault's kind, and what it says"
    await world.applied(effects.PublishRow())
    assert world.done == [], "its version is never announced"


async def test_what_the_record_keeps_is_written_in_order(world: World) -> None:
    for version in (1, 2):
        (world.directory.path / "checkpoints" / str(version)).mkdir(parents=True)
    await world.applied(
        effects.CommitRow(ROW, COUNTERS, ()),
        effects.AddEvaluation(1, 64, {"eval/mean_reward": 3.0}),
        effects.MarkBest(1),
        effects.MarkBest(2),
    )
    assert world.directory.marked("best") == 2
    ((_, _, values),) = await world.record.rows()
    assert values == {"train/loss": 0.5, "eval/mean_reward": 3.0}


async def test_who_asked_for_an_evaluation_is_answered_once_and_nobody_else(world: World) -> None:
    first, second, gone = (world.outputs.ask(number) for number in (1, 2, 3))
    gone.cancel()
    answer = effects.AnswerEvaluation(2, EVALUATION, [recorded()])
    await world.applied(answer, effects.AnswerEvaluation(9, EVALUATION))
    assert (await second, first.done()) == (answer, False)
    world.outputs.give_up_asked("the run ended: stopped")
    with pytest.raises(AttractError, match="the run ended: stopped"):
        await first
    assert await second == answer


async def test_an_episode_that_failed_is_kept_with_the_first_report_of_its_kind(world: World) -> None:
    report = GameReport(kind="throw", name="TypeError", text="x is 1", stack="at tick")
    world.outputs.apply(collecting.Report(report, None, recorded(error="x is 1")))
    assert [call[1] for call in world.done] == ["report"], "it is told at once, whatever the disk does"
    assert world.done[0][2].episode_id is None
    await world.until_published(2)
    _, entry = (call[2] for call in world.done)
    (shown,) = world.notifications.view().reports
    assert (entry.source, shown.episode_id, shown.count) == ("failure", entry.id, 1)
    again = report.model_copy(update={"text": "x is 2"})
    await world.applied(collecting.Report(again, None, recorded(error="x is 2")))
    assert (world.done[-1][2].count, world.done[-1][2].episode_id) == (2, entry.id)
    assert len(list((world.directory.path / "episodes").glob("*-failure-*.json"))) == 1


async def test_chosen_episodes_are_kept_and_told_of(world: World) -> None:
    chosen: list[tuple[EpisodeRole, RecordedEpisode]] = [("best", recorded(9.0)), ("worst", recorded(1.0))]
    world.outputs.apply(effects.KeepEpisodes("evaluation", chosen, 640))
    await world.until_published(2)
    assert [(call[1], call[2].role, call[2].agent_steps) for call in world.done] == [
        ("episode", "best", 640),
        ("episode", "worst", 640),
    ]


async def test_pages_are_told_of_a_state_as_it_was_when_it_changed(world: World) -> None:
    world.outputs.apply(effects.StateChanged())
    world.core.progress.counters = COUNTERS
    await world.applied(effects.StateChanged())
    assert [call[2].agent_steps for call in world.done] == [0, 64]
    lesson = LessonView(name="easy", number=1, num_lessons=2)
    await world.applied(effects.Publish("lesson", lesson))
    assert world.done[-1] == ("published", "lesson", lesson)


async def test_the_learner_and_the_game_get_what_is_meant_for_them(world: World) -> None:
    warmup = Warmup(rows=[1, 2])
    await world.applied(collecting.SendToLearner(warmup), collecting.GameKnown(counting_description()))
    assert world.done == [("send", warmup), ("prepare", counting_description())]


async def test_a_core_that_waits_is_woken(world: World) -> None:
    await world.applied(collecting.WakeAfter(0.0))
    await asyncio.wait_for(world.heard.wait(), 20)
    assert world.inputs == [(inputs.tick,)]


async def test_the_last_export_says_where_it_lies_and_of_which_attempt_it_is(world: World) -> None:
    folder = world.directory.export
    await world.applied(effects.ExportLast(2, None))
    assert world.done == [("export", str(folder.resolve()), None, "run-1")]
    assert world.inputs == [(ending.export_done, 2, 5, str(folder))]
    world.learner.export_error = LearnerError("it has no weights")
    await world.applied(effects.ExportLast(3, 4))
    assert world.inputs[1:] == [(ending.export_failed, 3, str(LearnerError("it has no weights")))]


async def test_the_end_goes_on_once_the_learner_has_ended_and_is_given_up_where_it_cannot(
    world: World,
) -> None:
    await world.applied(effects.EndLearner(at_once=True))
    assert (world.done, world.inputs) == ([("close", True)], [(ending.learner_ended,)])
    world.learner.close_error = ProcessLookupError("it is gone")
    await world.applied(effects.EndLearner(at_once=False))
    assert world.inputs[1] == (ending.cannot_end, "ProcessLookupError: it is gone")
    world.learner.export_error = OSError("no space left")
    await world.applied(effects.ExportLast(1, None))
    assert world.inputs[2] == (ending.cannot_end, "OSError: no space left")
    await world.applied(effects.Release())
    assert world.done[-1] == "released"
