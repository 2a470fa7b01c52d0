from attract.collection.trust.verdict import FailureCount


def test_the_third_worker_per_seat_is_one_too_many() -> None:
    count = FailureCount(2)
    assert [count.add(0) for _ in range(6)] == [False] * 5 + [True]


def test_a_million_trained_steps_forgive_what_was_before() -> None:
    count = FailureCount(1)
    assert not count.add(0)
    assert not count.add(999_999)
    assert not count.add(1_999_999)
    assert not count.add(2_000_000)
    assert count.add(2_000_001)
