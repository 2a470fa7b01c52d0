"""Meteors as Stable-Baselines3 sees it without a virtual clock, in real Chromium."""

import time

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
from attract_benchmarks.baselines.real_time_pages import RealTimePages


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
