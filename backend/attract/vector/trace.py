"""A timeline in Chrome's trace format: when games stepped and when the policy decided (opens in Perfetto)."""

from typing import Any, Final

MICROSECONDS: Final = 1e6
POLICY_TRACK: Final = "policy"


def games_track(group: int) -> str:
    """Name of the track on which a group's games step."""
    return f"games of group {group}"


class Timeline:
    """Spans on named tracks, in seconds of one monotonic clock; owned by the code that steps or decides.

    Keeps at most `max_events` spans, the first ones: a file of more opens in no viewer.
    """

    def __init__(self, *, max_events: int = 200_000) -> None:
        self._max_events = max_events
        self._tracks: dict[str, int] = {}
        self._events: list[dict[str, Any]] = []

    def span(self, track: str, name: str, start: float, end: float, **details: float) -> None:
        """Something took from `start` to `end` on a track."""
        if len(self._events) >= self._max_events:
            return
        self._events.append(
            {
                "name": name,
                "ph": "X",
                "ts": round(start * MICROSECONDS, 3),
                "dur": round((end - start) * MICROSECONDS, 3),
                "pid": 1,
                "tid": self._tracks.setdefault(track, len(self._tracks) + 1),
                "args": details,
            }
        )

    def to_json(self) -> dict[str, Any]:
        """The object that `chrome://tracing` and Perfetto read; times are microseconds.

        Source: "Trace Event Format", section "JSON Object Format", complete (`X`) and metadata (`M`) events.
        """
        names = [
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": number, "args": {"name": track}}
            for track, number in self._tracks.items()
        ]
        return {"traceEvents": [*names, *self._events], "displayTimeUnit": "ms"}
