"""The episodes of an evaluation, played at random beside a game's page."""

import pytest

from attract_benchmarks.harness.page_returns import played_returns


@pytest.mark.long
def test_random_play_of_an_evaluation_can_be_repeated() -> None:
    first = played_returns("meteors", 4)
    assert len(set(first)) > 1
    assert played_returns("meteors", 2) == first[:2]
    # The first meteor is there after a second, and no luck lasts.
    assert all(1 < value < 40 for value in first)
