"""A whole run from one seed: the run core with the collection core, a fleet, a learner, a disk and people."""

import json
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from attract.collection import effects as collecting
from attract.curriculum.controller import CurriculumController
from attract.errors import AttractError
from attract.run import effects, ending, inputs, versions
from attract.run.core import Input, P, RunCore
from attract.run.evaluation import EvaluationRequest
from attract.run.life import PauseReason, Phase
from attract.run.progress import RunProgress
from attract.schema.learner import Dropped, Train, Trained, Warmup
from attract.schema.messages import Lease
from attract.settings.run import RunSettings
from driven_core import changed, published, ready_learner
from fake_worker import Faults, Peer, counting_description, counting_game
from fleet_simulation import Simulation, small_config

MAX_DEATHS = 3
"""As the supervisor has it."""
FINAL = ("stopped", "finished", "failed")


@dataclass
class RunFaults(Faults):
    """Chances besides those of a fleet."""

    drop: float = 0.0
    """That an update is undone."""
    learner_dies_anytime: float = 0.0
    """Between its messages, and over an export."""


@dataclass
class RunSimulation(Simulation):
    """Drives a run core until a time, and checks what must always hold."""

    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    faults: RunFaults = field(default_factory=RunFaults)
    needs_warmup: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.learner_alive = False
        settings = run_settings(json.dumps(self.settings))
        controller = CurriculumController(settings)
        progress = RunProgress("run-1", "", settings, counting_game(), controller, 0.0)
        self.run_core = RunCore(settings, self.core, controller, progress)
        self.life = self.run_core.progress.life
        self.committed: list[int] = []
        """Versions whose rows are written."""
        self.announced: list[int] = []
        """Batches whose versions were announced."""
        self.dropped: list[int] = []
        self.published: dict[int, int] = {}
        """Version by batch, of what the learner said is durable."""
        self.exported: int | None = None
        self.num_released = 0
        self.answered: list[int] = []
        self.is_disk_full = False
        self._is_refusal_reported = False
        self._writing: tuple[int, int | None] | None = None
        """Version and batch of the row that is being written."""
        self._mail: deque[Callable[[], None]] = deque()
        """What the learner said while a row is being written."""
        self._open: tuple[Train, int] | None = None
        """The update that the learner was told last and has not done, and its version before."""
        self._consecutive = 0
        self._deaths = 0
        self._learner_is_over = False
        self._is_applying = False

    # --- what people and the disk do ---

    def say(self, handler: Input[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """An input of the run core, and what follows from it."""
        before, was_over = self.life.reasons, self.life.is_over
        wanted = self.run_core.handle(handler, self.now, *args, **kwargs)
        assert not (was_over and wanted), f"after the end: {wanted}"
        if before and self.life.reasons:
            self._check_paused(wanted)
        self._apply(wanted)

    def do(self, wanted: list[collecting.Effect]) -> None:
        """What the collection core emits goes through the run core."""
        self.say(inputs.collected, wanted)

    def fill_disk(self, seconds: float) -> None:
        """The disk takes nothing for so long; who writes notices it."""
        if not self.is_disk_full:
            self.is_disk_full = True
            self.after(seconds, self.free_disk)

    def free_disk(self) -> None:
        """There is room again."""
        self.is_disk_full = False
        if self._is_refusal_reported:
            self._is_refusal_reported = False
            self.say(inputs.disk_changed, None)

    def ask_for_evaluation(self, request_id: int) -> bool:
        """Request one; whether it was accepted."""
        if not self.run_core.has_policy:
            return False
        request = EvaluationRequest("asked", 2, True, 7, request_id=request_id)
        try:
            self.say(inputs.evaluate, request)
        except AttractError:
            return False
        return True

    def connect(self, peer: Peer) -> None:
        """The worker opens a socket; once the run ends it is refused."""
        if not self.life.is_ending:
            super().connect(peer)

    # --- applying effects ---

    def _check_paused(self, wanted: list[effects.Effect]) -> None:
        for effect in wanted:
            if isinstance(effect, collecting.Send) and isinstance(effect.message, Lease):
                new = all(effect.message.lease_id != lease.lease_id for _, lease in self.leases)
                assert not (new and effect.message.purpose == "train"), f"a lease, {self.life.reasons}"
            if isinstance(effect, collecting.SendToLearner) and isinstance(effect.message, Train):
                begun = [update.batch_id for update in self.updates]
                assert effect.message.batch_id in begun, f"an update begins, {self.life.reasons}"

    def _apply(self, wanted: list[effects.Effect]) -> None:
        assert not self._is_applying, "an effect is applied while another is"
        self._is_applying = True
        for effect in wanted:
            assert self.num_released == 0 or isinstance(effect, effects.AnswerEvaluation), f"late: {effect}"
            self._apply_one(effect)
        self._is_applying = False

    def _apply_one(self, effect: effects.Effect) -> None:
        match effect:
            case collecting.SendToLearner(message=Train()):
                self._begin_update(effect.message)
            case collecting.SendToLearner(message=Warmup()):
                self.warmups.append(tuple(effect.message.rows))
                self.after(0.05, self._version_zero)
            case collecting.SendToLearner():
                pass
            case effects.CommitRow():
                assert self._writing is None, "two rows at once"
                version = effect.row.policy_version
                batch = next((batch_id for batch_id, to in self.published.items() if to == version), None)
                self._writing = version, batch
                self.after(self.random.uniform(0.0, 0.05), self._write_row)
            case effects.ExportLast():
                self._export(effect)
            case effects.EndLearner():
                self._learner_is_over = True
                self.after(0.02, self._end_learner)
            case effects.Release():
                self.num_released += 1
            case effects.AnswerEvaluation():
                self.answered.append(effect.request_id)
            case collecting.SendPolicy():
                assert effect.policy_version in self.committed, "rule D1: its row is not written"
                super().do([effect])
            case _:
                super().do([effect])  # type: ignore[list-item]

    def _write_row(self) -> None:
        if self.is_disk_full:
            self._refuse()
            self.after(0.3, self._write_row)
            return
        assert self._writing is not None
        (version, batch), self._writing = self._writing, None
        expected = self.committed[-1] + 1 if self.committed else version
        assert version == expected, f"row {version} after {self.committed}"
        self.committed.append(version)
        if batch is not None:
            assert batch not in self.announced and batch not in self.dropped, f"batch {batch} twice"
            self.announced.append(batch)
        self.say(versions.row_committed)
        self._read_mail()

    def _refuse(self) -> None:
        if not self._is_refusal_reported:
            self._is_refusal_reported = True
            self.say(inputs.disk_changed, "no room")

    # --- the learner ---

    def _from_learner(self, handler: Input[P], *args: P.args, **kwargs: P.kwargs) -> None:
        """The learner says something; it is heard once the row before is written."""
        self._mail.append(lambda: self.say(handler, *args, **kwargs))
        self._read_mail()

    def _read_mail(self) -> None:
        while self._mail and self._writing is None and not self._is_applying:
            self._mail.popleft()()

    def learner_up(self) -> None:
        """A learner process is ready: at version 0, or without one yet."""
        if self.run_core.progress.description is None:
            # It is told to begin once the game is known.
            self.after(0.05, self.learner_up)
            return
        if self._learner_is_over:
            return
        self.learner_alive, self.version = True, self.durable
        fresh = self.version < 0
        if fresh and not self.needs_warmup:
            self.version = self.durable = 0
        if self._open is not None and self._open[1] != self.durable:
            # It was to go on from a version that is lost: its rows are free.
            for row in self._open[0].rows:
                self.row_key.pop(row, None)
            self._open = None
        ready = ready_learner(max(0, self.durable), needs_warmup=fresh and self.needs_warmup)
        if self.durable > 0:
            ready = ready.model_copy(update={"counters": self.run_core.progress.counters})

        def came() -> None:
            newest = self.committed[-1] if self.committed else None
            self.say(versions.learner_ready, ready, policy_version=newest)

        self._mail.append(came)
        self._read_mail()

    def learner_down(self) -> None:
        """The learner dies; what it has said is still heard. Another comes, unless three died in a row."""
        if not self.learner_alive or self._learner_is_over:
            return
        self.learner_alive, self.had_learner_faults = False, True
        self.session += 1
        self.in_flight = None
        self._deaths += 1
        self._mail.append(self._lost)
        self._read_mail()

    def _lost(self) -> None:
        """All that it had said is heard: the supervisor starts another, or gives up."""
        self.say(versions.learner_lost)
        if self._deaths >= MAX_DEATHS:
            self._learner_is_over = True
            self.say(versions.learner_failed, "it died three times")
        elif not self._learner_is_over:
            self.after(0.5, self.learner_up)

    def _begin_update(self, train: Train) -> None:
        if self.learner_alive:
            super()._start_update(train)
        elif not self.updates or self.updates[-1].batch_id != train.batch_id:
            # It is lost; the next learner may get it again.
            self.updates.append(train)
            self.update_keys.append([self.row_key[row][0][0] for row in train.rows])
        self._open = train, self.core.learner.version

    def _trained(self, train: Train) -> None:
        if self.in_flight is not train or not self.learner_alive:
            return
        self.in_flight = self._open = None
        for row in train.rows:
            del self.row_key[row]
        if self.random.random() < self.faults.drop:
            self._consecutive += 1
            self.dropped.append(train.batch_id)
            said = Dropped(batch_id=train.batch_id, reason="nan", consecutive=self._consecutive)
            self._from_learner(versions.dropped, said)
            if said.consecutive >= 3 and self._writing is None and not self.life.is_ending:
                assert PauseReason.DROPPED_UPDATES in self.life.reasons, "rule P8"
            return
        self._consecutive = 0
        self.version += 1
        version, session = self.version, self.session
        self.after(self.random.uniform(*self.durable_seconds), lambda: self._publish(train, version, session))
        trained = Trained(batch_id=train.batch_id, policy_version=version, metrics={})
        self._from_learner(versions.trained, trained)
        if self.random.random() < self.faults.learner_dies_anytime:
            self.after(self.random.uniform(0.0, 0.1), self.learner_down)

    def _publish(self, train: Train | None, version: int, session: int) -> None:
        if session != self.session:
            return
        if self.is_disk_full or version != self.durable + 1:
            if self.is_disk_full:
                self._refuse()
            self.after(0.1, lambda: self._publish(train, version, session))
            return
        self.durable, self._deaths = version, 0
        if train is not None:
            self.published[train.batch_id] = version
        batch_id = None if train is None else train.batch_id
        self._from_learner(versions.published, published(version, batch_id))

    def _version_zero(self) -> None:
        if self.version >= 0 or not self.learner_alive:
            return
        self.version = 0
        for rows in self.warmups:
            for row in rows:
                self.row_key.pop(row, None)
        self._publish(None, 0, self.session)

    def _export(self, effect: effects.ExportLast) -> None:
        assert self.life.phase is Phase.EXPORTING
        session = self.session
        version = self.durable if effect.policy_version is None else effect.policy_version
        if self.random.random() < self.faults.learner_dies_anytime:
            self.after(0.005, self.learner_down)

        def done() -> None:
            if session == self.session:
                self.exported = version
                self.say(ending.export_done, effect.attempt, version, "export")
            else:
                self.say(ending.export_failed, effect.attempt, "it died")

        self.after(0.01, done)

    def _end_learner(self) -> None:
        self.learner_alive = False
        self.session += 1
        self.in_flight = None
        self.say(ending.learner_ended)

    # --- checking ---

    def check_end(self, *, aborted: bool) -> None:
        """What holds of every run that has ended."""
        assert self.life.phase is Phase.ENDED, f"it does not end: {self.life.phase}, {self.life.reasons}"
        assert self.life.shown in FINAL and self.num_released == 1
        core = self.run_core
        late = [inputs.pause, inputs.resume, ending.stop, ending.abort, inputs.tick]
        for handler in (*late, ending.learner_ended):
            assert core.handle(handler, self.now) == [], "after the end"
        assert len(set(self.announced)) == len(self.announced)
        assert not set(self.announced) & set(self.dropped)
        if self.committed:
            assert core.progress.policy_version == self.committed[-1]
        if self.life.shown == "failed":
            assert self.life.error is not None
        elif not aborted and self.committed:
            goal = core.progress.goal.reached and core.progress.evaluation is not None
            wanted = core.progress.evaluation.policy_version if goal else self.committed[-1]
            assert self.exported == wanted, f"exported {self.exported}, durable {self.committed}"
            assert self.exported == core.export[0]


@cache
def run_settings(changes: str) -> RunSettings:
    """Settings of a small run with these changes, as JSON; read once for all seeds that have them."""
    return RunSettings.from_mapping({"ppo": PPO, "collection": COLLECTION, **json.loads(changes)})


PPO = {"horizon": 4, "rollout_steps": 4, "minibatch_steps": 4}
COLLECTION = {"num_workers": 2, "instances_per_worker": 2}


def eventful_run(seed: int) -> RunSimulation:
    """A run in which much happens, by its seed; ended, and checked."""
    draw = random.Random(seed)
    settings: dict[str, Any] = {"evaluation": {"episodes": 2}}
    settings["total_steps"] = draw.choice([None, None, 48, 160])
    # Evaluations come to 0.5: one goal is confirmed by them, the other falls short.
    settings["until_return"] = draw.choice([None, None, 0.25, 1.0])
    if draw.random() < 0.3:
        settings["callbacks"] = {"evaluation": {"every_steps": 32, "episodes": 2}}
    has_goal = settings["until_return"] is not None
    simulation = RunSimulation(
        changed(
            small_config(),
            num_workers=draw.choice([1, 2]),
            instances_per_worker=8 if has_goal else 2,
            schedule=draw.choice(["sync", "overlap", "async"]),
            warmup_steps=draw.choice([0, 8]),
        ),
        seed=seed,
        settings={name: value for name, value in settings.items() if value is not None},
        faults=RunFaults(
            disconnect=draw.choice([0, 0.02]),
            learner_dies=draw.choice([0, 0, 0.2]),
            drop=draw.choice([0, 0.1, 0.7]),
            learner_dies_anytime=draw.choice([0, 0, 0.2]),
        ),
        # A goal needs a hundred episodes: each lasts a step.
        description=counting_description(max_steps=1 if has_goal else 7),
        needs_warmup=draw.random() < 0.7,
    )
    asked: list[int] = []
    aborted: list[bool] = []

    def ask() -> None:
        if simulation.ask_for_evaluation(len(asked) + 1):
            asked.append(len(asked) + 1)

    def abort() -> None:
        if not simulation.life.is_over:
            aborted.append(True)
            simulation.say(ending.abort)

    def command(handler: Input[[]]) -> Callable[[], None]:
        return lambda: simulation.say(handler)

    happenings: list[Callable[[], None]] = [
        command(inputs.pause),
        command(inputs.resume),
        lambda: simulation.fill_disk(draw.uniform(0.1, 1.0)),
        simulation.learner_down,
        ask,
    ]
    # Every third run goes on: its game is known.
    known = simulation.description if seed % 3 == 0 else None
    simulation.say(inputs.begin, known, is_same_module=True)
    simulation.start()
    for _ in range(draw.randrange(6)):
        simulation.after(draw.uniform(0.0, 1.5), draw.choice(happenings))
    ends = draw.choice([None, None, command(ending.stop), abort])
    if ends is not None:
        simulation.after(draw.uniform(0.0, 2.0), ends)
    simulation.run(2.0, until=lambda: simulation.life.is_over)
    # From here on nothing goes wrong any more.
    simulation.faults = RunFaults()
    simulation.free_disk()
    command(inputs.resume)()
    # A goal has updates enough to be reached, and confirmed or not.
    enough = max(1, len(simulation.committed)) + 12 * has_goal * (seed % 2 == 0)
    simulation.run(60.0, until=lambda: simulation.life.is_ending or len(simulation.committed) > enough)
    assert simulation.life.is_ending or len(simulation.committed) > enough, (
        f"it does not go on: {simulation.life.phase}, {simulation.life.reasons}"
    )
    command(ending.stop)()
    simulation.run(60.0, until=lambda: simulation.life.is_over)
    simulation.check_end(aborted=bool(aborted))
    return simulation
