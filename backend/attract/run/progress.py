"""A run's progress: counters, versions, time, returns, and notices about them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attract.curriculum.controller import CurriculumController
from attract.diagnosis.diagnosis import Diagnosis
from attract.diagnosis.sign import RunFacts
from attract.diagnosis.verdict import UNMEASURED, Otherwise, Verdict, as_evaluated, as_measured, judge
from attract.run.effects import Kind
from attract.run.goal import Goal
from attract.run.life import Life
from attract.run.statistics import Statistics
from attract.runs.metrics import UpdateRow
from attract.schema.api import (
    BeginningView,
    CheckFinding,
    EvaluationView,
    Finding,
    FleetView,
    GameReport,
    LessonView,
    MetricsRow,
    PolicyView,
    RandomPlay,
    RunState,
    RunView,
)
from attract.schema.base import WireModel
from attract.schema.game import GameDescription, GameReference
from attract.schema.learner import Counters, Ready
from attract.schema.match import LadderRow
from attract.schema.messages import ParameterDistribution
from attract.settings.collection import policy_ids
from attract.settings.run import RunSettings

WAITING_SECONDS = 5.0
"""So long without workers is reported; reloading a page takes less."""

_COUNTED = {"agent_steps", "collected_steps", "updates", "episodes"}
"""Counters that a view has."""
LOST_ADVICE = (
    "Mend what the last failure says; `attract check` plays the game and names the place. If memory is "
    "short, play fewer copies of the game at once: `attract train GAME --instances 2`"
)


@dataclass(frozen=True)
class RunResult:
    """How a run ended; `train --json` prints it."""

    run_id: str
    state: RunState
    agent_steps: int
    updates: int
    policy_version: int
    """Version in the export."""
    wall_seconds: float
    """From the first lease after the warm-up to the end, with a goal's confirmation; without saving and
    exporting."""
    steps_per_second: float
    """Agent steps of this session over `wall_seconds`."""
    episode_return_mean: float | None
    """From the confirming evaluation when the goal was reached, else over the last 100 training episodes."""
    goal_reached: bool
    export: str | None
    """Folder with the policies' models and policy.json; None when nothing could be exported."""
    error: str | None = None
    refused: bool = False
    """Whether it never began, since what was asked for cannot be."""
    verdict: Verdict = UNMEASURED
    """The return beside random play's."""
    findings: list[Finding] = field(default_factory=list[Finding])
    """What kept it from learning: what was said, and `withdrawn` where it did not hold to the end."""
    waited_seconds: float = 0.0
    """Time without any worker, before the first one too."""
    check: list[CheckFinding] | None = None
    """What the check before the training found; None where there was none, or it came to no end."""
    evaluation: EvaluationView | None = None
    """The last one while it trained."""
    win_rate: float | None = None
    """Share of the last 100 whole episodes against opponents that it won; None: there were none."""


