import torch

from attract.algorithm.normalisation import RunningMoments
from attract.learner.group.cells import SINGLE_PROCESS
from attract.learner.group.moments import merged, variance
from cell_processes import Beside


def test_0064_moments_are_those_of_all_rows_together():
    rows = torch.randn(10, 3, generator=torch.Generator().manual_seed(1))
    everything = torch.ones(10, dtype=torch.bool)
    parts = [
        {
            "a": RunningMoments.of(part, everything[: len(part)]),
            "b": RunningMoments.of(part[:, 0], everything[: len(part)]),
        }
        for part in rows.split((4, 6))
    ]
    asked = Beside()
    merged(asked, parts[1])
    found = merged(Beside(*asked.sent), parts[0])
    whole = RunningMoments.of(rows, everything)
    assert found["a"].count == 10
    torch.testing.assert_close(found["a"].mean, whole.mean, rtol=0, atol=1e-12)
    torch.testing.assert_close(found["a"].squared_deviations, whole.squared_deviations, rtol=0, atol=1e-12)
    torch.testing.assert_close(found["b"].mean, whole.mean[0], rtol=0, atol=1e-12)
    assert merged(SINGLE_PROCESS, parts[0]) == parts[0]


def test_0064_a_variance_is_that_of_both_parts():
    # 1, 3 | 5, 7: mean 4, deviations 9 + 1 + 1 + 9 over 4.
    other = torch.tensor([2.0, 6.0, 2.0], dtype=torch.float64)
    assert variance(Beside(other), torch.tensor([1.0, 3.0])) == 5.0
    assert variance(SINGLE_PROCESS, torch.tensor([1.0, 3.0])) == 1.0
