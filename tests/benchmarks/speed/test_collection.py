"""The browser's side of the benchmark, in a real Chromium, in its shortest form."""

import math
from collections.abc import Mapping

import pytest

from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.speed.collection import COLLECTION, Rates

QUICK = BenchOptions(rounds=1, quick=True)


def test_the_bare_rate_adds_the_times_of_its_parts() -> None:
    # 1 / 4 s and 1 / 12 s are 1 / 3 s a step.
    assert Rates(rollout=2.0, inference=4.0, tick=12.0).bare == pytest.approx(3.0)


# `make test` measures the first of these in end_to_end/test_speed_guard.py.
@pytest.mark.long
@pytest.mark.parametrize("measure", COLLECTION, ids=lambda measure: measure.names[0])
def test_every_figure_promised_is_measured(measure: Measure) -> None:
    figures = measure.run(QUICK)
    assert set(figures) == set(measure.names)
    for figure in figures.values():
        assert all(math.isfinite(value) and value > 0 for value in figure.rounds)
        assert len(figure.rounds) == 1
        # Farther from 1 would be a part that was not done; a busy machine disturbs by less.
        assert figure.ratio is None or 0.05 < figure.ratio < 5
    check_collection(figures)


def check_collection(figures: Mapping[str, Figure]) -> None:
    """The ratio is what the parts in the details say."""
    for name in ("collection/cartpole", "collection/mlp256"):
        if name in figures:
            figure = figures[name]
            rates = Rates(
                rollout=figure.value,
                inference=figure.detail["session_run_steps_per_second"],
                tick=figure.detail["tick_steps_per_second"],
            )
            assert figure.ratio == pytest.approx(rates.rollout / rates.bare)
            # A whole step takes ten times as long as a tick.
            assert rates.rollout < rates.tick
