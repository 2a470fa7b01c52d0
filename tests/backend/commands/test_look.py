"""What `attract look` refuses before it starts a browser; tests/end_to_end has it look."""

from pathlib import Path

import pytest

from attract.commands.look import LookOptions, look_at
from attract.errors import ConfigurationError
from attract.settings.run import ServerSettings
from free_port import free_port


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("cartpole", "cartpole is a game without a page"),
        ("nothing", "there is no nothing"),
        ("nothing.page.ts", "there is no file"),
        ("https://elsewhere.example/", "is not on this machine"),
    ],
)
async def test_what_is_no_page_is_refused(given: str, said: str, tmp_path: Path) -> None:
    server = ServerSettings(runs_dir=tmp_path, project_dir=tmp_path)
    with pytest.raises(ConfigurationError, match=said) as caught:
        await look_at(given, LookOptions(), server)
    assert caught.value.exit_code == 2


async def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(ConfigurationError, match=f"nothing answers at {address}"):
        await look_at(address, LookOptions(), ServerSettings(runs_dir=tmp_path))


async def test_a_picture_is_a_png_of_a_size_that_can_be_drawn(tmp_path: Path) -> None:
    server = ServerSettings(runs_dir=tmp_path, project_dir=tmp_path)
    with pytest.raises(ConfigurationError, match=r"page\.jpg is no name of a picture"):
        await look_at("meteors", LookOptions(png=tmp_path / "page.jpg"), server)
    with pytest.raises(ConfigurationError, match="0 x 600"):
        await look_at("meteors", LookOptions(size=(0, 600)), server)
