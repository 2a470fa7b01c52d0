from attract.collection.reports import FailureCount, report_of
from attract.schema.messages import GameFailed, Seed


def test_a_report_keeps_what_a_person_needs_to_see_it_again() -> None:
    message = GameFailed(
        run_id="run-1",
        kind="throw",
        name="RangeError",
        text="out of the board",
        stack="at update (snake.ts:12)",
        slot_id=7,
        instance_id=7,
        episode=3,
        tick=1000,
        seed=Seed(low=0xABCDEF01, high=0x23456789),
    )
    report = report_of(message, "a" * 32, 2)
    assert (report.seed, report.slot_id, report.tick, report.worker_index) == ("23456789abcdef01", 7, 1000, 2)
    assert report.stack == "at update (snake.ts:12)"


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
