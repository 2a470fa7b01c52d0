"""What a baseline is told and what it says."""

import io
import sys

import pytest

from attract.benchmarks.baselines import order
from attract.benchmarks.baselines.order import BaselineReport, BaselineRequest, run_baseline

REPORT = BaselineReport(
    marks=[(2.0, 100), (4.0, 300), (8.0, 500)], seconds_of={"games": 2.0, "learning": 4.0}
)


def test_rates_are_counted_after_the_updates_that_are_left_out():
    assert REPORT.seconds == 8.0
    assert REPORT.steady_rate(0) == 62.5  # 500 steps in 8 s
    assert REPORT.steady_rate(1) == pytest.approx(400 / 6)
    assert (REPORT.share_of("games"), REPORT.share_of("learning")) == (0.25, 0.5)


def test_a_request_and_a_report_survive_the_journey(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    request = BaselineRequest(16, {"n_steps": 128}, 3, games="node", linear=["learning_rate"])
    REPORT.write()
    printed = capsys.readouterr().out
    asked: list[tuple[list[str], str]] = []

    def answer(command: list[str], given: str) -> dict[str, object]:
        asked.append((command, given))
        return order.load(io.StringIO(printed))

    monkeypatch.setattr(order, "json_of", answer)
    report = run_baseline("sb3", request)
    assert [tuple(mark) for mark in report.marks] == list(REPORT.marks)
    assert (report.solved_seconds, report.seconds_of) == (None, REPORT.seconds_of)
    ((command, given),) = asked
    assert command[-1] == "attract.benchmarks.baselines.sb3"
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    assert BaselineRequest.read() == request
