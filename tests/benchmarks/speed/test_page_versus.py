"""Meteors beside the usual way: the sums of trainings that are given, and one in a real Chromium."""

from typing import Any

import pytest

from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest
from attract_benchmarks.harness.measure import BenchOptions
from attract_benchmarks.harness.training import Training, Update
from attract_benchmarks.speed import page_versus
from attract_benchmarks.speed.page_versus import PAGE_VERSUS, SKIPPED_UPDATES, measure_page_versus

FIGURE = "end_to_end/page_vs_page_evaluate"


def test_rates_are_compared_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[BaselineRequest] = []

    def baseline(_name: str, request: BaselineRequest) -> BaselineReport:
        requests.append(request)
        return BaselineReport(marks=[(1.0, 5), (2.0, 5 + 15 * request.num_environments)])

    def train(_game: str, *, seed: int, settings: Any) -> Training:
        marks = [Update(1.0 * second, 0, {}) for second in range(SKIPPED_UPDATES + 1)]
        return Training({}, [*marks, Update(SKIPPED_UPDATES + 1.0, 12_000 * seed, {})])

    monkeypatch.setattr(page_versus, "run_baseline", baseline)
    monkeypatch.setattr(page_versus, "train", train)
    figure = measure_page_versus(BenchOptions(rounds=3))[FIGURE]
    assert (figure.value, figure.ratio) == (24_000.0, 200.0)  # eight pages: 120 a second
    assert figure.detail["single_page_ratio"] == 1_600.0  # one page: 15 a second
    assert [(request.num_environments, request.games) for request in requests] == [
        (pages, "real_time_pages") for _ in range(3) for pages in (1, 8)
    ]
    assert PAGE_VERSUS.names == (FIGURE,)
    assert not PAGE_VERSUS.by_default


@pytest.mark.long
def test_pages_in_real_time_are_played_at_four_frames_a_step() -> None:
    pytest.importorskip("stable_baselines3")
    figure = measure_page_versus(BenchOptions(rounds=1, quick=True))[FIGURE]
    # One page makes 15 decisions a second, if the machine keeps up; never more.
    assert 2 < figure.detail["baseline_single_page_steps_per_second"] < 17
    assert figure.detail["single_page_ratio"] > 50
