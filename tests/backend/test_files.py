import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from attract.errors import FileError
from attract.files import (
    check_folder,
    check_inside,
    copy_file,
    parse_json,
    parse_model,
    parse_object,
    read_file,
    read_optional_file,
    read_start,
    read_tail,
)


class Row(BaseModel):
    count: int


@pytest.mark.parametrize("reader", [read_file, read_start])
def test_what_is_no_regular_file_is_refused_without_waiting(
    tmp_path: Path, reader: Callable[[Path, int], bytes]
):
    pipe, device, plug = tmp_path / "pipe", tmp_path / "device", tmp_path / "plug"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(plug))
        for path in (pipe, device, plug):
            with pytest.raises(FileError, match=f"{path.name}: is a pipe, a socket or a device"):
                reader(path, 10)
    with pytest.raises(FileError, match="is a folder"):
        reader(tmp_path, 10)
    with pytest.raises(FileError, match="there is no such file") as missing:
        reader(tmp_path / "none", 10)
    assert missing.value.path == tmp_path / "none"


def test_a_file_is_read_up_to_its_bound(tmp_path: Path):
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert read_file(file, 10) == b"0123456789"
    assert read_start(file, 4) == b"0123"
    with pytest.raises(FileError, match="has 10 bytes, at most 9 are read"):
        read_file(file, 9)
    assert read_optional_file(tmp_path / "none", 9) is None
    (tmp_path / "dangling").symlink_to("none")
    with pytest.raises(FileError, match="there is no such file"):
        read_optional_file(tmp_path / "dangling", 9)


def test_links_are_followed_inside_the_folder_alone(tmp_path: Path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "sub" / "own").write_text("own")
    (root / "own").symlink_to("sub/own")
    (root / "through").symlink_to(outside)
    (root / "there").symlink_to(outside / "secret")
    (root / "loop").symlink_to("loop")
    # The folder itself may be reached by a link.
    (tmp_path / "alias").symlink_to(root)
    assert read_file(tmp_path / "alias" / "own", 10, root=root) == b"own"
    assert check_inside(root / "not yet there", root) == root / "not yet there"
    for name in ("there", "through/secret", "../outside/secret"):
        with pytest.raises(FileError, match="leads out of"):
            read_file(root / name, 10, root=root)
        with pytest.raises(FileError, match="leads out of"):
            copy_file(root / name, tmp_path / "copy", root=root)
    assert not (tmp_path / "copy").exists()
    with pytest.raises(FileError, match="cannot be read"):
        check_inside(root / "loop", root)
    assert copy_file(root / "own", tmp_path / "copy", root=root).read_text() == "own"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"{", "is not valid JSON"),
        (b"[" * 200_000, "is nested too deep"),
        (b'{"a":' * 200_000, "is nested too deep"),
        (b"9" * 5000, "is not valid JSON"),
        (b"\xff", "is not valid JSON"),
        (b"[1]", "must hold a JSON object"),
    ],
)
def test_damaged_json_is_named_in_a_sentence(data: bytes, said: str):
    with pytest.raises(FileError) as refused:
        parse_object(data, Path("x.json"))
    assert str(refused.value).startswith(f"x.json: {said}")
    assert "\n" not in str(refused.value)


def test_a_value_is_validated_and_its_first_problem_named():
    assert parse_json(b'{"count": 3}', Path("x.json")) == {"count": 3}
    assert parse_model({"count": 3}, Row, Path("x.json")).count == 3
    with pytest.raises(FileError, match=r"x\.json: is not valid: count: .*integer"):
        parse_model({"count": "many"}, Row, Path("x.json"))


def test_of_a_long_file_the_end_is_read_from_a_whole_line(tmp_path: Path):
    (tmp_path / "log").write_text("".join(f"line {number:04d}\n" for number in range(100)))
    text = read_tail(tmp_path / "log", 100)
    assert text is not None
    # Nine lines of ten bytes: the tenth may be cut.
    assert text.splitlines() == [f"line {number:04d}" for number in range(91, 100)]
    assert read_tail(tmp_path / "log", 1000) == (tmp_path / "log").read_text()
    assert read_tail(tmp_path / "gone", 100) is None
    with pytest.raises(FileError):
        read_tail(tmp_path / "log", 100, tmp_path / "elsewhere")


def test_a_name_that_vanishes_while_a_folder_is_searched_is_no_link(tmp_path: Path):
    for number in range(2):
        (tmp_path / str(number)).touch()

    def is_written(path: Path) -> bool:
        raise AssertionError(path)

    def vanish(folder: str) -> None:
        for path in Path(folder).iterdir():
            path.unlink()

    walk = os.walk

    def walked(top: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        for found in walk(top):
            vanish(found[0])
            yield found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "walk", walked)
        check_folder(tmp_path, is_written)
    assert list(tmp_path.iterdir()) == []
