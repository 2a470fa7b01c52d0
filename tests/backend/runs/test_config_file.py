from pathlib import Path

import pytest

from attract.errors import FileError
from attract.runs.config_file import read_config_file, settings_in


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("created: now\nsettings: {}", "has no `game`"),
        ("game: snake\nsettings: {}", "has no `created`"),
        ("game: [1]\ncreated: now\nsettings: {}", "`game` is not the name of a game"),
        ("game: snake\ncreated: now\nsettings: 3", "`settings` is not a mapping of settings"),
        ("game: snake\ncreated: now\nsettings: {ppo: {gamma: x}}", "ppo.gamma: "),
        ("game: [", "line 1: is not valid YAML"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, said: str):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(FileError) as refused:
        settings_in(read_config_file(path), path)
    assert refused.value.path == path
    assert refused.value.problem.startswith(said) and "\n" not in refused.value.problem


def test_what_is_sound_is_read(tmp_path: Path):
    path = tmp_path / "config.yaml"
    path.write_text("game: snake\ncreated: now\nsettings: {ppo: {gamma: 0.5}}")
    config = read_config_file(path)
    assert config["game"] == "snake"
    assert settings_in(config, path).ppo.gamma == 0.5
