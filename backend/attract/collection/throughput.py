"""Speeds as measured here: smoothed, from times that are arguments."""

import math


class DecayedRate:
    """Events per second, the last `horizon_seconds` weighing most."""

    def __init__(self, horizon_seconds: float = 5.0) -> None:
        self._horizon = horizon_seconds
        self._weight = 0.0
        self._at = 0.0
        self._since: float | None = None

    def add(self, count: float, now: float) -> None:
        """`count` events, spread over the time since the last call; the first call only starts the clock."""
        if self._since is None:
            self._since = self._at = now
            return
        passed = (now - self._at) / self._horizon
        # What came long ago has faded already: exp(-age / horizon), averaged over the time that passed.
        kept = -math.expm1(-passed) / passed if passed > 0 else 1.0
        self._weight = self._decayed(now) + kept * count
        self._at = now

    def per_second(self, now: float) -> float:
        """The rate now; falls towards 0 when nothing is added."""
        if self._since is None or now <= self._since:
            return 0.0
        covered = self._horizon * (1.0 - math.exp(-(now - self._since) / self._horizon))
        return self._decayed(now) / covered

    def _decayed(self, now: float) -> float:
        return self._weight * math.exp(-(now - self._at) / self._horizon)
