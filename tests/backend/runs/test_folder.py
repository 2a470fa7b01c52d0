"""What lies in a folder of runs: names, locks, labels, exports, settings, and what is thrown away."""

import errno
import json
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from attract.errors import ConfigurationError, FileError
from attract.runs.config_file import read_config_file, settings_in
from attract.runs.directory import RunDirectory
from attract.runs.disk import LOCK, is_locked, lock_folder, refusal
from attract.runs.exports import DOCUMENT_FILE, PART_BYTES, export_models, model_file, split_models
from attract.runs.index import LABELS, MAX_BYTES, labels_path, read_labels, write_labels
from attract.runs.run_ids import check_run_id, create_run_id
from attract.runs.trash import TRASH, TRASH_ID, delete_run, deleted_runs, erase, move_to_trash, restore
from attract.schema.run_list import RunLabels


def test_D3_a_folder_is_locked_once_until_the_lock_is_given_back(tmp_path: Path):
    assert not is_locked(tmp_path)
    lock = lock_folder(tmp_path)
    assert is_locked(tmp_path)
    with pytest.raises(ConfigurationError, match="another process"):
        lock_folder(tmp_path)
    os.close(lock)
    assert not is_locked(tmp_path)
    os.close(lock_folder(tmp_path))


def test_hostile_a_lock_file_that_is_a_link_is_refused(tmp_path: Path):
    (tmp_path / "outside").touch()
    (tmp_path / LOCK).symlink_to(tmp_path / "outside")
    with pytest.raises(FileError, match="cannot be opened"):
        lock_folder(tmp_path)
    assert not is_locked(tmp_path)


def test_a_full_disk_is_told_from_other_errors():
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(OSError) as caught:
        full.write(b"x")
    assert refusal(caught.value) == "No space left on device"
    assert refusal(OSError(errno.EIO, "Input/output error")) == "Input/output error"
    assert refusal(FileNotFoundError(errno.ENOENT, "No such file or directory")) is None
    assert refusal(ValueError("no space left on device")) is None


