import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.speed.ready_update import ReadyUpdate
from attract.benchmarks.speed.segments import SEGMENT_LEARNER, flops_per_sample, segments_work
from attract.policy.recurrent import RecurrentName


@pytest.mark.parametrize("measure", SEGMENT_LEARNER, ids=lambda measure: measure.names[0])
def test_one_pass_is_measured_against_the_peak(measure: Measure) -> None:
    figures = measure.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == measure.names
    (figure,) = figures.values()
    detail = figure.detail
    assert figure.ratio is not None and 0.005 < figure.ratio < 1.5
    assert detail["gflops"] == pytest.approx(figure.value * detail["flops_per_sample"] / 1e9)
    assert 0.05 < detail["time_share_of_products"] < 1.0


@pytest.mark.parametrize("recurrent", ["lstm", "gru"])
def test_the_operations_counted_are_those_that_torch_counts(recurrent: RecurrentName) -> None:
    work = segments_work(64, recurrent)
    ready = ReadyUpdate(work, torch.device("cpu"))
    with FlopCounterMode(display=False) as counter:
        ready.run()
    assert counter.get_total_flops() == pytest.approx(
        flops_per_sample(recurrent) * work.num_samples, rel=0.01
    )
