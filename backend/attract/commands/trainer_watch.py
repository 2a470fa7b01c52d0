"""Watches the trainer of a headless host elsewhere: reports its state, and gives up after a while."""

from dataclasses import dataclass
from typing import Final, Literal

AWAY_SECONDS: Final = 5.0
"""Without an answer for so long, the trainer counts as away; one late answer does not."""
FIRST_CONTACT_SECONDS: Final = 8.0
"""How long a trainer that has not been reached yet may take to start."""
REFUSED_SECONDS: Final = 3.0
"""A page that ended this long ago will not return: a page of an old build reloads sooner."""
NOT_LET_IN_SECONDS: Final = 10.0

Outcome = Literal["done", "refused", "gone"]


@dataclass(frozen=True)
class Problem:
    """Why a trainer does not answer."""

    text: str
    mends_itself: bool = True
    """Whether to wait helps: the trainer or the network may come back."""


@dataclass(frozen=True)
class PageStatus:
    """Status of the host page, from `window.attractHost`."""

    connected: bool
    ended: bool
    error: str | None = None
    is_done: bool = False
    """Whether it ended because the trainer dismissed it."""


class TrainerWatch:
    """Turns answers of the trainer, words of the page and time into lines and into an end; no I/O, no clock.

    Owner: `attract join`, on its event loop. Each method that hears something takes `now`, monotonic seconds,
    and returns the lines to print.
    """

    def __init__(self, address: str, *, until_gone_seconds: float | None, now: float) -> None:
        """`until_gone_seconds`: how long a trainer may be away; None: for ever, once it was reached."""
        self._address = address
        self._until_gone = until_gone_seconds
        self._reached = False
        self._silent_since: float | None = now
        self._is_away_reported = False
        self._is_wait_reported = False
        self._page: PageStatus | None = None
        self._page_since = now
        self._was_let_in = False
        self._problem: Problem | None = None
        self.outcome: Outcome | None = None
        """How it ended; None while it should stay."""
        self.reason = ""
        """The outcome's reason, one sentence."""

    @property
    def is_reached(self) -> bool:
        """Whether the trainer has ever answered."""
        return self._reached

    def refused_by_browser(self, text: str) -> None:
        """The browser will not open the page, and no wait changes that, unless it has been open before."""
        if not self._was_let_in:
            self._end("refused", text)

    def heard(self, problem: Problem | None, now: float) -> list[str]:
        """The trainer was asked how it is: None when it answered as it should."""
        if problem is None:
            return self._answered(now)
        if self._silent_since is None:
            self._silent_since = now
        self._problem = problem
        if not self._reached and not problem.mends_itself:
            self._end("refused", problem.text)
            return []
        away = now - self._silent_since
        limit = self._until_gone
        if limit is not None and away >= limit:
            self._end("gone", f"the trainer at {self._address} was away for {away:.0f} s: {problem.text}")
        elif not self._reached and limit is None and away >= FIRST_CONTACT_SECONDS:
            self._end(
                "refused",
                f"{problem.text}\n  Start the trainer first, or wait for it with --until-gone SECONDS.",
            )
        elif not self._is_away_reported and (away >= AWAY_SECONDS or not self._reached):
            self._is_away_reported = True
            return [f"trainer away, waiting: {problem.text}"]
        return []

    def page(self, status: PageStatus | None, now: float) -> list[str]:
        """Last status of the page; None: none yet."""
        if self._page != status:
            self._page, self._page_since = status, now
        if status is None:
            return []
        for_seconds = now - self._page_since
        if status.is_done:
            self._end("done", status.error or "the trainer is done")
        elif status.ended and for_seconds >= REFUSED_SECONDS:
            self._end("refused", status.error or "the trainer refused this host")
        elif status.connected:
            self._is_wait_reported = False
            if not self._was_let_in:
                self._was_let_in = True
                return [f"joined {self._address}"]
        elif self._silent_since is None and for_seconds >= NOT_LET_IN_SECONDS and not self._is_wait_reported:
            self._is_wait_reported = True
            why = "" if status.error is None else f": {status.error}"
            return [f"the trainer answers, but has not accepted this host yet; trying again{why}"]
        return []

    def _answered(self, now: float) -> list[str]:
        away = 0.0 if self._silent_since is None else now - self._silent_since
        was_reported = self._is_away_reported
        self._silent_since, self._is_away_reported, self._reached = None, False, True
        if was_reported:
            # What the page said while the trainer was away is no refusal.
            self._page_since = now
        return [f"back after {away:.0f} s"] if was_reported else []

    def _end(self, outcome: Outcome, reason: str) -> None:
        if self.outcome is None:
            self.outcome, self.reason = outcome, reason
