from datetime import UTC, datetime
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.runs.run_ids import check_run_id, create_run_id


def test_default_run_id_is_game_time_and_four_hex_digits():
    run_id = create_run_id("my games/Snake!.game.ts", datetime(2026, 11, 3, 4, 5, 6, tzinfo=UTC))
    assert run_id[:-4] == "Snake-20261103-040506-"
    assert int(run_id[-4:], 16) >= 0


@pytest.mark.parametrize(
    ("game", "stem"),
    [
        ("game.ts", "my-project"),
        ("src/game.page.ts", "my-project"),
        ("pages/pong/game.page.ts", "pong"),
        ("pages/..hidden & co/index.js", "hidden-co"),
        ("src/Snake.ts", "Snake"),
        ("/elsewhere/tetris/src/main.ts", "tetris"),
        ("遊戲/game.ts", "game"),
        ("/game.ts", "game"),
        ("cartpole", "cartpole"),
    ],
)
def test_a_run_is_called_after_its_games_folder_where_the_file_says_nothing(
    tmp_path: Path, game: str, stem: str
):
    run_id = create_run_id(game, datetime(2026, 11, 3, tzinfo=UTC), project_dir=tmp_path / "my-project")
    assert run_id[:-4] == f"{stem}-20261103-000000-"
    assert check_run_id(run_id) == run_id


@pytest.mark.parametrize("bad", ["", "..", "../x", "a/b", ".hidden", "a b", "x" * 121, "a\n"])
def test_ids_that_could_name_another_folder_are_refused(bad: str):
    with pytest.raises(ConfigurationError):
        check_run_id(bad)
