"""The run core: hears the collection core, the learner, the disk and people; answers with effects; no I/O."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from attract.collection import effects as collecting
from attract.collection.core import CollectionCore
from attract.curriculum.controller import Action, ChangeLesson, CurriculumController, Evaluate, KeepVersion
from attract.errors import AttractError, ConfigurationError
from attract.run import effects
from attract.run.effects import Effect
from attract.run.evaluation import EvaluationRequest, Evaluations, evaluation_metrics
from attract.run.goal import Decision
from attract.run.life import LIFTED_BY_HAND, Event, PauseReason, Phase
from attract.run.progress import RunProgress
from attract.run.updates import Updates
from attract.runs.metrics import UpdateRow
from attract.schema.api import CheckView, EvaluationView, FleetView, GameReport, RunState
from attract.schema.game import GameDescription
from attract.schema.learner import Counters, Dropped, Published, Ready, Train, Trained, Warmup
from attract.schema.messages import Lease
from attract.schema.philox import derive_seed
from attract.settings.run import RunSettings

MAX_DROPPED_UPDATES: Final = 3
"""Rule P8: this many updates undone in a row pause the run."""


@dataclass(frozen=True)
class Recovered:
    """What a run's record holds when a learner comes up."""

    seconds: float = 0.0
    """The run's time at its newest row."""
    policy_version: int | None = None
    """Of the newest row; None: there is no row."""
    rows: Iterable[tuple[int, int, dict[str, float]]] = ()
    """Update, agent steps and metrics of each."""


@dataclass(frozen=True)
class _Commit:
    """A row that is being written, and what is to be announced once it is."""

    row: UpdateRow
    counters: Counters
    said: Ready | Published


