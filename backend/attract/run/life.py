"""Where a run stands in its life: one phase, one table of transitions, a set of reasons for being paused."""

from enum import Enum
from typing import Final

from attract.schema.api import RunState


class Phase(Enum):
    """A run is in one of these at any time."""

    STARTING = "starting"
    """No lease for training was issued yet."""
    TRAINING = "training"
    FINISHING = "finishing"
    """The end has begun: updates under way are finished and made durable."""
    EXPORTING = "exporting"
    """The last durable version is written out."""
    CLOSING = "closing"
    """The learner ends."""
    ENDED = "ended"


class Event(Enum):
    """What moves a run from one phase to another."""

    LEASED = "leased"
    """A worker got its first lease for training."""
    END = "end"
    """Its goal or its last step is reached, a person stops it, or it cannot go on."""
    SAVED = "saved"
    """No update is under way any more, and there is a version to export."""
    NOTHING_TO_EXPORT = "nothing_to_export"
    EXPORTED = "exported"
    """The export is written, or was refused."""
    LEARNER_LOST = "learner_lost"
    """The learner died over the export; another one will write it."""
    LEARNER_ENDED = "learner_ended"
    GIVEN_UP = "given_up"
    """It cannot even end in good order."""


TRANSITIONS: Final = {
    (Phase.STARTING, Event.LEASED): Phase.TRAINING,
    (Phase.STARTING, Event.END): Phase.FINISHING,
    (Phase.TRAINING, Event.END): Phase.FINISHING,
    (Phase.FINISHING, Event.SAVED): Phase.EXPORTING,
    (Phase.FINISHING, Event.NOTHING_TO_EXPORT): Phase.CLOSING,
    (Phase.FINISHING, Event.GIVEN_UP): Phase.ENDED,
    (Phase.EXPORTING, Event.EXPORTED): Phase.CLOSING,
    (Phase.EXPORTING, Event.LEARNER_LOST): Phase.FINISHING,
    (Phase.EXPORTING, Event.GIVEN_UP): Phase.ENDED,
    (Phase.CLOSING, Event.LEARNER_ENDED): Phase.ENDED,
    (Phase.CLOSING, Event.GIVEN_UP): Phase.ENDED,
}


class PauseReason(Enum):
    """Why no lease for training is given and no update begins; several may hold at once."""

    USER = "user"
    DISK = "disk"
    """It refuses writes, so that no version can be made durable."""
    DROPPED_UPDATES = "dropped_updates"
    """Rule P8: several in a row were undone."""
    UNCONFIRMED = "unconfirmed"
    """Rule C7: nothing that the learner computed again could be confirmed, for any worker."""
    AWAITED_VERSION = "awaited_version"
    """The goal or the last step is reached; that version is not durable yet."""
    CONFIRMING = "confirming"
    """An evaluation decides whether the goal is reached."""
    NOT_TRAINING = "not_training"
    """A past run that is only evaluated or exported."""


LIFTED_BY_HAND: Final = (PauseReason.USER, PauseReason.DROPPED_UPDATES, PauseReason.UNCONFIRMED)
"""A person who resumes the run lifts these; the others hold until what caused them is over."""
SHOWN_AS_PAUSED: Final = frozenset({*LIFTED_BY_HAND, PauseReason.DISK})
"""The others are the run's own business, and no pause to people."""


class Life:
    """The one state of a run; changed by the run core alone. Does no I/O."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self._reasons: dict[PauseReason, str | None] = {}
        self._outcome: RunState = "stopped"
        self._shown_at_end: RunState = "starting"
        self._error: str | None = None

    @property
    def reasons(self) -> frozenset[PauseReason]:
        """Why it is paused; empty: it is not."""
        return frozenset(self._reasons)

    @property
    def is_ending(self) -> bool:
        """Whether its end has begun."""
        return self.phase not in (Phase.STARTING, Phase.TRAINING)

    @property
    def is_over(self) -> bool:
        """Whether nothing is decided any more."""
        return self.phase is Phase.ENDED

    @property
    def shown(self) -> RunState:
        """As people are told it; while it ends it is told as before, until it has ended."""
        if self.phase is Phase.ENDED:
            return self._outcome
        if self.is_ending:
            return self._shown_at_end
        if SHOWN_AS_PAUSED & self._reasons.keys():
            return "paused"
        if PauseReason.CONFIRMING in self._reasons:
            return "evaluating"
        return "running" if self.phase is Phase.TRAINING else "starting"

    @property
    def error(self) -> str | None:
        """Why it failed; else why it was paused last, of what still pauses it."""
        texts = [text for text in self._reasons.values() if text is not None]
        return self._error if self.is_ending or not texts else texts[-1]

    def happened(self, event: Event) -> None:
        """Move to the next phase. Raises: RuntimeError: this cannot happen in this phase."""
        after = TRANSITIONS.get((self.phase, event))
        if after is None:
            raise RuntimeError(f"expected no {event.name} of a run that is {self.phase.name}")
        self.phase = after

    def pause(self, reason: PauseReason, text: str | None = None) -> None:
        """One reason more for being paused, with a sentence for people; or its new sentence."""
        self._reasons.pop(reason, None)
        self._reasons[reason] = text

    def lift(self, *reasons: PauseReason) -> None:
        """These hold no longer."""
        for reason in reasons:
            self._reasons.pop(reason, None)

    def end(self, outcome: RunState) -> None:
        """The end begins; `outcome`: the state that the run ends in."""
        shown, error = self.shown, self.error
        self.happened(Event.END)
        self._shown_at_end, self._error, self._outcome = shown, error, outcome

    def fail(self, error: str, *, as_failed: bool = True) -> None:
        """It ends, or ended, with this error; `as_failed`: and failed by it."""
        self._error = error
        if as_failed:
            self._outcome = "failed"