def test_sqlite_says_it_through_its_own_error(tmp_path: Path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("PRAGMA max_page_count=2")
    connection.execute("CREATE TABLE t (x)")
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    with pytest.raises(sqlite3.OperationalError) as other:
        connection.execute("INSERT INTO nowhere VALUES (1)")
    connection.close()
    assert "full" in str(refusal(caught.value))
    assert refusal(other.value) is None


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


def run(runs_dir: Path, run_id: str) -> Path:
    directory = RunDirectory.create(runs_dir, run_id)
    directory.write_config("g", {"seed": 1})
    directory.close()
    return directory.path


@pytest.mark.parametrize("run_id", ["a", "a-20260101-000000-abcd", "x" * 120])
def test_a_deleted_run_comes_back_whole(tmp_path: Path, run_id: str):
    path = run(tmp_path, run_id)
    trash_id = delete_run(path)
    assert not path.exists()
    assert TRASH_ID.fullmatch(trash_id)
    assert restore(tmp_path, trash_id) == run_id
    assert RunDirectory.view(tmp_path, run_id).read_config()["settings"] == {"seed": 1}
    assert not is_locked(path)
    assert list((tmp_path / TRASH).iterdir()) == []


def test_an_erased_run_is_gone_and_no_other(tmp_path: Path):
    gone, kept = delete_run(run(tmp_path, "a")), delete_run(run(tmp_path, "a"))
    assert set(deleted_runs(tmp_path)) == {gone, kept}
    assert erase(tmp_path, gone) == "a"
    assert deleted_runs(tmp_path) == [kept]
    assert not (tmp_path / TRASH / gone).exists()


def test_two_runs_of_one_name_do_not_meet(tmp_path: Path):
    places = {move_to_trash(run(tmp_path, "a")) for _ in range(3)}
    assert len(places) == 3


def test_hostile_what_is_no_run_in_the_trash_is_not_restored(tmp_path: Path):
    trash = tmp_path / TRASH
    trash.mkdir()
    outside = run(tmp_path, "outside")
    (trash / "link-20260101-000000-abcd").symlink_to(outside)
    (trash / "empty-20260101-000000-abcd").mkdir()
    for trash_id in ("link-20260101-000000-abcd", "empty-20260101-000000-abcd", "..", "a", "../outside", ""):
        for call in (restore, erase):
            with pytest.raises(ConfigurationError, match="in the trash"):
                call(tmp_path, trash_id)
    assert deleted_runs(tmp_path) == []
    assert outside.is_dir()


def test_hostile_a_trash_that_is_a_link_gives_nothing(tmp_path: Path):
    elsewhere, runs_dir = tmp_path / "elsewhere", tmp_path / "runs"
    elsewhere.mkdir()
    runs_dir.mkdir()
    run(elsewhere, "a-20260101-000000-abcd")
    (runs_dir / TRASH).symlink_to(elsewhere)
    for call in (restore, erase):
        with pytest.raises(ConfigurationError, match="in the trash"):
            call(runs_dir, "a-20260101-000000-abcd")
    assert deleted_runs(runs_dir) == []
    assert (elsewhere / "a-20260101-000000-abcd").is_dir()


def test_a_run_that_is_written_is_not_deleted(tmp_path: Path):
    path = run(tmp_path, "a")
    held = RunDirectory.open_locked(tmp_path, "a")
    with pytest.raises(ConfigurationError, match="D3"):
        delete_run(path)
    held.close()
    assert path.is_dir()


def test_a_sole_policy_is_policy_onnx_whatever_it_is_called():
    assert model_file("scout", ["scout"]) == "policy.onnx"
    assert export_models(Path("out"), ["main"]) == [Path("out/policy.onnx")]


def test_several_policies_have_files_of_their_own_names_in_order():
    assert model_file("keeper", ["scout", "keeper"]) == "keeper.onnx"
    assert export_models(Path("out"), ["scout", "keeper"]) == [
        Path("out/scout.onnx"),
        Path("out/keeper.onnx"),
    ]


def test_a_model_that_is_too_large_for_one_file_is_split_in_order(tmp_path: Path):
    small, large = bytes(PART_BYTES), bytes(range(256)) * 4096 + b"end"
    (tmp_path / "scout.onnx").write_bytes(small)
    (tmp_path / "heavy.onnx").write_bytes(large)
    (tmp_path / DOCUMENT_FILE).write_text('{"format": "attract-policy"}')
    written = split_models(tmp_path, [tmp_path / "scout.onnx", tmp_path / "heavy.onnx"])
    assert [path.name for path in written] == ["scout.onnx", "heavy.onnx.1", "heavy.onnx.2", "heavy.onnx.3"]
    assert b"".join(path.read_bytes() for path in written[1:]) == large
    assert not (tmp_path / "heavy.onnx").exists()
    assert json.loads((tmp_path / DOCUMENT_FILE).read_text()) == {
        "format": "attract-policy",
        "parts": {"heavy.onnx": 3},
    }


def test_what_fits_is_left_as_it_is(tmp_path: Path):
    (tmp_path / "policy.onnx").write_bytes(b"1")
    (tmp_path / DOCUMENT_FILE).write_text("{}")
    assert split_models(tmp_path, [tmp_path / "policy.onnx"]) == [tmp_path / "policy.onnx"]
    assert (tmp_path / DOCUMENT_FILE).read_text() == "{}"


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    (tmp_path / "run").mkdir()
    return RunDirectory(tmp_path / "run", None)


def test_labels_come_back_and_a_run_without_the_file_has_none(directory: RunDirectory):
    assert read_labels(directory.path) == RunLabels()
    labels = RunLabels(name="Größer", note="a\nb", tags=["x", "y"], starred=True, archived=True)
    write_labels(directory, labels)
    assert read_labels(directory.path) == labels
    assert [path.name for path in directory.path.iterdir()] == [LABELS]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"name": 1}',
        b'{"tags": ["a b"]}',
        b'{"other": 1}',
        b" " * (MAX_BYTES + 1),
    ],
)
def test_hostile_a_damaged_file_is_named(directory: RunDirectory, data: bytes):
    labels_path(directory.path).write_bytes(data)
    with pytest.raises(FileError, match=LABELS):
        read_labels(directory.path)


def test_hostile_a_link_out_of_the_folder_is_not_followed(directory: RunDirectory, tmp_path: Path):
    (tmp_path / "outside.json").write_text('{"name": "secret"}')
    labels_path(directory.path).symlink_to(tmp_path / "outside.json")
    with pytest.raises(FileError, match="link"):
        read_labels(directory.path)
    write_labels(directory, RunLabels(name="own"))
    assert (tmp_path / "outside.json").read_text() == '{"name": "secret"}'


@pytest.mark.parametrize(
    "given",
    [{"name": "x" * 121}, {"name": "two\nlines"}, {"note": "x" * 4001}, {"tags": ["x"] * 21}, {"tags": [""]},
     {"tags": ["x" * 41]}, {"tags": ['a"b']}, {"tags": ["a,b"]}],
)  # fmt: skip
def test_labels_are_bounded(given: dict[str, object]):
    with pytest.raises(ValidationError):
        RunLabels.model_validate(given)


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