class RunCore:
    """Decides what becomes of a run: when it pauses, what is announced, what is evaluated, when it is over.

    Owned by the effect runner. Every method that is an input takes `now`, monotonic seconds that never go
    back, and returns what is to be done, in order. `collection` belongs to it: what that core emits is
    brought to `collected`, and comes out again where the run has no part in it. The learner's messages come
    one at a time: the next one once the row of the one before is committed (rule D1).
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
    ) -> None:
        """`num_cores`: of this machine; `starts_untrained`: its first policy is random; `trains`: False for a
        past run that is only evaluated or exported, of which nothing is kept.
        """
        self.collection = collection
        self.progress = progress
        self.life = progress.life
        self.updates = Updates()
        self.evaluations = Evaluations()
        self.has_policy = False
        """There is a policy, and a learner that has it."""
        self.learner_is_ready = False
        """A learner has said that it has its policy, or waits for the first statistics."""
        self.sockets_refused = 0
        """For the metrics; the runner says it."""
        self.export: tuple[int | None, str | None] = (None, None)
        """Version and folder of the export, once the run has ended."""
        self._settings = settings
        self._controller = controller
        self._num_cores = num_cores
        self._starts_untrained = starts_untrained
        self._trains = trains
        self._out: list[Effect] = []
        self._pending: deque[collecting.Effect] = deque()
        self._is_absorbing = False
        self._due: list[Action] = []
        self._held: dict[int, list[Action]] = {}
        """What fell due with updates whose version is not announced yet."""
        self._awaited: tuple[int, Decision] | None = None
        """(update, what its version is for), while `PauseReason.AWAITED_VERSION` holds."""
        self._commit: _Commit | None = None
        self._train: Train | None = None
        self._was_resumed = False
        self._has_lost_policy = False
        """The learner died with a policy that another one will have."""
        self._is_aborted = False
        self._refusal: str | None = None
        """Why the disk takes nothing."""
        self._export_version: int | None = None
        self._num_exports = 0
        self._of_collection: dict[type[Any], Callable[[Any, float], None]] = {
            collecting.Send: self._sending,
            collecting.StartWarmup: self._start_warmup,
            collecting.StartUpdate: self._start_update,
            collecting.EpisodesCounted: self._episodes_counted,
            collecting.LeaseFinished: self._lease_finished,
            collecting.LeaseClosed: self._lease_closed,
            collecting.EvaluationDone: self._evaluation_done,
            collecting.GameKnown: self._game_known,
            collecting.GameBroken: self._game_broken,
            collecting.Unconfirmed: self._unconfirmed,
        }

    def fleet(self, now: float) -> FleetView:
        """Hosts and workers now."""
        view = self.collection.fleet_view(now)
        return view.model_copy(update={"sockets_refused": self.sockets_refused})

    # --- the collection core and time ---

    def collected(self, emitted: list[collecting.Effect], now: float) -> list[Effect]:
        """The collection core was told something and emitted this."""
        if self.life.is_over:
            return []
        self._absorb(emitted, now)
        return self._done(now)

    def tick(self, now: float) -> list[Effect]:
        """Time has passed."""
        return [] if self.life.is_over else self.collected(self.collection.tick(now), now)

    def look_for_workers(self, fleet: FleetView, now: float) -> list[Effect]:
        """Look whether anybody is here to play: people are told when the run begins or ceases to wait."""
        if self.progress.look_for_workers(fleet, now) and not self.life.is_ending:
            self._changed()
        return self._done(now)

    # --- the game ---

    def begin(self, description: GameDescription | None, now: float) -> list[Effect]:
        """The first input. `description`: what a run that goes on knows of its game, None: nothing."""
        if not self._trains:
            self._pause(PauseReason.NOT_TRAINING, now)
        if description is not None:
            self._describe(description, now)
        self._changed()
        return self._done(now)

    def checked(self, check: CheckView, now: float) -> list[Effect]:
        """A browser has checked the game: its findings are told; one that cannot be played ends the run."""
        if self.life.is_ending:
            return []
        self.progress.check = check.findings
        self._absorb(self.collection.game_checked(check.findings, now), now)
        for one in check.findings:
            report = GameReport(kind="check", name=one.id, text=one.text, stack=one.stack, fix=one.fix)
            self._out.append(effects.Report(report))
        if check.unplayable:
            first = next((one for one in check.findings if one.severity == "error"), None)
            self._fail("the game cannot be played" + ("" if first is None else f": {first.text}"), now)
        return self._done(now)

    # --- the learner ---

    def learner_came(self, ready: Ready, recovered: Recovered, now: float) -> list[Effect]:
        """A learner has its policy: fresh, or from the newest checkpoint (D2)."""
        if self.life.phase in (Phase.CLOSING, Phase.ENDED) or self._is_aborted:
            return []
        progress = self.progress
        progress.ready(ready, recovered.seconds)
        progress.examine_again(recovered.rows)
        if ready.needs_warmup:
            self._go_on_with(ready, now)
        elif recovered.policy_version != ready.policy_version:
            # Version 0 of a run without a warm-up, which no update made.
            row = progress.row(ready.policy_version, ready.counters, ready.weights_sha256, {}, now)
            self._write(_Commit(row, ready.counters, ready))
        else:
            self._keep(ready)
            self._go_on_with(ready, now)
        return self._done(now)

    def trained(self, trained: Trained, now: float) -> list[Effect]:
        """An update is done: the next may begin while this one's version is written."""
        if not self._is_closed and self._count(trained, now):
            self._absorb(self.collection.trained(trained, now), now)
        return self._done(now)

    def published(self, published: Published, now: float) -> list[Effect]:
        """A version is durable: its row is to be committed, then workers have it (D1)."""
        if self._is_closed:
            return []
        if self._commit is not None:
            raise RuntimeError("expected the row of the version before to be committed")
        # A learner need not have said `trained` before.
        self._count(published, now)
        update = self.updates.take(published.batch_id)
        counters, values = self.progress.counters, dict[str, float]()
        if update is not None:
            counters, values = update.counters, {**update.values, **published.metrics}
        version, sha256 = published.policy_version, published.weights_sha256
        row = self.progress.row(version, counters, sha256, values, now)
        self._write(_Commit(row, counters, published))
        return self._done(now)

    def row_committed(self, now: float) -> list[Effect]:
        """The row is safe: from now on this is how the run stands, and its version may be announced (D1)."""
        commit, self._commit = self._commit, None
        if commit is None:
            return []
        self.progress.advance(commit.row, commit.counters)
        if self._is_closed:
            return self._done(now)
        self._keep(commit.said)
        if isinstance(commit.said, Ready):
            self._go_on_with(commit.said, now)
        else:
            self._announce(commit.row, commit.said, now)
        return self._done(now)

    def row_failed(self, error: str, now: float) -> list[Effect]:
        """The row cannot be written, and that is not the disk's doing: its version is never announced."""
        self._commit = None
        return self.fail(error, now)

    def dropped(self, dropped: Dropped, now: float) -> list[Effect]:
        """An update was undone (P8): its rows are free, and three in a row pause the run."""
        train = self.updates.drop(dropped.batch_id)
        if train is not None:
            self._controller.rounds_undone(train.federated_rounds)
        pauses = dropped.consecutive >= MAX_DROPPED_UPDATES and not self.life.is_ending
        text = f"paused: {dropped.consecutive} updates in a row were undone; {dropped.reason}"
        if pauses:
            # First: else the core would begin another at once.
            self._pause(PauseReason.DROPPED_UPDATES, now, text)
        self._absorb(self.collection.dropped(dropped, now), now)
        report = GameReport(kind="update", name="UpdateDropped", text=dropped.reason, stack=None)
        self._out.append(effects.Report(report))
        if pauses:
            self._out.append(collecting.Note("paused", text))
            self._changed()
        return self._done(now)

    def learner_lost(self, now: float) -> list[Effect]:
        """The learner died; another is started. What this one had not made durable is collected anew."""
        self._has_lost_policy = self._has_lost_policy or self.has_policy
        self._forget()
        if self._is_closed:
            return []
        self._absorb(self.collection.learner_lost(now), now)
        if self._awaited is not None:
            # What was decided of its version is gone with it.
            self._awaited = None
            self._lift(now, PauseReason.AWAITED_VERSION)
        if self.life.phase is Phase.EXPORTING:
            self.life.happened(Event.LEARNER_LOST)
        return self._done(now)

    def learner_failed(self, why: str, now: float) -> list[Effect]:
        """There is no learner, and there will be none."""
        self._has_lost_policy = False
        self._forget()
        if self.life.phase is Phase.EXPORTING:
            self.life.happened(Event.LEARNER_LOST)
        was_ending = self.life.is_ending
        self._fail(why, now)
        if was_ending and not self.life.is_over:
            self.life.fail(why)
        return self._done(now)

    # --- people and the disk ---

    def pause(self, now: float) -> list[Effect]:
        """Let leases run out and give no new ones; an update under way is finished."""
        if not self.life.is_ending and PauseReason.USER not in self.life.reasons:
            self._pause(PauseReason.USER, now)
            self._changed()
        return self._done(now)

    def resume(self, now: float) -> list[Effect]:
        """Go on after `pause`, after dropped updates or after what could not be confirmed."""
        if not self.life.is_ending and self.life.reasons.intersection(LIFTED_BY_HAND):
            self._lift(now, *LIFTED_BY_HAND)
            self._changed()
        return self._done(now)

    def disk_changed(self, reason: str | None, now: float) -> list[Effect]:
        """The disk refuses writes, for this reason; None: it takes them again."""
        if self.life.is_over:
            return []
        self._refusal = reason
        if reason is not None:
            text = f"paused until the disk takes writes again: {reason}"
            self._pause(PauseReason.DISK, now, text)
        else:
            self._lift(now, PauseReason.DISK)
        if not self.life.is_ending:
            self._changed()
        return self._done(now)

    def let_in(self, identity: str, now: float) -> list[Effect]:
        """Let an identity that was left out play again. Raises: KeyError: it is not left out."""
        self._absorb(self.collection.release(identity, now), now)
        self._changed()
        return self._done(now)

    def evaluate(self, request: EvaluationRequest, now: float) -> list[Effect]:
        """Somebody asks for an evaluation; `AnswerEvaluation` follows.

        Raises: ConfigurationError: one is under way. AttractError: the run ends.
        """
        if self.life.is_ending:
            raise AttractError(f"the run ended: {self.life.error or self.life.shown}")
        if self.evaluations.is_running:
            raise ConfigurationError("an evaluation is under way", fix="wait until it is done")
        self.evaluations.add(request)
        return self._done(now)

    # --- the end ---

    def stop(self, now: float) -> list[Effect]:
        """Finish the update under way, save, export, end."""
        self._end("stopped", now)
        return self._done(now)

    def abort(self, now: float) -> list[Effect]:
        """End now: what is not durable yet is lost, nothing is exported."""
        self._is_aborted = True
        self._has_lost_policy = False
        self._forget()
        self._end("stopped", now)
        if self.life.phase in (Phase.EXPORTING, Phase.CLOSING):
            self._out.append(effects.EndLearner(at_once=True))
        return self._done(now)

    def fail(self, error: str, now: float, *, refused: bool = False) -> list[Effect]:
        """The run cannot go on: it ends, and says why; `refused`: what was asked for cannot be."""
        self._fail(error, now, refused=refused)
        return self._done(now)

    def broke(self, error: str, now: float) -> list[Effect]:
        """A fault of our own, perhaps in the middle of a decision: what is left of that is given up."""
        self._pending.clear()
        self._due.clear()
        self._is_absorbing = False
        return self.fail(error, now)

    def exported(self, attempt: int, version: int | None, folder: str | None, now: float) -> list[Effect]:
        """`ExportLast` was done: this version lies in that folder."""
        if self.life.phase is Phase.EXPORTING and attempt == self._num_exports:
            self.export, self.progress.newest_model = (version, folder), version
            self._close(Event.EXPORTED)
        return self._done(now)

    def export_failed(self, attempt: int, error: str, now: float) -> list[Effect]:
        """`ExportLast` could not be done."""
        if self.life.phase is Phase.EXPORTING and attempt == self._num_exports:
            self.progress.newest_model = None
            self.life.fail(self.life.error or error)
            self._close(Event.EXPORTED)
        return self._done(now)

    def learner_ended(self, now: float) -> list[Effect]:
        """`EndLearner` is done."""
        if self.life.phase is Phase.CLOSING:
            self._over(Event.LEARNER_ENDED)
        return self._done(now)

    def cannot_end(self, error: str, now: float) -> list[Effect]:
        """The run cannot be ended in good order."""
        if self.life.is_ending and not self.life.is_over:
            self._give_up(error)
        return self._done(now)

    # --- inside: what the collection core emits ---

    def _absorb(self, emitted: Iterable[collecting.Effect], now: float) -> None:
        """Take in what the collection core emits, in its order, before anything else is decided."""
        self._pending.extend(emitted)
        if self._is_absorbing:
            return
        self._is_absorbing = True
        while self._pending:
            effect = self._pending.popleft()
            handle = self._of_collection.get(type(effect))
            if handle is None:
                self._out.append(effect)
            else:
                handle(effect, now)
        self._is_absorbing = False

    def _done(self, now: float) -> list[Effect]:
        while self._due or self._begin_evaluation(now):
            due, self._due = self._due, []
            for action in due:
                self._act(action, now)
        self._finish()
        out, self._out = self._out, []
        return out

    def _sending(self, effect: collecting.Send, now: float) -> None:
        self._out.append(effect)
        if isinstance(effect.message, Lease):
            self.progress.leased(now)
            if self.life.phase is Phase.STARTING and effect.message.purpose == "train":
                self.life.happened(Event.LEASED)
                self._changed()

    def _start_warmup(self, effect: collecting.StartWarmup, now: float) -> None:
        shares = {name: list(rows) for name, rows in effect.rows_by_policy.items()}
        self._out.append(effects.TellLearner(Warmup(rows=list(effect.rows), rows_by_policy=shares)))

    def _start_update(self, effect: collecting.StartUpdate, now: float) -> None:
        train = self._train_message(effect.train)
        values = self.progress.metrics_so_far(train.counters, self.fleet(now), now)
        train = train.model_copy(update={"metrics": values})
        self.updates.begin(train)
        self._out.append(effects.TellLearner(train))

    def _train_message(self, train: Train) -> Train:
        """The message with what its checkpoint must know (C6, D2); said again, it is the same."""
        if self._train is None or self._train.batch_id != train.batch_id:
            rounds = self._controller.next_rounds(train.counters.global_episode_index)
            state = {**self._controller.state(), "best": self.evaluations.state()}
            if self.collection.first_versions:
                state["guests"] = dict(self.collection.first_versions)
            self._train = train.model_copy(update={"curriculum": state, "federated_rounds": rounds})
        return self._train

    def _episodes_counted(self, effect: collecting.EpisodesCounted, now: float) -> None:
        self.progress.statistics.count(effect.results)
        self._due += self._controller.count(effect.first_index, effect.results)

    def _lease_finished(self, effect: collecting.LeaseFinished, now: float) -> None:
        try:
            self.progress.statistics.lease_finished(effect.seconds)
        except Exception as error:
            self._out.append(effects.Fault("LeaseFinished", error))

    def _lease_closed(self, effect: collecting.LeaseClosed, now: float) -> None:
        try:
            self.progress.statistics.closed(effect.close)
        except Exception as error:
            self._out.append(effects.Fault("LeaseClosed", error))

    def _unconfirmed(self, effect: collecting.Unconfirmed, now: float) -> None:
        if not self.life.is_ending:
            self._pause(PauseReason.UNCONFIRMED, now, effect.text)
            self._out.append(collecting.Note("paused", effect.text))
            self._changed()

    def _game_known(self, effect: collecting.GameKnown, now: float) -> None:
        self._describe(effect.description, now)

    def _describe(self, description: GameDescription, now: float) -> None:
        known = self.progress.description
        if known is not None:
            if known != description:
                text = "the game is not the one this run was started with: its description changed"
                self._fail(text, now)
            return
        self.progress.described(
            description, num_cores=self._num_cores, starts_untrained=self._starts_untrained
        )
        try:
            self._controller.described(description)
        except ConfigurationError as error:
            self._fail(str(error), now, refused=True)
            return
        self._set_lesson(now)
        self._out.append(effects.PrepareGame(description))
        self._changed()

    def _game_broken(self, effect: collecting.GameBroken, now: float) -> None:
        report = effect.report
        self._out.append(effects.Report(report, effect.method))
        if effect.fatal:
            said = report.text if report.name == "Error" else f"{report.name}: {report.text}"
            # A worker that gave up counts the failures itself.
            self._fail(said if "the game failed" in said else f"the game failed ({report.kind}): {said}", now)

    # --- inside: versions ---

    @property
    def _is_closed(self) -> bool:
        """Whether the learner's words mean nothing any more."""
        return self._is_aborted or self.life.phase in (Phase.CLOSING, Phase.ENDED)

    def _go_on_with(self, ready: Ready, now: float) -> None:
        """Training goes on with a learner; the first of a session may bring what a checkpoint knew (D2)."""
        if self._was_resumed:
            self._controller.load_rounds(ready.curriculum)
        else:
            self._was_resumed = True
            counters = ready.counters
            try:
                self._controller.load(ready.curriculum, counters.global_episode_index, counters.agent_steps)
            except ConfigurationError as error:
                self._fail(str(error), now)
                return
            self.evaluations.load(ready.curriculum.get("best", {}))
            self.collection.first_versions.update(ready.curriculum.get("guests", {}))
            self._set_lesson(now)
        self._absorb(self.collection.learner_ready(ready, now), now)
        self.learner_is_ready = True
        self._changed()

    def _count(self, outcome: Trained | Published, now: float) -> bool:
        """Take account of an update, once; False when it is none of ours."""
        counters = self.updates.counters_after(outcome, self.progress.counters)
        if counters is None or outcome.batch_id is None:
            return False
        values = self.progress.metrics(outcome.metrics, counters, self.fleet(now), now)
        self.updates.trained(outcome.batch_id, counters, values)
        if not self.life.is_ending:
            self._judge(counters, values, now)
        return True

    def _judge(self, counters: Counters, values: Mapping[str, float], now: float) -> None:
        """An update is done: is the goal reached, or the last step? If so, no other begins."""
        self._held[counters.updates] = self._controller.committed(values, counters.agent_steps)
        decision = self.progress.goal.after_update(
            counters.updates, counters.agent_steps, is_last_lesson=self._controller.is_last_lesson
        )
        if decision == "evaluate" and self.evaluations.is_running:
            return
        if decision != "go_on" and self._awaited is None:
            # Paused, no update begins: the version to be confirmed, or the last one, stays the newest.
            self._awaited = counters.updates, decision
            self._pause(PauseReason.AWAITED_VERSION, now)

    def _write(self, commit: _Commit) -> None:
        bodies = self.progress.events_of(commit.row) if isinstance(commit.said, Published) else []
        self._commit = commit
        self._out.append(effects.CommitRow(commit.row, commit.counters, tuple(bodies)))

    def _keep(self, said: Ready | Published) -> None:
        self._out.append(effects.KeepPolicies(said.policy_version, said.onnx))
        self.progress.newest_model = said.policy_version
        self.has_policy, self._has_lost_policy = True, False

    def _announce(self, row: UpdateRow, published: Published, now: float) -> None:
        """Let workers have a committed version, and do what was decided of it."""
        for update in [update for update in self._held if update <= row.update]:
            self._due += self._held.pop(update)
        self._absorb(self.collection.published(published, now), now)
        self._out.append(effects.TellRow())
        if self._awaited is not None and self._awaited[0] == row.update:
            decision = self._awaited[1]
            self._awaited = None
            if not self.life.is_ending and decision == "evaluate":
                self._confirm(row.update, now)
            elif not self.life.is_ending:
                self._end("finished", now)
        findings = self.progress.examine(row)
        self._out += [effects.Publish("finding", finding) for finding in findings]
        if findings:
            self._changed()
        if row.values and self.evaluations.is_best_by_return(self.progress.goal.return_mean):
            # The episodes were played by the version before the one that they made.
            self._out.append(effects.MarkBest(max(0, row.policy_version - 1)))

    def _forget(self) -> None:
        """What is in the learner's hands is lost."""
        self.updates.forget()
        self.has_policy = self.learner_is_ready = False

    # --- inside: callbacks and evaluations ---

    def _act(self, action: Action, now: float) -> None:
        match action:
            case ChangeLesson():
                self._set_lesson(now)
                view = self.progress.lesson()
                if view is not None:
                    index, reason = action.global_episode_index, action.change.reason
                    told = view.model_copy(update={"global_episode_index": index, "reason": reason})
                    self._out.append(effects.Publish("lesson", told))
            case KeepVersion():
                self._out.append(effects.KeepVersion(self.progress.policy_version))
            case Evaluate():
                if self.evaluations.has("callback") or self.life.is_ending:
                    return
                for mode in action.modes:
                    deterministic, seed = mode == "deterministic", self._settings.evaluation.seed
                    request = EvaluationRequest("callback", action.episodes, deterministic, seed)
                    self.evaluations.add(request)

    def _set_lesson(self, now: float) -> None:
        controller = self._controller
        parameters = self.progress.parameters = controller.parameters()
        if parameters or controller.lesson_id is not None:
            self.collection.set_evaluation_parameters(controller.base_parameters())
            self._absorb(self.collection.set_lesson(controller.lesson_id, parameters, now), now)

    def _confirm(self, update: int, now: float) -> None:
        """The version that may have reached the goal is out: evaluate it."""
        wanted = self._settings.evaluation
        self._pause(PauseReason.CONFIRMING, now)
        self._lift(now, PauseReason.AWAITED_VERSION)
        request = EvaluationRequest("goal", wanted.episodes, wanted.deterministic, wanted.seed, update=update)
        self.evaluations.add(request)
        self._changed()

    def _begin_evaluation(self, now: float) -> bool:
        if self.life.is_ending or (request := self.evaluations.begin_next()) is None:
            return False
        seed = derive_seed(request.seed, "evaluation")
        self._absorb(
            self.collection.request_evaluation(request.episodes, request.deterministic, seed, now), now
        )
        return True

    def _evaluation_done(self, effect: collecting.EvaluationDone, now: float) -> None:
        request, view = self.evaluations.done(), effect.view
        if request is None:
            return
        self.progress.evaluation = view
        if self._trains:
            if self.evaluations.is_best(view, deterministic=self._settings.evaluation.deterministic):
                self._out.append(effects.MarkBest(view.policy_version))
            values, counters = evaluation_metrics(view), self.progress.counters
            self._controller.evaluated(values)
            self._out.append(effects.AddEvaluation(counters.updates, counters.agent_steps, values))
        if request.purpose == "asked":
            self._out.append(effects.AnswerEvaluation(request.request_id, view))
        elif request.purpose == "goal" and not self.life.is_ending:
            self._goal_evaluated(request.update, view, now)
        self._changed()

    def _goal_evaluated(self, update: int, view: EvaluationView, now: float) -> None:
        if not view.confirmed:
            text = (
                f"an evaluation of invited hosts alone came to {view.return_mean:g}: a goal is confirmed by "
                "hosts of your own; start one here with the dashboard's `Run workers in this tab`"
            )
            report = GameReport(kind="strangers", name="Unconfirmed", text=text, stack=None)
            self._out.append(effects.Report(report))
        reached = view.return_mean if view.confirmed else -math.inf
        if self.progress.goal.evaluated(update, reached) == "finish":
            self._end("finished", now, version=view.policy_version)
        else:
            self._lift(now, PauseReason.CONFIRMING)

    # --- inside: pauses and the end ---

    def _changed(self) -> None:
        self._out.append(effects.StateChanged())

    def _pause(self, reason: PauseReason, now: float, text: str | None = None) -> None:
        was_paused = bool(self.life.reasons)
        self.life.pause(reason, text)
        if not was_paused:
            self._absorb(self.collection.pause(now), now)

    def _lift(self, now: float, *reasons: PauseReason) -> None:
        was_paused = bool(self.life.reasons)
        self.life.lift(*reasons)
        if was_paused and not self.life.reasons:
            self._absorb(self.collection.resume(now), now)

    def _fail(self, error: str, now: float, *, refused: bool = False) -> None:
        if self.life.is_over:
            return
        self.progress.refused = refused
        was_ending = self.life.is_ending
        self._end("failed", now)
        self.life.fail(error, as_failed=not was_ending)

    def _end(self, outcome: RunState, now: float, *, version: int | None = None) -> None:
        """The end begins; `version`: to export, None: the newest."""
        if self.life.is_ending:
            return
        self.progress.ended(now)
        self.life.end(outcome)
        self._export_version = version
        self._absorb(self.collection.stop(now), now)

    def _finish(self) -> None:
        """Go on ending once what is under way is durable, or cannot be."""
        if self.life.phase is not Phase.FINISHING:
            return
        if self._refusal is not None and not self._is_aborted:
            self._give_up(f"ended without what could not be saved: {self._refusal}")
        elif self._is_aborted or (self.updates.is_idle and self._commit is None):
            if self.has_policy and self._trains:
                self.life.happened(Event.SAVED)
                self._num_exports += 1
                self._out.append(effects.ExportLast(self._num_exports, self._export_version))
            elif not self._has_lost_policy or not self._trains:
                self.progress.newest_model = None
                self._close(Event.NOTHING_TO_EXPORT)

    def _close(self, event: Event) -> None:
        self.life.happened(event)
        self._out.append(effects.EndLearner(at_once=self._is_aborted))

    def _give_up(self, error: str) -> None:
        self.life.fail(error)
        self._over(Event.GIVEN_UP)

    def _over(self, event: Event) -> None:
        self.life.happened(event)
        self._changed()
        self._out.append(effects.Release())
