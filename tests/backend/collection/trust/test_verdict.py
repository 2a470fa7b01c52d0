"""What is found of an identity: how often it is looked at, its conduct and its failures (rule C10)."""

from attract.collection.trust.verdict import MIN_CHANCE, PROVEN, AuditStanding, Conduct, FailureCount


def test_C10_every_segment_until_ten_agreed_then_one_in_so_many_and_never_less_than_a_twentieth() -> None:
    assert [AuditStanding(valid=count).chance for count in (0, PROVEN - 1)] == [1.0, 1.0]
    assert AuditStanding(valid=PROVEN).chance == 1 / PROVEN
    assert AuditStanding(valid=1000).chance == MIN_CHANCE
    assert AuditStanding(valid=1000, owed=1).chance == 1.0
    assert not AuditStanding(valid=PROVEN - 1).is_proven
    assert AuditStanding(valid=PROVEN).is_proven
    assert not AuditStanding(valid=PROVEN, caught="reward").is_proven


def test_hostile_03_who_stalls_again_sits_out_twice_as_long_as_it_held_others_up_then_four_times() -> None:
    conduct = Conduct()
    conduct.played("liar", 0.0)
    conduct.played("honest", 1.0)
    assert conduct.stalled("liar", since=0.0, now=15.0) is None
    conduct.played("honest", 20.0)
    assert conduct.stalled("liar", since=16.0, now=31.0) == 30.0
    assert conduct.is_out("liar", 60.9)
    assert conduct.next_return() == 61.0
    assert not conduct.is_out("liar", 61.0)
    assert conduct.next_return() is None
    conduct.played("honest", 70.0)
    assert conduct.stalled("liar", since=61.0, now=76.0) == 60.0
    conduct.finished("liar")
    conduct.played("honest", 90.0)
    assert conduct.stalled("liar", since=80.0, now=95.0) is None, "a lease played to its end forgives"


def test_hostile_03_where_nobody_played_nobody_is_to_blame() -> None:
    conduct = Conduct()
    conduct.played("other", 1.0)
    for now in (20.0, 40.0, 60.0):
        assert conduct.stalled("one", since=now - 15.0, now=now) is None
        assert not conduct.is_out("one", now)


def test_hostile_03_nobody_sits_out_for_more_than_ten_minutes_or_ten_times_as_long_as_it_held_others_up() -> (
    None
):
    conduct, now = Conduct(), 0.0
    conduct.played("liar", 0.0)
    for expected in (None, 80.0, 160.0, 320.0, 600.0, 600.0):
        conduct.played("honest", now + 20.0)
        assert conduct.stalled("liar", since=now, now=now + 40.0) == expected
        now += 1000.0
    conduct.played("honest", now + 50.0)
    assert conduct.stalled("liar", since=now, now=now + 900.0) == 9000.0


def test_hostile_D5_C3_who_has_never_played_sits_out_from_the_first_stall_on() -> None:
    conduct = Conduct()
    conduct.played("honest", 1.0)
    assert conduct.stalled("liar", since=0.0, now=60.0) == 240.0
    conduct.played("honest", 310.0)
    assert conduct.stalled("liar", since=300.0, now=315.0) == 480.0, "by its longest, not its last"


def test_hostile_D4_two_frames_that_cannot_be_read_are_enough() -> None:
    conduct = Conduct()
    assert conduct.unreadable_message("liar", 0.0, "names") is None
    assert not conduct.is_out("liar", 0.0)
    assert conduct.unreadable_message("liar", 1.0, "names") == "it sent messages that cannot be read: names"
    assert conduct.is_out("liar", 1.0)


def test_hostile_07_whose_time_is_over_begins_anew_and_each_ban_takes_twice_the_time() -> None:
    conduct = Conduct()
    assert conduct.leave_out("liar", "it lied", 0.0) == "it lied"
    assert conduct.is_out("liar", 299.9)
    assert not conduct.is_out("liar", 300.0)
    assert conduct.reason("liar") is None
    assert conduct.wrong_message("liar", 310.0, "a lie") is None
    assert conduct.leave_out("liar", "it lied", 310.0) == "it lied"
    assert conduct.is_out("liar", 909.9)
    assert not conduct.is_out("liar", 910.0)


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
