"""Decisions have a number each, and what one overtakes or goes on from says so as well."""

import re
from pathlib import Path

import pytest

from check_rules import ROOT

PAGES = {int(path.name[:4]): path for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))}
NEVER_GIVEN = {38, 39, 44, 49, 50}
"""Numbers that branches had set aside and did not need; no page was ever called so."""
MERGED = {10: 16, 13: 16, 25: 64, 51: 64, 59: 62}
"""Numbers of pages that were merged into a later one, with its number."""
MAX_LINES = 60
REFERENCE = re.compile(r"\[(\d{4})\]\((\d{4})-[a-z0-9-]+\.md\)")
MENTION = re.compile(r"\]\((\d{4}-[a-z0-9-]+\.md)\)|(?<![\d.,])(00\d\d)\b(?!-)")


def neighbours(page: Path) -> set[int]:
    """The decisions that a page's third line names: which it overtakes or goes on from, or the other way."""
    return {int(number) for number, _ in REFERENCE.findall(page.read_text().splitlines()[2])}


def test_no_number_is_given_twice_or_left_out() -> None:
    assert len(PAGES) == len(list((ROOT / "docs" / "decisions").iterdir()))
    gone = NEVER_GIVEN | MERGED.keys()
    assert set(PAGES) | gone == set(range(1, max(PAGES) + 1))
    assert not set(PAGES) & gone
    assert set(MERGED.values()) <= set(PAGES)


@pytest.mark.parametrize("number", PAGES)
def test_a_decision_begins_with_its_number_and_its_date(number: int) -> None:
    title, empty, date, *_ = PAGES[number].read_text().splitlines()
    assert title.startswith(f"# {number}. ")
    assert empty == ""
    assert re.match(r"20\d\d-\d\d-\d\d\.( (Overtake|Goes on|It takes in)|$)", date), date


@pytest.mark.parametrize("number", PAGES)
def test_a_decision_is_a_page(number: int) -> None:
    assert len(PAGES[number].read_text().splitlines()) <= MAX_LINES


@pytest.mark.parametrize("number", PAGES)
def test_what_a_decision_overtakes_or_goes_on_from_names_it_too(number: int) -> None:
    for other in neighbours(PAGES[number]):
        assert number in neighbours(PAGES[other]), f"{PAGES[other].name} does not name {number:04d}"
    first = PAGES[number].read_text().splitlines()[2]
    for kind, later in (("Overtaken", True), ("Overtakes", False)):
        for sentence in re.findall(rf"{kind}[^.]*?\[(\d{{4}})\]", first):
            assert (int(sentence) > number) is later, first


@pytest.mark.parametrize("number", PAGES)
def test_every_decision_that_is_mentioned_is_there(number: int) -> None:
    for name, bare in MENTION.findall(PAGES[number].read_text()):
        assert (PAGES[number].parent / name).is_file() if name else int(bare) in PAGES, name or bare
    for label, target in REFERENCE.findall(PAGES[number].read_text()):
        assert label == target
