from attract.collection.leases import Lease, LeaseBook


def issued(book: LeaseBook, now: float = 0.0) -> Lease:
    return book.issue(
        worker_id=0,
        purpose="train",
        version=0,
        first_slot=0,
        num_slots=3,
        num_segments=2,
        local=True,
        now=now,
    )


def test_C1_ids_rise_and_a_spent_lease_is_told_from_an_unknown_one() -> None:
    book = LeaseBook()
    first, second = issued(book), issued(book)
    assert second.lease_id > first.lease_id
    book.spend(first)
    assert book.get(first.lease_id) is None
    assert book.is_spent(first.lease_id)
    assert not book.is_spent(second.lease_id)
    assert not book.is_spent(second.lease_id + 1)
    assert issued(book).lease_id > second.lease_id
    assert len(book) == 2


def test_C3_silence_is_three_median_segments_but_15_seconds_at_least() -> None:
    book = LeaseBook()
    assert book.silence_seconds == 15.0
    for seconds in (2.0, 20.0, 200.0):  # of two segments each: 1, 10, 100 a segment
        lease = issued(book)
        lease.bring_to_front(0.0)
        book.played(lease, seconds)
    assert book.silence_seconds == 30.0


def test_C3_a_queued_lease_does_not_lapse_before_it_is_in_play() -> None:
    book = LeaseBook()
    lease = issued(book)
    assert book.deadline(lease) is None
    lease.bring_to_front(100.0)
    assert book.deadline(lease) == 115.0
    lease.heard_at = 110.0
    lease.bring_to_front(200.0)
    assert book.deadline(lease) == 125.0


def test_remaining_counts_what_may_still_come() -> None:
    lease = issued(LeaseBook())
    assert lease.remaining == 6
    lease.received[0, :] = True
    lease.remaining -= 3
    assert lease.remaining == 3
