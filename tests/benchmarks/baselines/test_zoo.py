"""What the baseline's environments draw is what our game draws in the same episode."""

import numpy as np
import pytest

from attract.schema.philox import derive_seed, sequential_words, uniforms
from attract_benchmarks.baselines import zoo as baseline
from attract_benchmarks.baselines.zoo import GameStream


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
