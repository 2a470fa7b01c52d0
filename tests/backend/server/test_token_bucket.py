from attract.server.quiet_log import TokenBucket


def test_a_burst_is_let_through_and_then_the_steady_rate():
    bucket = TokenBucket(per_second=10, burst=3, now=100.0)
    assert [bucket.take(1, 100.0) for _ in range(4)] == [True, True, True, False]
    assert not bucket.take(1, 100.09)
    assert bucket.take(1, 100.11)
    assert not bucket.take(1, 100.11)


def test_a_long_silence_saves_up_no_more_than_a_burst():
    bucket = TokenBucket(per_second=10, burst=3, now=0.0)
    assert not bucket.take(4, 1000.0)
    assert bucket.take(3, 1000.0)
    assert not bucket.take(1, 1000.0)
