"""Where a baseline's time goes, by a clock of the test's own."""

import pytest

from attract_benchmarks.baselines import stopwatch
from attract_benchmarks.baselines.stopwatch import Stopwatch


class Clock:
    now = 100.0

    def perf_counter(self) -> float:
        return self.now


def test_each_call_counts_to_its_part_even_one_that_breaks(monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    monkeypatch.setattr(stopwatch, "time", clock)
    watch = Stopwatch()

    def work(seconds: float, *, fails: bool = False) -> float:
        clock.now += seconds
        if fails:
            raise ValueError
        return seconds

    play, learn = watch.timed("games", work), watch.timed("learning", work)
    assert play(2.0) == 2.0
    learn(5.0)
    with pytest.raises(ValueError):
        play(1.0, fails=True)
    assert watch.seconds_of == {"games": 3.0, "learning": 5.0}
    clock.now += 4.0
    assert watch.seconds == 12.0
