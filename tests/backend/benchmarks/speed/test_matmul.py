import pytest
import torch

from attract.benchmarks.harness.measure import BenchOptions
from attract.benchmarks.speed.matmul import MATMUL, matmul_gflops


def test_the_peak_is_measured_in_as_many_rounds_as_wanted() -> None:
    figures = MATMUL.run(BenchOptions(rounds=2, quick=True))
    assert set(figures) == set(MATMUL.names)
    rounds = figures["parts/matmul_gflops"].rounds
    # No core multiplies slower, and none this side of a GPU faster.
    assert len(rounds) == 2 and all(0.1 < rate < 10_000 for rate in rounds)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpus_peak_is_above_a_cores() -> None:
    assert matmul_gflops(torch.device("cuda"), (4096,)) > 1000
