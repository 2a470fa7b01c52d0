"""A kept policy has a picture of its page while it plays, and each game says what it is about."""

import pytest

from attract_benchmarks.learning.keep_policy import ABOUT, picture, trained_folder
from attract_benchmarks.speed.page_games import GAMES


def test_every_page_game_says_what_it_is_about() -> None:
    assert set(ABOUT) == set(GAMES)


@pytest.mark.long
def test_a_picture_is_taken_of_the_page_that_plays() -> None:
    taken = picture("moles", trained_folder("moles"))
    assert taken.startswith(b"\xff\xd8")
    # The page alone, of one colour, has 2 kB.
    assert len(taken) > 5_000
