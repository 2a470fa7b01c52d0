"""Baselines of others: their order, clocks and games."""

import io
import sys
import time

import numpy as np
import pytest

from attract.errors import AttractError
from attract.schema.philox import derive_seed, sequential_words, uniforms
from attract_benchmarks.baselines import order, stopwatch
from attract_benchmarks.baselines import zoo as baseline
from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest, run_baseline
from attract_benchmarks.baselines.real_time_pages import RealTimePages
from attract_benchmarks.baselines.stopwatch import Stopwatch
from attract_benchmarks.baselines.zoo import GameStream
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


@pytest.mark.long
def test_pages_play_at_once_four_frames_a_step_and_begin_anew() -> None:
    games = RealTimePages(2)
    try:
        assert games.action_space.n == 3
        first = games.reset()
        assert first.shape == (2, *games.observation_space.shape)
        began = time.perf_counter()
        rewards = np.zeros(2)
        leftmost = first.copy()
        for _ in range(30):
            observations, found, _dones, _infos = games.step(np.array([0, 1]))
            rewards += found
            leftmost = np.minimum(leftmost, observations)
        # 30 steps are two seconds of a page; not twice that, for both pages play at once.
        assert time.perf_counter() - began > 1.5
        assert (rewards > 1).all()
        # The left one goes to the edge; a slow machine may see both hit by then, and restarted.
        assert leftmost[0, 0] < 0.1
        assert observations[1, 0] == first[1, 0]
    finally:
        games.close()


class Clock:
    now = 100.0

    def perf_counter(self) -> float:
        return self.now


def test_each_call_counts_to_its_part_even_one_that_breaks(monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    monkeypatch.setattr(stopwatch, "time", clock)
    watch = Stopwatch()

    def work(seconds: float, *, fails: bool = False) -> float:
        clock.now += seconds
        if fails:
            raise ValueError
        return seconds

    play, learn = watch.timed("games", work), watch.timed("learning", work)
    assert play(2.0) == 2.0
    learn(5.0)
    with pytest.raises(ValueError):
        play(1.0, fails=True)
    assert watch.seconds_of == {"games": 3.0, "learning": 5.0}
    clock.now += 4.0
    assert watch.seconds == 12.0


def drawn(episode: int, count: int) -> np.ndarray:
    seed = derive_seed(20_000, "evaluation")
    return uniforms(sequential_words(seed, "game", episode=0, instance=episode, count=count))


def test_numbers_come_in_the_games_order_whatever_is_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "BLOCKS_AT_ONCE", 2)
    expected = drawn(7, 60)
    stream = GameStream(7)
    first = stream.uniform(0.0, 2.0, size=(12,))
    single = stream.uniform(-1000, 1000)
    pair = stream.uniform(low=np.array([-1.0, -3.0]), high=np.array([1.0, 3.0]))
    square = stream.uniform(size=(5, 5))
    assert np.array_equal(first, 2 * expected[:12])
    assert isinstance(single, float) and single == pytest.approx(2000 * expected[12] - 1000)
    assert pair == pytest.approx([2 * expected[13] - 1, 6 * expected[14] - 3])
    assert np.array_equal(square.ravel(), expected[15:40])
    assert [stream.uniform() for _ in range(20)] == expected[40:60].tolist()


def test_each_episode_has_numbers_of_its_own() -> None:
    assert GameStream(0).uniform(size=4).tolist() == drawn(0, 4).tolist()
    assert set(GameStream(0).uniform(size=400)).isdisjoint(GameStream(1).uniform(size=400))
