"""How much of a batch each worker is asked for (rule C4)."""

from typing import Final

LARGEST_SHARE: Final = 4
"""No worker is asked for more than this many times the usual segments under one lease."""


def segments_by_speed(usual: int, speed: float | None, speeds: list[float]) -> int:
    """Segments per slot for a worker, so that fast and slow ones finish a lease together (rule C4).

    Slots never change (rule S1), so a share is a whole number of segments of each slot, at least 1.

    Args:
        usual: segments per slot for a worker of mean speed, >= 1.
        speed: steps per second of this worker, > 0; None when not measured yet: it gets the usual.
        speeds: those of all measured workers of the fleet.

    Returns: segments per slot, in [1, 4 x usual].
    """
    if speed is None or not speeds:
        return usual
    mean = sum(speeds) / len(speeds)
    return max(1, min(LARGEST_SHARE * usual, round(usual * speed / mean)))
