from attract.learner.group.attendance import Attendance, Entry, Posting, of_one_lineage, take_attendance
from attract.learner.group.shares import Lineage


def posting(rank: int, number: int = 7, rounds: int = 5, mark: str = "a") -> Posting:
    return Posting(rank, number, f"name-{rank}", Lineage(rounds, mark))


def look(
    entries: dict[int, Entry], waited: float = 0.0, silent: tuple[int, ...] = (), rank: int = 0
) -> Attendance:
    return take_attendance(
        rank, 7, entries, silent, lost_seconds=15.0, timeout_seconds=600.0, waited_seconds=waited
    )


def test_one_that_lives_is_waited_for_until_the_limit():
    entries = {0: Entry(posting(0), None), 1: Entry(None, None)}
    seen = look(entries, waited=599.0)
    assert (seen.missing, dict(seen.given_up)) == ((1,), {})
    seen = look(entries, waited=600.0)
    assert (seen.missing, dict(seen.given_up)) == ((), {1: "it did not join within 600 s"})


def test_scale_12_one_that_is_silent_is_given_up():
    entries = {0: Entry(posting(0), None), 1: Entry(posting(1, number=6), None)}
    assert look(entries).missing == (1,)
    assert dict(look(entries, silent=(1,)).given_up) == {1: "no heartbeat for 15 s"}


def test_a_lost_trainer_is_not_awaited_and_a_late_one_is_present():
    seen = look({0: Entry(posting(0), None), 1: Entry(None, "its run has ended")})
    assert (seen.missing, [each.rank for each in seen.present]) == ((), [0])
    seen = look({0: Entry(posting(0), None), 1: Entry(posting(1), "it did not come")})
    assert [each.rank for each in seen.present] == [0, 1]


def test_the_first_who_lives_makes_the_result():
    entries = {rank: Entry(posting(rank), None) for rank in (0, 1, 2)}
    assert look(entries, rank=2).coordinator == 0
    # Trainers 0 and 1 posted their shares and died.
    assert look(entries, rank=2, silent=(0, 1)).coordinator == 2
    # One that looks lives, whatever it has seen of itself.
    assert look(entries, rank=0, silent=(0, 1)).coordinator == 0


def test_only_shares_of_one_lineage_are_averaged():
    ahead, behind = posting(1, rounds=9, mark="b"), [posting(0), posting(2)]
    assert of_one_lineage([behind[0], ahead, behind[1]]) == [ahead]
    # As far, apart: what most have counts, then what the first has.
    assert of_one_lineage([posting(0, mark="x"), posting(1), posting(2)]) == [posting(1), posting(2)]
    assert of_one_lineage([posting(0, mark="x"), posting(1, mark="y")]) == [posting(0, mark="x")]
