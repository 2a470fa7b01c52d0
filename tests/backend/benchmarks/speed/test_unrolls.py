import pytest

from attract.benchmarks.harness.measure import BenchOptions, Measure
from attract.benchmarks.speed.unrolls import UNROLLS


@pytest.mark.parametrize("measure", UNROLLS, ids=lambda measure: measure.names[0])
def test_both_ways_are_measured_in_pairs_on_passes_and_whole_updates(measure: Measure) -> None:
    figures = measure.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == measure.names
    (figure,) = figures.values()
    assert len(figure.rounds) == 3 and min(figure.rounds) > 0
    kinds = ("pass_8x16", "update_8x16")
    assert set(figure.detail) == {f"{kind}{quartile}" for kind in kinds for quartile in ("", "_low", "_high")}
    for kind in kinds:
        low, middle, high = (figure.detail[f"{kind}{quartile}"] for quartile in ("_low", "", "_high"))
        # Ten times as fast would be work left out, a fifth as fast a collapse.
        assert 0.2 < low <= middle <= high < 10
    assert figure.ratio == figure.detail["pass_8x16"]
