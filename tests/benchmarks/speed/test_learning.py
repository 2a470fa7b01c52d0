import math

import pytest
import torch

from attract.errors import ConfigurationError
from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.speed.learning import LEARNER

QUICK = BenchOptions(rounds=1, quick=True)
CPU, CUDA = LEARNER


@pytest.mark.long
def test_the_real_update_is_held_against_the_bare_loop() -> None:
    figures = CPU.run(QUICK)
    assert set(figures) == set(CPU.names)
    for figure in figures.values():
        assert all(math.isfinite(number) and number > 0 for number in (figure.value, *figure.detail.values()))
        assert figure.ratio == pytest.approx(figure.value / figure.detail["bare_samples_per_s"])
        # Twice as fast as the bare loop would be work left out, a fifth as fast a collapse.
        assert 0.2 < figure.ratio < 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_its_figures_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no CUDA device"):
        CUDA.run(BenchOptions(rounds=1, quick=True, device="cuda"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_is_measured() -> None:
    (figure,) = CUDA.run(BenchOptions(rounds=1, quick=True, device="cuda")).values()
    assert figure.ratio is not None and 0.1 < figure.ratio < 2
