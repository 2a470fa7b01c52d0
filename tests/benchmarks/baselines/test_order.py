"""What a baseline is told and what it says, and that each really trains."""

import io
import sys

import pytest

from attract.errors import AttractError
from attract_benchmarks.baselines import order
from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest, run_baseline
from attract_benchmarks.harness.common_work import baseline_settings
from attract_benchmarks.learning.plan import CARTPOLE_BASELINE
from attract_benchmarks.speed.versus import BASELINES

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
    assert command[-1] == "attract_benchmarks.baselines.sb3"
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    assert BaselineRequest.read() == request


@pytest.mark.long
@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: baseline.figure)
def test_a_baseline_trains_and_its_time_is_accounted_for(baseline) -> None:  # type: ignore[no-untyped-def]
    if baseline.name == "puffer":
        pytest.importorskip("pufferlib", reason="PufferLib is built by hand, see docs/performance.md")
    order = BaselineRequest(
        4, {**baseline_settings(), "n_steps": 64, "batch_size": 64}, iterations=2, games=baseline.games
    )
    report = run_baseline(baseline.name, order)
    assert [steps for _, steps in report.marks] == [256, 512]
    assert report.seconds == report.marks[-1][0] > report.marks[0][0] > 0
    parts = {part: report.share_of(part) for part in ("games", "inference", "learning")}
    assert all(share > 0 for share in parts.values())
    assert 0.5 < sum(parts.values()) < 1
    assert report.steady_rate(1) > 0


@pytest.mark.long
def test_stable_baselines3_stops_once_it_has_what_was_asked_for() -> None:
    settings = {**CARTPOLE_BASELINE.settings, "n_epochs": 4}
    order = BaselineRequest(8, settings, iterations=300, linear=CARTPOLE_BASELINE.linear, until_return=40.0)
    report = run_baseline("sb3", order)
    assert report.solved_seconds is not None
    assert 0 < report.solved_seconds <= report.seconds
    assert report.marks[-1][1] < 300 * 8 * settings["n_steps"]


@pytest.mark.long
def test_a_baseline_that_fails_says_why() -> None:
    with pytest.raises(AttractError, match="unexpected keyword argument 'minibatches'"):
        run_baseline("sb3", BaselineRequest(2, {"minibatches": 3}, iterations=1))
