"""What a playtest computes without scipy, against scipy."""

import itertools

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from attract.playtest.ranks import MAX_EXACT, rank_correlation, signed_ranks, student_975

# Few values, so that ties come; halves, so that none is inexact.
DIFFERENCE = st.integers(-12, 12).filter(bool).map(lambda value: value / 2)


@given(st.lists(DIFFERENCE, min_size=2, max_size=10))
def test_few_signed_ranks_are_exact_with_ties_as_well(differences: list[float]) -> None:
    # The sum of the ranks of what rose, by each of the at most 2**10 choices of signs.
    weights = scipy.stats.rankdata(np.abs(differences))
    sums = np.array(list(itertools.product((0, 1), repeat=len(differences)))) @ weights
    at = weights[np.array(differences) > 0].sum()
    exact = min(1.0, 2 * min(np.mean(sums <= at), np.mean(sums >= at)))
    assert signed_ranks(differences) == pytest.approx(exact)


@given(st.sets(st.integers(1, 10_000), min_size=13, max_size=MAX_EXACT), st.randoms(use_true_random=False))
def test_signed_ranks_without_ties_are_those_of_the_exact_test(sizes: set[int], random: object) -> None:
    differences = [size * random.choice((-1, 1)) for size in sizes]  # pyright: ignore
    exact = scipy.stats.wilcoxon(differences, method="exact").pvalue
    assert signed_ranks(differences) == pytest.approx(exact)


@given(st.lists(DIFFERENCE, min_size=MAX_EXACT + 1, max_size=200))
def test_many_signed_ranks_are_those_of_the_normal_distribution(differences: list[float]) -> None:
    of_normal = scipy.stats.wilcoxon(differences, method="asymptotic").pvalue
    assert signed_ranks(differences) == pytest.approx(of_normal)


@given(st.lists(st.tuples(DIFFERENCE, DIFFERENCE), min_size=2, max_size=30))
def test_rank_correlation_is_spearmans(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert rank_correlation(first, second) == pytest.approx(scipy.stats.spearmanr(first, second)[0])


@pytest.mark.parametrize("freedom", [*range(1, 40), 199, 1_000])
def test_students_quantile(freedom: int) -> None:
    assert student_975(freedom) == pytest.approx(scipy.stats.t.ppf(0.975, freedom), rel=1e-9)
