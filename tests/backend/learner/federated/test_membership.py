from attract.learner.federated.averaging import Lineage
from attract.learner.federated.membership import Entry, Membership, Posting, in_words, of_one_lineage

LOST, LIMIT = 15.0, 600.0


def posting(rank: int, meeting: int = 7, rounds: int = 5, mark: str = "a") -> Posting:
    return Posting(rank, meeting, f"name-{rank}", 1, Lineage(rounds, mark))


def roll(rank: int = 0) -> Membership:
    return Membership(rank, 7, LOST, LIMIT, now=100.0)


def test_one_that_lives_is_waited_for_until_the_limit():
    one = roll()
    for second in range(0, 600, 10):
        call = one.call({0: Entry(5, posting(0), None), 1: Entry(1 + second, None, None)}, 100.0 + second)
        assert (call.missing, dict(call.given_up)) == ((1,), {})
    call = one.call({0: Entry(5, posting(0), None), 1: Entry(999, None, None)}, 700.0)
    assert call.missing == ()
    assert dict(call.given_up) == {1: "it did not join within 600 s"}


def test_scale_12_one_that_is_silent_is_given_up_after_a_while():
    one = roll()
    entries = {0: Entry(5, posting(0), None), 1: Entry(44, posting(1, meeting=6), None)}
    assert one.call(entries, 100.0).missing == (1,)
    assert one.call(entries, 114.9).missing == (1,)
    assert dict(one.call(entries, 115.0).given_up) == {1: "no heartbeat for 15 s"}


def test_one_that_never_came_to_this_board_may_still_be_starting():
    one = roll()
    entries = {0: Entry(5, posting(0), None), 1: Entry(0, None, None)}
    one.call(entries, 100.0)
    assert one.call(entries, 699.0).missing == (1,)
    assert 1 in one.call(entries, 700.0).given_up


def test_a_lost_trainer_is_not_awaited_and_a_late_one_is_present():
    one = roll()
    call = one.call({0: Entry(5, posting(0), None), 1: Entry(1, None, "its run has ended")}, 100.0)
    assert (call.missing, [each.rank for each in call.present]) == ((), [0])
    call = one.call({0: Entry(5, posting(0), None), 1: Entry(1, posting(1), "it did not come")}, 101.0)
    assert [each.rank for each in call.present] == [0, 1]


def test_the_first_who_lives_makes_the_result():
    one = roll(rank=2)

    def entries(beat: int) -> dict[int, Entry]:
        beats = {0: beat, 1: 3, 2: beat}
        return {rank: Entry(beats[rank], posting(rank), None) for rank in (0, 1, 2)}

    assert one.call(entries(1), 100.0).coordinator == 0
    assert one.call(entries(2), 116.0).coordinator == 0
    # Trainer 0 posted its share and died.
    assert one.call(entries(2), 130.0).coordinator == 0
    assert one.call(entries(2), 131.0).coordinator == 2


def test_only_shares_of_one_lineage_are_averaged():
    ahead, behind = posting(1, rounds=9, mark="b"), [posting(0), posting(2)]
    assert of_one_lineage([behind[0], ahead, behind[1]]) == [ahead]
    # As far, apart: what most have counts, then what the first has.
    assert of_one_lineage([posting(0, mark="x"), posting(1), posting(2)]) == [posting(1), posting(2)]
    assert of_one_lineage([posting(0, mark="x"), posting(1, mark="y")]) == [posting(0, mark="x")]


def test_trainers_in_words():
    assert (in_words([1]), in_words([2, 0])) == ("trainer 1", "trainers 0, 2")
