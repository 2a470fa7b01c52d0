from attract.commands.ci import is_known
from attract.playtest.report import Finding


def finding(name: str, text: str) -> Finding:
    return Finding(id=name, oracle=name, text=text)  # type: ignore[arg-type]


def test_what_the_baseline_has_is_known_by_its_text_without_numbers() -> None:
    known = {("error", "x is # in cell #")}
    assert is_known(finding("error", "x is 3 in cell 12"), known)
    assert not is_known(finding("error", "y is 3 in cell 12"), known)
    assert not is_known(finding("nan", "x is 3 in cell 12"), known)


def test_a_restart_that_leaves_something_behind_is_known_in_every_form() -> None:
    known = {("retry-broken", "episode #: observation[#] is # instead of #")}
    assert is_known(finding("retry-broken", "episode 4: it is over"), known)
    assert not is_known(finding("retry-broken", "episode 4: it is over"), set())
