"""A bound on how fast something may come: a steady rate with room for bursts."""


class TokenBucket:
    """Holds at most `burst` tokens, gains `per_second` of them. Owned by one socket; time is an argument."""

    def __init__(self, per_second: float, burst: float, now: float) -> None:
        """Full at `now`, monotonic seconds."""
        self._per_second = per_second
        self._burst = burst
        self._tokens = burst
        self._filled_at = now

    def take(self, tokens: float, now: float) -> bool:
        """Take `tokens`; False if there are fewer, and then nothing is taken."""
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._per_second)
        self._filled_at = now
        if tokens > self._tokens:
            return False
        self._tokens -= tokens
        return True
