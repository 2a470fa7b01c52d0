"""Which games are whose."""

import pytest

from attract.errors import ConfigurationError
from attract.vector.parts import even_parts


def test_I2_games_are_cut_into_ranges_as_even_as_can_be():
    parts = [(part.group, part.worker_id, part.instance_ids.tolist()) for part in even_parts(10, 2, 2)]
    assert parts == [(0, 0, [0, 1]), (0, 1, [2, 3, 4]), (1, 0, [5, 6]), (1, 1, [7, 8, 9])]


def test_I2_one_game_of_each_part_is_enough():
    assert [part.instance_ids.tolist() for part in even_parts(6, 3, 2)] == [[0], [1], [2], [3], [4], [5]]


@pytest.mark.parametrize(("games", "groups", "workers", "least"), [(5, 3, 2, 6), (4, 0, 2, 2), (0, 1, 1, 1)])
def test_I2_fewer_games_than_parts_are_refused_with_how_many_would_do(
    games: int, groups: int, workers: int, least: int
):
    with pytest.raises(ConfigurationError, match=f"I2: {games} games") as refused:
        even_parts(games, groups, workers)
    assert refused.value.setting == "num_games"
    assert f"at least {least} games" in str(refused.value)
