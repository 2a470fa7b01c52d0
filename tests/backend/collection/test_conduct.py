from attract.collection.conduct import Conduct


def test_hostile_03_who_stalls_again_sits_out_twice_as_long_as_it_held_others_up_then_four_times() -> None:
    conduct = Conduct()
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