class RunProgress:
    """Owned by the run core, which alone changes it; does no I/O. `now` is monotonic seconds."""

    def __init__(
        self,
        run_id: str,
        created: str,
        settings: RunSettings,
        game: GameReference,
        controller: CurriculumController,
        now: float,
        *,
        title: str = "",
    ) -> None:
        """`created`: UTC time as a label; `title`: the game's, for people."""
        self.run_id = run_id
        self.life = Life()
        self.refused = False
        """Whether the error is one of use: what was asked for cannot be."""
        self.evaluation: EvaluationView | None = None
        self.counters = Counters()
        self.policy_version = 0
        self.description: GameDescription | None = None
        self.goal = Goal(settings.until_return, settings.total_steps, controller.window)
        self.statistics = Statistics({})
        self.newest_model: int | None = None
        """The newest version whose models pages can have."""
        self.parameters: dict[str, ParameterDistribution] = {}
        """What games of training are started with now."""
        self.check: list[CheckFinding] | None = None
        """What the check before the training found, once it is done."""
        self.random_play: RandomPlay | None = None
        """What the return is compared with, once it is measured."""
        self.win_rate: float | None = None
        """Against opponents, as of the last update."""
        self.ladder: list[LadderRow] = []
        """Who has played, as of the last update."""
        self._lost_workers: Finding | None = None
        self._diagnosis: Diagnosis | None = None
        self._facts: RunFacts | None = None
        self._created = created
        self._title = title
        self.settings = settings
        self._controller = controller
        self._game = game
        self._first_lease: float | None = None
        self._ended: float | None = None
        self._waits_since: float | None = now
        """When the last worker was here, or the run began without one; None: one is here."""
        self._last_look = now
        self._waited_at_last_look = False
        self._waited_seconds = 0.0
        self._seconds_before = 0.0
        self._steps_before: int | None = None
        self._return_before: float | None = None
        self._learned_before: bool | None = None

    @property
    def state(self) -> RunState:
        """As people are told it."""
        return self.life.shown

    @property
    def error(self) -> str | None:
        """Why it failed, or why it is paused."""
        return self.life.error

    def went_before(self, view: RunView) -> None:
        """How a run that goes on stood last: these are its numbers until it has newer ones."""
        self.counters = Counters.model_validate(view.model_dump(include=_COUNTED))
        self.policy_version, self.evaluation = view.policy_version, view.evaluation
        self.ladder = view.ladder
        self._seconds_before = view.elapsed_seconds
        self._return_before, self._learned_before = view.episode_return_mean, view.learned

    def described(
        self, description: GameDescription, *, num_cores: int, starts_untrained: bool = True
    ) -> None:
        """The game is known; `num_cores`: of this machine; `starts_untrained`: its first policy is random."""
        self.description = description
        self.statistics = Statistics(description.reward_terms)
        self._facts = RunFacts(
            self.settings, description, num_cores=num_cores, starts_untrained=starts_untrained
        )
        self._begin_diagnosis(self._facts)

    def _begin_diagnosis(self, facts: RunFacts) -> Diagnosis:
        self._diagnosis = Diagnosis(facts)
        self._diagnosis.random = as_measured(self.random_play)
        return self._diagnosis

    @property
    def findings(self) -> list[Finding]:
        """What keeps it from learning now."""
        return self._with_lost_workers([] if self._diagnosis is None else self._diagnosis.findings)

    def worker_lost(self, report: GameReport) -> None:
        """A worker broke so often that no other takes its place; `report`: its last failure."""
        before = self._lost_workers
        self._lost_workers = Finding(
            finding_id="worker-lost",
            kind="speed",
            text=f"worker {report.worker_index} failed three times within a minute and is not restarted; "
            f"last: {report.text}",
            value=1.0 if before is None else before.value + 1.0,
            advice=LOST_ADVICE,
            first_update=self.counters.updates if before is None else before.first_update,
            first_agent_steps=self.counters.agent_steps if before is None else before.first_agent_steps,
        )

    def _with_lost_workers(self, findings: list[Finding]) -> list[Finding]:
        return findings if self._lost_workers is None else [*findings, self._lost_workers]

    def examine(self, row: UpdateRow) -> list[Finding]:
        """What a committed row shows that was not said before, and what no longer holds."""
        if self._diagnosis is None or not row.values:
            return []
        return self._diagnosis.observe(row.update, row.agent_steps, row.values)

    def examine_evaluation(self, values: Mapping[str, float]) -> list[Finding]:
        """What an evaluation's metrics show beside the training's."""
        if self._diagnosis is None:
            return []
        return self._diagnosis.evaluated(self.counters.updates, self.counters.agent_steps, values)

    def examine_again(self, rows: Iterable[tuple[int, int, dict[str, float]]]) -> None:
        """Restart the diagnosis with the rows that are there: update, agent steps and metrics of each."""
        if self._facts is not None:
            diagnosis = self._begin_diagnosis(self._facts)
            for update, agent_steps, values in rows:
                diagnosis.observe(update, agent_steps, values)

    def examine_end(self) -> list[Finding]:
        """What the last returns show, though the run was too short for it to be said before."""
        if self._diagnosis is None:
            return []
        return self._diagnosis.ended(self.counters.updates, self.counters.agent_steps, self.verdict())

    def played_at_random(self, play: RandomPlay) -> None:
        """Random play was measured, now or in an earlier session."""
        self.random_play = play
        if self._diagnosis is not None:
            self._diagnosis.random = as_measured(play)

    def verdict(self) -> Verdict:
        """The return beside random play's: of a goal's evaluation, else of the last 100 training episodes.

        Of a run with lessons training tells nothing: its episodes are those of a lesson.
        """
        confirmed = self.goal.confirmed
        trained = self.goal.window.measured if confirmed is None else as_evaluated(confirmed)
        otherwise: Otherwise | None = None
        if confirmed is None and self._controller.lessons is not None:
            otherwise = "without the lesson"
        elif confirmed is None and self.settings.self_play.is_on:
            otherwise = "against itself"
        return judge(
            trained,
            as_measured(self.random_play),
            num_agents=1 if self.description is None else self.description.num_agents,
            otherwise=otherwise,
        )

    def leased(self, now: float) -> None:
        """A lease was given, of anything but the warm-up; the first one starts the clock."""
        if self._first_lease is None:
            self._first_lease = now

    def ready(self, ready: Ready, seconds: float) -> None:
        """A learner has its policy; what was before this session is not counted to it.

        `seconds`: the run's time at the update it goes on from.
        """
        self.counters, self.policy_version = ready.counters, ready.policy_version
        if self._steps_before is None:
            self._seconds_before, self._steps_before = seconds, ready.counters.agent_steps

    def look_for_workers(self, fleet: FleetView, now: float) -> bool:
        """Note whether workers are here; True when the run began or stopped waiting since the last call."""
        before = self._waited_at_last_look
        has_workers = any(worker.state != "gone" for host in fleet.hosts for worker in host.workers)
        if fleet.last_left_seconds is not None:
            self._waits_since = now - fleet.last_left_seconds
        self._count_waiting(now)
        if fleet.last_left_seconds is None and has_workers:
            self._waits_since = None
        self._waited_at_last_look = self.waiting_seconds(now) is not None
        return self._waited_at_last_look != before

    def waiting_seconds(self, now: float) -> float | None:
        """Seconds without a worker, from `WAITING_SECONDS` on; None: the run does not wait for workers."""
        if self._waits_since is None or not self._is_for_workers:
            return None
        seconds = now - self._waits_since
        return seconds if seconds >= WAITING_SECONDS else None

    def _count_waiting(self, now: float) -> None:
        """Add the time waited since the last look; a paused run does not wait."""
        if self._waits_since is not None and self._is_for_workers:
            self._waited_seconds += now - max(self._waits_since, self._last_look)
        self._last_look = now

    @property
    def _is_for_workers(self) -> bool:
        return self._ended is None and self.state in ("starting", "running", "evaluating")

    def ended(self, now: float) -> None:
        """The clock stops; later calls change nothing."""
        if self._ended is None:
            self._count_waiting(now)
            self._ended = now

    def elapsed_seconds(self, now: float) -> float:
        """Seconds since the first lease after the warm-up, earlier sessions of a resumed run included."""
        return self._seconds_before + self._session_seconds(now)

    def view(
        self,
        now: float,
        fleet: FleetView,
        reports: list[GameReport],
        beginning: BeginningView | None = None,
    ) -> RunView:
        """The run as it stands; `beginning`: what is done before the first update."""
        mean = self.goal.return_mean
        return RunView(
            run_id=self.run_id,
            game=self._game.name,
            title=self._title,
            state=self.state,
            created=self._created,
            seed=self.settings.seed,
            policy_version=self.policy_version,
            agent_steps=self.counters.agent_steps,
            collected_steps=self.counters.collected_steps,
            updates=self.counters.updates,
            episodes=self.counters.episodes,
            elapsed_seconds=self.elapsed_seconds(now),
            steps_per_second=fleet.steps_per_second if self._ended is None else 0.0,
            episode_return_mean=self._return_before if mean is None else mean,
            goal=self.settings.until_return,
            total_steps=self.settings.total_steps,
            error=self.error,
            waiting_seconds=self.waiting_seconds(now),
            beginning=beginning if self._ended is None else None,
            newest_model=self.newest_model,
            reports=reports,
            findings=self.findings,
            evaluation=self.evaluation,
            goal_reached=self.goal.reached,
            random_play=self.random_play,
            learned=self._learned_before if mean is None else self.verdict().learned,
            lesson=self.lesson(),
            ladder=self.ladder,
            parameters=self.parameters,
            description=self.description,
            game_reference=self._game,
            settings=self.settings.model_dump(mode="json"),
        )

    def lesson(self) -> LessonView | None:
        """The lesson that is played; None without lessons."""
        lessons = self._controller.lessons
        if lessons is None:
            return None
        return LessonView(
            name=lessons.lesson.name,
            number=lessons.number,
            num_lessons=len(lessons),
            agent_steps=self.counters.agent_steps,
            global_episode_index=self.counters.global_episode_index,
        )

    def metrics(
        self, learner: dict[str, float], counters: Counters, fleet: FleetView, now: float
    ) -> dict[str, float]:
        """The metrics of an update: the learner's, and what was gathered here since the last one."""
        values = self.statistics.row(learner, counters, self.elapsed_seconds(now), self.goal, fleet)
        return values | self._of_lesson()

    def metrics_so_far(self, counters: Counters, fleet: FleetView, now: float) -> dict[str, float]:
        """Metrics known of an update as it begins; resets no counts."""
        return (
            self.statistics.values(counters, self.elapsed_seconds(now), self.goal, fleet) | self._of_lesson()
        )

    def _of_lesson(self) -> dict[str, float]:
        lesson = self.lesson()
        return {} if lesson is None else {"curriculum/lesson": float(lesson.number)}

    def view_after(self, row: UpdateRow, counters: Counters, now: RunView) -> RunView:
        """The view that is committed with a row: `now` as it will be once the row is there."""
        stands = counters.model_dump(include=_COUNTED)
        return now.model_copy(update={**stands, "policy_version": row.policy_version})

    def advance(self, row: UpdateRow, counters: Counters) -> None:
        """The row is committed: from now on this is how the run stands."""
        self.counters = counters
        self.policy_version = row.policy_version

    def row(
        self,
        version: int,
        counters: Counters,
        weights_sha256: str,
        values: dict[str, float],
        now: float,
    ) -> UpdateRow:
        """The row that makes a version announceable (D1)."""
        return UpdateRow(
            update=counters.updates,
            agent_steps=counters.agent_steps,
            collected_steps=counters.collected_steps,
            seconds=self.elapsed_seconds(now),
            policy_version=version,
            checkpoint=f"checkpoints/{version}",
            weights_sha256=weights_sha256,
            # JSON has no other numbers, and a page that reads one that is not finite shows nothing at all.
            values={name: value for name, value in values.items() if math.isfinite(value)},
        )

    def events_of(self, row: UpdateRow) -> list[tuple[Kind, WireModel]]:
        """The events that tell of a committed version."""
        url = f"api/runs/{self.run_id}/policy/{row.policy_version}.onnx"
        names = policy_ids(self.settings.collection.seats)
        urls = {name: url if len(names) == 1 else f"{url}?policy={name}" for name in names}
        policy = PolicyView(policy_version=row.policy_version, agent_steps=row.agent_steps, urls=urls)
        if not row.values:
            return [("policy", policy)]
        metrics = MetricsRow(
            update=row.update, agent_steps=row.agent_steps, seconds=row.seconds, values=row.values
        )
        return [("metrics", metrics), ("policy", policy)]

    def summary(self) -> dict[str, Any]:
        """What an exported policy says of its training."""
        return {
            "run_id": self.run_id,
            "agent_steps": self.counters.agent_steps,
            "episode_return_mean": self.goal.return_mean,
            "evaluation": None if self.evaluation is None else self.evaluation.model_dump(mode="json"),
        }

    def result(self, version: int | None, export: str | None, now: float) -> RunResult:
        """How the run ended; `version`: of the export, if there is one."""
        wall_seconds = self._session_seconds(now)
        # Without a learner that got ready there are those of earlier sessions alone.
        before = self.counters.agent_steps if self._steps_before is None else self._steps_before
        steps = self.counters.agent_steps - before
        confirmed = self.goal.confirmed
        return RunResult(
            run_id=self.run_id,
            state=self.state,
            agent_steps=self.counters.agent_steps,
            updates=self.counters.updates,
            policy_version=self.policy_version if version is None else version,
            wall_seconds=wall_seconds,
            steps_per_second=steps / wall_seconds if wall_seconds > 0 else 0.0,
            episode_return_mean=self.goal.return_mean if confirmed is None else confirmed.return_mean,
            goal_reached=self.goal.reached,
            export=export,
            error=self.error,
            refused=self.refused,
            verdict=self.verdict(),
            findings=self._with_lost_workers([] if self._diagnosis is None else self._diagnosis.all_said),
            waited_seconds=self._waited_seconds,
            check=self.check,
            evaluation=self.evaluation,
            win_rate=self.win_rate,
        )

    def _session_seconds(self, now: float) -> float:
        if self._first_lease is None:
            return 0.0
        return (now if self._ended is None else self._ended) - self._first_lease
