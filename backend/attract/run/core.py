"""The run core: hears the collection core, the learner, the disk and people; answers with effects; no I/O."""

from attract.collection import effects as collecting
from attract.collection.core import CollectionCore
from attract.curriculum.controller import CurriculumController
from attract.errors import AttractError, ConfigurationError
from attract.run import callbacks, collection_effects, effects, ending, versions
from attract.run.core_state import CoreState, Recovered
from attract.run.effects import Effect
from attract.run.evaluation import EvaluationRequest
from attract.run.life import LIFTED_BY_HAND, Life, PauseReason
from attract.run.progress import RunProgress
from attract.schema.api import CheckView, FleetView, GameReport, RandomPlay
from attract.schema.game import GameDescription
from attract.schema.learner import Dropped, Published, Ready, Trained
from attract.settings.run import RunSettings


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
        leads: bool = True,
    ) -> None:
        """`num_cores`: of this machine; `starts_untrained`: its first policy is random; `trains`: False for a
        past run that is only evaluated or exported, of which nothing is kept; `leads`: False for a cell that
        leaves lessons, evaluations, the goal and the end to cell 0.
        """
        self._state = CoreState(
            settings,
            collection,
            controller,
            progress,
            collection_effects.HANDLERS,
            num_cores=num_cores,
            starts_untrained=starts_untrained,
            trains=trains,
            leads=leads,
        )

    # --- views ---

    @property
    def collection(self) -> CollectionCore:
        """The core that decides who plays what."""
        return self._state.collection

    @property
    def progress(self) -> RunProgress:
        """How far the run is."""
        return self._state.progress

    @property
    def life(self) -> Life:
        """Its phase, and why it is paused."""
        return self._state.life

    @property
    def has_policy(self) -> bool:
        """Whether there is a policy, and a learner that has it."""
        return self._state.has_policy

    @property
    def learner_is_ready(self) -> bool:
        """Whether a learner has said that it has its policy, or waits for the first statistics."""
        return self._state.learner_is_ready

    @property
    def num_dropped(self) -> int:
        """Updates that were undone (rule P8)."""
        return self._state.updates.num_dropped

    @property
    def export(self) -> tuple[int | None, str | None]:
        """Version and folder of the export that ended the run; None without one."""
        return self._state.export

    def sockets_refused(self, number: int) -> None:
        """How many sockets were refused so far, for the metrics."""
        self._state.sockets_refused = number

    # --- the collection core and time ---

    def collected(self, emitted: list[collecting.Effect], now: float) -> list[Effect]:
        """The collection core was told something and emitted this."""
        if self._state.life.is_over:
            return []
        self._state.absorb(emitted, now)
        return self._done(now)

    def tick(self, now: float) -> list[Effect]:
        """Time has passed."""
        return [] if self._state.life.is_over else self.collected(self._state.collection.tick(now), now)

    def look_for_workers(self, fleet: FleetView, now: float) -> list[Effect]:
        """Look whether anybody is here to play: people are told when the run begins or ceases to wait."""
        if self._state.progress.look_for_workers(fleet, now) and not self._state.life.is_ending:
            self._state.changed()
        return self._done(now)

    # --- the game ---

    def begin(
        self, description: GameDescription | None, now: float, *, is_same_module: bool = False
    ) -> list[Effect]:
        """The first input.

        `description`: what a run that goes on knows of its game, None: nothing. `is_same_module`: it is what
        this very module said, so that no browser need be asked again.
        """
        if not self._state.trains:
            self._state.pause(PauseReason.NOT_TRAINING, now)
        if description is not None:
            collection_effects.describe(self._state, description, now)
            if is_same_module and not self._state.life.is_ending:
                self._state.absorb(self._state.collection.know(description, now), now)
        self._state.changed()
        return self._done(now)

    def checked(self, check: CheckView, now: float) -> list[Effect]:
        """A browser has checked the game: its findings are told; one that cannot be played ends the run."""
        if self._state.life.is_ending:
            return []
        self._state.progress.check = check.findings
        self._state.absorb(self._state.collection.game_checked(check.findings, now), now)
        for finding in check.findings:
            report = GameReport(
                kind="check", name=finding.id, text=finding.text, stack=finding.stack, fix=finding.fix
            )
            self._state.out.append(effects.Report(report))
        if check.unplayable:
            first = next((finding for finding in check.findings if finding.severity == "error"), None)
            self._state.fail("the game cannot be played" + ("" if first is None else f": {first.text}"), now)
        return self._done(now)

    def played_at_random(self, play: RandomPlay, now: float) -> list[Effect]:
        """A browser has measured random play, or an earlier session had it measured."""
        self._state.progress.played_at_random(play)
        if not self._state.life.is_ending:
            self._state.changed()
        return self._done(now)

    # --- the learner ---

    def learner_came(self, ready: Ready, recovered: Recovered, now: float) -> list[Effect]:
        """A learner has its policy: fresh, or from the newest checkpoint (D2)."""
        versions.learner_came(self._state, ready, recovered, now)
        return self._done(now)

    def trained(self, trained: Trained, now: float) -> list[Effect]:
        """An update is done: the next may begin while this one's version is written."""
        versions.trained(self._state, trained, now)
        return self._done(now)

    def published(self, published: Published, now: float) -> list[Effect]:
        """A version is durable: its row is to be committed, then workers have it (D1)."""
        versions.published(self._state, published, now)
        return self._done(now)

    def row_committed(self, now: float) -> list[Effect]:
        """The row of `CommitRow` is safe: its version may be announced."""
        versions.row_committed(self._state, now)
        return self._done(now)

    def row_failed(self, error: str, now: float) -> list[Effect]:
        """The row cannot be written, and that is not the disk's doing: its version is never announced."""
        versions.row_failed(self._state, error, now)
        return self._done(now)

    def dropped(self, dropped: Dropped, now: float) -> list[Effect]:
        """An update was undone (P8): its rows are free, and three in a row pause the run."""
        versions.dropped(self._state, dropped, now)
        return self._done(now)

    def group_ended(self, now: float) -> list[Effect]:
        """Cell 0 has ended the run of all cells: this one ends with it, of whatever it had collected."""
        if not self._state.life.is_ending:
            self._state.updates.drop_untrained()
            self._state.end("finished", now)
        return self._done(now)

    def learner_lost(self, now: float) -> list[Effect]:
        """The learner died; another is started. What this one had not made durable is collected anew."""
        versions.learner_lost(self._state, now)
        return self._done(now)

    def learner_failed(self, why: str, now: float) -> list[Effect]:
        """There is no learner, and there will be none."""
        versions.learner_failed(self._state, why, now)
        return self._done(now)

    # --- people and the disk ---

    def pause(self, now: float) -> list[Effect]:
        """Let leases run out and give no new ones; an update under way is finished."""
        state = self._state
        if not state.life.is_ending and PauseReason.USER not in state.life.reasons:
            state.pause(PauseReason.USER, now)
            state.changed()
        return self._done(now)

    def resume(self, now: float) -> list[Effect]:
        """Go on after `pause`, after dropped updates or after what could not be confirmed."""
        if not self._state.life.is_ending and self._state.life.reasons.intersection(LIFTED_BY_HAND):
            self._state.lift(now, *LIFTED_BY_HAND)
            self._state.changed()
        return self._done(now)

    def disk_changed(self, reason: str | None, now: float) -> list[Effect]:
        """The disk refuses writes, for this reason; None: it takes them again."""
        if self._state.life.is_over:
            return []
        self._state.refusal = reason
        if reason is not None:
            text = f"paused until the disk takes writes again: {reason}"
            self._state.pause(PauseReason.DISK, now, text)
        else:
            self._state.lift(now, PauseReason.DISK)
        if not self._state.life.is_ending:
            self._state.changed()
        return self._done(now)

    def let_in(self, identity: str, now: float) -> list[Effect]:
        """Let an identity that was left out play again. Raises: KeyError: it is not left out."""
        self._state.absorb(self._state.collection.release(identity, now), now)
        self._state.changed()
        return self._done(now)

    def evaluate(self, request: EvaluationRequest, now: float) -> list[Effect]:
        """Somebody asks for an evaluation; `AnswerEvaluation` follows.

        Raises: ConfigurationError: one is under way. AttractError: the run ends.
        """
        if self._state.life.is_ending:
            raise AttractError(f"the run ended: {self._state.life.error or self._state.life.shown}")
        if self._state.evaluations.is_running:
            raise ConfigurationError("an evaluation is under way", fix="wait until it is done")
        self._state.evaluations.add(request)
        return self._done(now)

    # --- the end ---

    def stop(self, now: float) -> list[Effect]:
        """Finish the update under way, save, export, end."""
        self._state.end("stopped", now)
        return self._done(now)

    def abort(self, now: float) -> list[Effect]:
        """End now: what is not durable yet is lost, nothing is exported."""
        ending.abort(self._state, now)
        return self._done(now)

    def fail(self, error: str, now: float, *, refused: bool = False) -> list[Effect]:
        """The run cannot go on: it ends, and says why; `refused`: what was asked for cannot be."""
        self._state.fail(error, now, refused=refused)
        return self._done(now)

    def broke(self, error: str, now: float) -> list[Effect]:
        """A fault of our own, perhaps in the middle of a decision: what is left of that is given up."""
        self._state.pending.clear()
        self._state.due.clear()
        self._state.fail(error, now)
        return self._done(now)

    def exported(self, attempt: int, version: int | None, folder: str | None, now: float) -> list[Effect]:
        """`ExportLast` was done: this version lies in that folder."""
        ending.exported(self._state, attempt, version, folder, now)
        return self._done(now)

    def export_failed(self, attempt: int, error: str, now: float) -> list[Effect]:
        """`ExportLast` could not be done."""
        ending.export_failed(self._state, attempt, error, now)
        return self._done(now)

    def learner_ended(self, now: float) -> list[Effect]:
        """`EndLearner` is done."""
        ending.learner_ended(self._state, now)
        return self._done(now)

    def cannot_end(self, error: str, now: float) -> list[Effect]:
        """The run cannot be ended in good order."""
        ending.cannot_end(self._state, error, now)
        return self._done(now)

    def _done(self, now: float) -> list[Effect]:
        while self._state.due or callbacks.begin_evaluation(self._state, now):
            due, self._state.due = self._state.due, []
            for action in due:
                callbacks.act(self._state, action, now)
        ending.finish(self._state)
        out, self._state.out = self._state.out, []
        return out
