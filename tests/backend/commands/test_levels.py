import pytest

from attract.commands.levels import candidates, choose_levels


def test_candidates_are_spread_over_the_run_with_its_ends_and_the_best() -> None:
    assert candidates(list(range(0, 100, 10)), 30) == [0, 10, 30, 40, 50, 60, 80, 90]
    assert candidates([0, 4], None) == [0, 4]
    assert candidates([0, 4], 99) == [0, 4], "it is gone"
    assert len(candidates(list(range(1000)), 17)) == 9
    assert candidates([], None) == []


@pytest.mark.parametrize(
    ("ratings", "count", "chosen"),
    [
        # Steps of 7.5 below the strongest: 30, 22.5, 15.
        ({0: 10.0, 1: 16.0, 2: 22.0, 3: 26.0, 4: 30.0}, 3, [1, 2, 4]),
        # The range is smaller than that: its ends and the middle.
        ({0: 20.0, 1: 24.0, 2: 23.0, 3: 26.0}, 3, [0, 2, 3]),
        # Who learned most last is not always the strongest.
        ({0: 30.0, 1: 20.0}, 2, [1, 0]),
        # All alike: each once.
        ({0: 25.0, 1: 25.0, 2: 25.0}, 3, [0, 1, 2]),
    ],
)
def test_levels_have_even_steps(ratings: dict[int, float], count: int, chosen: list[int]) -> None:
    assert choose_levels(ratings, count) == chosen
