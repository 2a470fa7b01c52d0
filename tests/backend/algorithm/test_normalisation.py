import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attract.algorithm.normalisation import RunningMoments


def of(rows):
    data = torch.tensor(rows, dtype=torch.float32)
    return RunningMoments.of(data, torch.ones(data.shape[0], dtype=torch.bool))


def test_P7_mean_and_variance_by_hand():
    # 1, 3, 8: mean 4, squared deviations 9 + 1 + 16 = 26; 10, 10, 10: constant.
    moments = of([[1, 10], [3, 10], [8, 10]])
    assert moments.count == 3
    assert moments.mean.tolist() == [4, 10]
    assert moments.squared_deviations.tolist() == [26, 0]
    assert moments.variance.tolist() == pytest.approx([26 / 3, 0])
    assert moments.inverse_std.tolist() == pytest.approx([(26 / 3) ** -0.5, 1e4])


def test_P7_merging_is_exact():
    # {1, 3} and {8}: means 2 and 8, deviations 2 and 0; together 2 + 0 + 6^2 * 2 * 1 / 3 = 26.
    merged = of([[1], [3]]).merge(of([[8]]))
    assert (merged.count, merged.mean.item()) == (3, pytest.approx(4))
    assert merged.squared_deviations.item() == pytest.approx(26)


def test_P7_nothing_seen_is_the_identity_of_merging():
    some = of([[1.0, 2.0], [5.0, 2.0]])
    for merged in (some.merge(RunningMoments.empty((2,))), RunningMoments.empty((2,)).merge(some)):
        assert merged.count == 2 and torch.equal(merged.mean, some.mean)
        assert torch.equal(merged.squared_deviations, some.squared_deviations)
    assert RunningMoments.empty((2,)).merge(RunningMoments.empty((2,))).variance.tolist() == [1, 1]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12).filter(any), st.integers(0, 2**32 - 1))
def test_P7_many_batches_equal_numpy_over_all_of_them(sizes, seed):
    random = np.random.default_rng(seed)
    # A large offset: a sum of squares in float32 would lose every digit of the variance.
    batches = [random.normal(1e4, 1, (size, 3)).astype(np.float32) for size in sizes]
    moments = RunningMoments.empty((3,))
    for batch in batches:
        valid = torch.ones(len(batch), dtype=torch.bool)
        moments = moments.merge(RunningMoments.of(torch.from_numpy(batch), valid))
    everything = np.concatenate(batches).astype(np.float64)
    assert moments.count == len(everything)
    np.testing.assert_allclose(moments.mean, everything.mean(0), rtol=1e-13)
    np.testing.assert_allclose(moments.variance, everything.var(0), rtol=1e-9)


def test_P7_S5_invalid_steps_do_not_count():
    observations = torch.tensor([[[1.0], [100.0]], [[float("nan")], [3.0]]])
    moments = RunningMoments.of(observations, torch.tensor([[True, False], [False, True]]))
    assert (moments.count, moments.mean.item(), moments.squared_deviations.item()) == (2, 2.0, 2.0)
    nothing = RunningMoments.of(observations, torch.zeros((2, 2), dtype=torch.bool))
    assert nothing.count == 0 and nothing.mean.tolist() == [0]


@pytest.mark.parametrize("part_bytes", [1, 1000, 2048])
def test_P7_correctness_6_observations_that_are_looked_at_in_parts_give_the_same_moments(
    part_bytes, monkeypatch
):
    random = np.random.default_rng(3)
    observations = random.normal(1e4, 1, (40, 6, 5)).astype(np.float32)
    valid = random.random((40, 6)) < 0.7
    # A whole row of parts without a valid step, and NaN where nothing counts.
    valid[8:20] = False
    observations[~valid] = np.nan
    monkeypatch.setattr("attract.algorithm.normalisation.PART_BYTES", part_bytes)
    moments = RunningMoments.of(torch.from_numpy(observations), torch.from_numpy(valid))
    everything = observations[valid].astype(np.float64)
    assert moments.count == len(everything)
    np.testing.assert_allclose(moments.mean, everything.mean(0), rtol=1e-13)
    np.testing.assert_allclose(moments.variance, everything.var(0), rtol=1e-9)
    assert RunningMoments.of(torch.zeros(0, 5), torch.zeros(0, dtype=torch.bool)).count == 0
