"""Which versions of a run stay, and how a command names one."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attract.errors import ConfigurationError
from attract.runs.versions import find_version, thinned

VERSIONS = st.sets(st.integers(0, 100_000), min_size=1, max_size=400)


def test_a_short_run_keeps_every_version_and_a_long_one_a_part_of_each_width():
    assert thinned([]) == []
    assert thinned(list(range(40))) == list(range(40))
    # 40 parts of 1 reach to 39; 41 versions need parts of 2.
    assert thinned(list(range(41))) == sorted({*range(0, 41, 2), *range(21, 41)})
    # 12,345 lies within 40 parts of 512, and not within 40 of 256 (10,240): parts 0 to 24.
    assert thinned(list(range(12_346))) == sorted({*range(0, 12_346, 512), *range(12_326, 12_346)})


@settings(deadline=None)
@given(versions=VERSIONS)
def test_the_newest_and_the_first_stay_and_never_more_than_sixty(versions: set[int]):
    known, stays = sorted(versions), thinned(list(versions))
    assert stays == sorted(stays) and set(stays) <= versions
    assert stays[0] == known[0] and stays[-20:] == known[-20:]
    assert len(stays) <= 60
    assert thinned(stays) == stays


@settings(deadline=None)
@given(newest=st.integers(40, 1_000_000))
def test_twenty_to_forty_are_spread_evenly_whatever_the_length(newest: int):
    # 5,000 versions so close together that each part of any width holds one.
    close = sorted({*range(0, newest + 1, max(1, newest // 5000)), newest})
    spread = [version for version in thinned(close) if version not in close[-20:]]
    gaps = [later - earlier for earlier, later in itertools.pairwise(spread)]
    step = max(1, newest // 5000)
    assert 10 <= len(spread) <= 40
    assert all(abs(gap - gaps[0]) <= step for gap in gaps)
    assert newest / 40 - step <= gaps[0] <= newest / 20 + step


@settings(deadline=None)
@given(
    pauses=st.lists(st.integers(1, 90), min_size=1, max_size=60),
    start=st.integers(0, 3),
)
def test_thinned_again_and_again_a_run_keeps_what_it_would_have_kept_at_the_end(
    pauses: list[int], start: int
):
    there, newest = set(), start
    for pause in pauses:
        there |= set(range(newest, newest + pause))
        newest += pause
        there = set(thinned(list(there)))
    assert sorted(there) == thinned(list(range(start, newest)))


@pytest.mark.parametrize(
    ("name", "version"),
    [("12", 12), ("v12", 12), ("0", 0), (" Best ", 4), ("newest", 30), ("first", 0), ("030", 30)],
)
def test_a_version_is_named_by_number_or_word(name: str, version: int):
    assert find_version(name, [0, 4, 12, 30], 4, run_id="a") == version


def test_without_a_mark_the_best_is_the_newest():
    assert find_version("best", [3, 9], None, run_id="a") == 9


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("13", "version 13 is not there in a"),
        ("-1", "'-1' is no version in a"),
        ("1.5", "'1.5' is no version"),
        ("", "'' is no version"),
        ("oldest", "'oldest' is no version"),
        ("\u0664", "is no version"),
        ("9" * 30, "is no version"),
    ],
)
def test_what_names_no_version_is_refused_with_all_that_are_there(name: str, says: str):
    with pytest.raises(ConfigurationError, match=says) as refused:
        find_version(name, [0, 4, 12], 4, run_id="a")
    assert refused.value.setting == "--version"
    assert "these are: 0, 4, 12; or best, newest, first" in str(refused.value.fix)


def test_a_best_version_that_was_lost_is_refused():
    with pytest.raises(ConfigurationError, match="version 5 is not there"):
        find_version("best", [0, 9], 5, run_id="a")


def test_of_many_versions_the_first_and_the_last_are_listed():
    with pytest.raises(ConfigurationError) as refused:
        find_version("1000", list(range(100)), None, run_id="a")
    assert "38, 39, ... (20 more) ..., 60, 61" in str(refused.value.fix)


def test_a_run_without_versions_says_so():
    with pytest.raises(ConfigurationError, match="run a has no policy yet"):
        find_version("best", [], None, run_id="a")
