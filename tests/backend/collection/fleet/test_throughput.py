import pytest

from attract.collection.fleet import DecayedRate


def test_a_steady_stream_is_measured_exactly_from_the_start() -> None:
    rate = DecayedRate(5.0)
    for second in range(11):
        rate.add(100.0, float(second))
    # 100 a second, the first only started the clock
    assert rate.per_second(10.0) == pytest.approx(100.0, rel=0.11)


def test_it_falls_when_nothing_comes() -> None:
    rate = DecayedRate(5.0)
    for second in range(100):
        rate.add(100.0, float(second))
    assert rate.per_second(99.0 + 50.0) < 0.01


def test_nothing_was_measured_yet() -> None:
    rate = DecayedRate()
    assert rate.per_second(5.0) == 0.0
    rate.add(100.0, 5.0)
    assert rate.per_second(5.0) == 0.0


def test_what_comes_rarely_is_spread_over_the_time_that_it_took() -> None:
    rate = DecayedRate(5.0)
    rate.add(0.0, 100.0)
    for seconds in (130.0, 160.0):
        rate.add(240.0, seconds)
        # 240 in 30 s, be they the first
        assert rate.per_second(seconds) == pytest.approx(8.0)
