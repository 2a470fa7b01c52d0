"""How often an identity is looked at, by what was found of it before (rule C10)."""

from attract.collection.trust.verdict import MIN_CHANCE, PROVEN, AuditStanding


def test_C10_every_segment_until_ten_agreed_then_one_in_so_many_and_never_less_than_a_twentieth() -> None:
    assert [AuditStanding(valid=count).chance for count in (0, PROVEN - 1)] == [1.0, 1.0]
    assert AuditStanding(valid=PROVEN).chance == 1 / PROVEN
    assert AuditStanding(valid=1000).chance == MIN_CHANCE
    assert AuditStanding(valid=1000, owed=1).chance == 1.0
    assert not AuditStanding(valid=PROVEN - 1).is_proven
    assert AuditStanding(valid=PROVEN).is_proven
    assert not AuditStanding(valid=PROVEN, caught="reward").is_proven
