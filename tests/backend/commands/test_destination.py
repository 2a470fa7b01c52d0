"""A command that cannot write where it was told says so in a sentence, before it does any work."""

import errno
from pathlib import Path

import pytest

from attract.commands.destination import check_writable, writing
from attract.errors import ConfigurationError


def test_what_can_be_written_is_left_alone(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "new", tmp_path / "a" / "b" / "c.json"):
        check_writable(path)
    assert list(tmp_path.iterdir()) == []


def test_what_lies_below_a_file_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    check_writable(tmp_path / "file")
    monkeypatch.chdir(tmp_path)
    for path in (Path("file/mine"), tmp_path / "file" / "mine"):
        with pytest.raises(ConfigurationError) as caught:
            check_writable(path)
        assert str(caught.value) == "file/mine cannot be written: Not a directory"
        assert caught.value.exit_code == 2


def test_an_error_while_writing_names_the_path() -> None:
    with (
        pytest.raises(ConfigurationError, match=r"^/elsewhere/b\.json cannot be written: No space left on"),
        writing(Path("/elsewhere/b.json")),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(BrokenPipeError), writing(Path("b.json")):
        raise BrokenPipeError
