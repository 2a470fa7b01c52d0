"""The run directory: made once, locked by one process, never overwritten by accident."""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Collection, Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from attract.errors import CheckpointError, ConfigurationError, DamagedRunError, FileError
from attract.files import (
    MAX_JSON_BYTES,
    check_folder,
    check_inside,
    parse_model,
    parse_object,
    read_optional_file,
    write_atomically,
)
from attract.runs.checkpoint_document import read_document
from attract.runs.config_file import CONFIG, read_config_file, settings_in
from attract.runs.disk import LOCK, is_locked, lock_folder
from attract.runs.run_ids import RUN_ID, check_run_id
from attract.runs.trash import move_to_trash
from attract.runs.versions import find_version, thinned
from attract.schema.game import GameDescription, GameReference
from attract.settings.file import settings_text
from attract.settings.run import RunSettings
from attract.settings.self_play import SCRIPT

LATEST = "latest"
"""In place of a run's id: the newest run that has a policy."""
FOLDERS = ("checkpoints", "logs", "export")
GAME = "game.json"
DATABASE = "metrics.db"
MODEL = "model.onnx"
MAX_MODEL_BYTES = 1 << 30
KEPT = "kept"
OPPONENTS = "opponents"
PRUNED = ".pruned"
"""Ending of a checkpoint's folder that is being removed."""

Mark = Literal["latest", "best"]


def list_run_ids(runs_dir: Path) -> list[str]:
    """Ids of all runs under `runs_dir`, the newest directory first."""
    found: list[tuple[float, str]] = []
    for path in runs_dir.glob("*/config.yaml"):
        if RUN_ID.fullmatch(path.parent.name):
            # A run may be moved away meanwhile.
            with contextlib.suppress(FileNotFoundError):
                found.append((path.lstat().st_mtime, path.parent.name))
    return [name for _, name in sorted(found, key=lambda run: run[0], reverse=True)]


def find_run(runs_dir: Path, run_id: str) -> str:
    """`run_id` itself, or for `latest` the newest run that has a policy.

    Raises: ConfigurationError: when there is no such run.
    """
    if run_id != LATEST:
        return RunDirectory.view(runs_dir, run_id).run_id
    for known in trained_run_ids(runs_dir):
        return known
    raise ConfigurationError(
        f"there is no latest run: none in {runs_dir} has a policy yet",
        fix="train one, or name another folder with --runs-dir",
    )


def discard_unused(runs_dir: Path, run_id: str, *, keep_logs: bool) -> Path | None:
    """Take a run away that has ended without ever having had a policy; one that has is left alone.

    Args:
        keep_logs: move it to the trash of `runs_dir` instead of removing it.

    Returns: where it is in the trash, if it is there.
    """
    path = runs_dir / run_id
    directory = RunDirectory(path, None)
    if not path.is_dir() or directory.versions() or is_locked(path):
        return None
    if keep_logs:
        return move_to_trash(path)
    shutil.rmtree(path)
    return None


def trained_run_ids(runs_dir: Path) -> list[str]:
    """Ids of the runs that have a policy, the newest first."""
    known = list_run_ids(runs_dir) if runs_dir.is_dir() else []
    return [run_id for run_id in known if RunDirectory(runs_dir / run_id, None).marked("latest") is not None]


class RunDirectory:
    """One run's folder. `create` and `open_locked` lock it until `close` (rule D3); `view` only reads."""

    def __init__(self, path: Path, lock_fd: int | None) -> None:
        self.path = path
        self.run_id = path.name
        self._lock_fd = lock_fd

    @classmethod
    def create(cls, runs_dir: Path, run_id: str, *, force: bool = False) -> Self:
        """A new, empty, locked run directory.

        An existing one is refused; with `force` it is moved into the trash of `runs_dir`, never deleted. A
        folder that a killed start left without its config.yaml is no run, and is taken over.

        Raises: ConfigurationError: when the run exists without `force`, another process writes it, or nothing
            can be written there.
        """
        path = runs_dir / check_run_id(run_id)
        if run_id == LATEST:
            raise ConfigurationError(
                "latest means the newest run, whichever that is", setting="run_id", fix="choose another name"
            )
        try:
            runs_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(runs_dir, error) from None
        is_left_over = _is_half_made(path)
        if not is_left_over and (path.exists() or path.is_symlink()):
            if not force:
                raise ConfigurationError(
                    f"run {run_id} exists in {runs_dir}",
                    setting="run_id",
                    fix="choose another name; --resume continues this run, --force replaces it",
                )
            fd = lock_folder(path)
            move_to_trash(path)
            os.close(fd)
        try:
            path.mkdir(exist_ok=is_left_over)
        except OSError as error:
            raise _unusable(runs_dir, error) from None
        directory = cls(path, lock_folder(path))
        for name in FOLDERS:
            (path / name).mkdir(exist_ok=is_left_over)
        return directory

    @classmethod
    def open_locked(cls, runs_dir: Path, run_id: str) -> Self:
        """An existing run, locked for writing: to resume, evaluate or export it.

        Raises: ConfigurationError: when there is no such run, another process writes it, or its folder holds
            a link out of it or what is no file.
        """
        path = cls.view(runs_dir, run_id).path
        # Locked first: what another process writes meanwhile comes and goes.
        directory = cls(path, lock_folder(path))
        try:
            directory.check_files()
        except BaseException:
            directory.close()
            raise
        return directory

    @classmethod
    def view(cls, runs_dir: Path, run_id: str) -> Self:
        """An existing run, unlocked, for reading.

        Raises: ConfigurationError: when there is no such run.
        """
        path = runs_dir / check_run_id(run_id)
        if not os.path.lexists(path / CONFIG):
            known = trained_run_ids(runs_dir)
            fix = f"newest runs there: {', '.join(known[:5])}" if known else "there are no runs there yet"
            raise ConfigurationError(f"there is no run {run_id} in {runs_dir}", fix=fix)
        return cls(path, None)

    def close(self) -> None:
        """Give the lock back; may be called again."""
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    def inside(self, path: Path) -> Path:
        """`path` itself, a file of this run. Raises: FileError: when a link leads out of the run's folder."""
        return check_inside(path, self.path)

    def check_files(self) -> None:
        """Nothing in the folder leads out of it, as `attract.files.check_folder`.

        Raises: FileError: naming the first that does.
        """
        check_folder(
            self.path,
            lambda file: file.parent == self.logs or file.name == LOCK or file.name.startswith(DATABASE),
        )

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """The bytes of a file of this run, named from its folder; None where there is none.

        Raises:
            DamagedRunError: it is no regular file, or larger than `max_bytes`.
            FileError: a link leads out of the run's folder.
        """
        path = self.inside(self.path / name)
        with self.naming_damage():
            return read_optional_file(path, max_bytes)

    @contextlib.contextmanager
    def naming_damage(self) -> Generator[None]:
        """Name this run and the file that the block finds damaged.

        Raises: DamagedRunError: in place of FileError.
        """
        try:
            yield
        except FileError as error:
            name = os.path.relpath(error.path, self.path)
            raise DamagedRunError(self.run_id, f"{name}: {error.problem}") from None

    @property
    def checkpoints(self) -> Path:
        """Folder of the learner's checkpoints, one folder per version."""
        return self.path / "checkpoints"

    @property
    def export(self) -> Path:
        """Where the policies' models and policy.json go."""
        return self.path / "export"

    @property
    def logs(self) -> Path:
        """What gateway and learner said."""
        return self.path / "logs"

    @property
    def metrics_path(self) -> Path:
        """The metrics database, whether it is there or not.

        Raises: FileError: it, or what SQLite keeps beside it, is a link out of the folder or no file.
        """
        for suffix in ("-wal", "-shm", "-journal", ""):
            path = self.inside(self.path / f"{DATABASE}{suffix}")
            if path.exists() and not path.is_file():
                raise FileError(path, "is no regular file")
        return path

    def write_config(self, game: str, settings: dict[str, Any]) -> None:
        """Write `config.yaml`: the game asked for and every setting, with the time of creation as a label.

        Written anew for a resumed run, it keeps that time.
        """
        known = self.read_config()["created"] if (self.path / CONFIG).exists() else None
        created = known or datetime.now(UTC).isoformat(timespec="seconds")
        data = {"game": game, "created": created, "settings": settings}
        write_atomically(self.path / CONFIG, settings_text(data).encode())

    def read_config(self) -> dict[str, Any]:
        """What `write_config` wrote: `game`, `created`, `settings`.

        Raises: DamagedRunError: it was not written so.
        """
        path = self.inside(self.path / CONFIG)
        with self.naming_damage():
            return read_config_file(path)

    def read_settings(self) -> RunSettings:
        """The settings that the run was started with.

        Raises: DamagedRunError: its config.yaml holds none, or some that this version does not know.
        """
        config = self.read_config()
        with self.naming_damage():
            return settings_in(config, self.path / CONFIG)

    def write_game(
        self,
        reference: GameReference,
        description: GameDescription | None,
        *,
        described_sha256: str | None = None,
    ) -> None:
        """Write `game.json`: which module this run plays, by hash, and once known what it says of itself.

        `described_sha256`: of the module that said so; None: not known.
        """
        data = {
            "reference": reference.model_dump(mode="json"),
            "description": None if description is None else description.model_dump(mode="json"),
            "described_sha256": described_sha256,
        }
        write_atomically(self.path / GAME, json.dumps(data, indent=1).encode())

    def read_game(self) -> tuple[GameReference | None, GameDescription | None]:
        """What `write_game` wrote; (None, None) before. Raises: DamagedRunError: it was not written so."""
        data, path = self._game(), self.path / GAME
        if data is None:
            return None, None
        described = data.get("description")
        with self.naming_damage():
            return (
                parse_model(data.get("reference"), GameReference, path),
                None if described is None else parse_model(described, GameDescription, path),
            )

    def described_sha256(self) -> str | None:
        """The module whose description `read_game` gives, where that is known.

        Raises: DamagedRunError: as `read_game`.
        """
        found = (self._game() or {}).get("described_sha256")
        return found if isinstance(found, str) else None

    def _game(self) -> dict[str, Any] | None:
        data = self.read(GAME, MAX_JSON_BYTES)
        with self.naming_damage():
            return None if data is None else parse_object(data, self.path / GAME)

    def keep_model(self, onnx: bytes) -> None:
        """Write `model.onnx`, from which the models of all versions are made; the first one stays."""
        if not (self.path / MODEL).exists():
            write_atomically(self.path / MODEL, onnx)

    def mark(self, mark: Mark, version: int) -> None:
        """Point `latest` or `best` at a version's checkpoint: a relative link, replaced in one rename."""
        temporary = self.path / f".{mark}.{secrets.token_hex(4)}"
        temporary.symlink_to(Path("checkpoints") / str(version))
        if _is_copied(self.path / mark):
            _clear(self.path / mark)
        temporary.replace(self.path / mark)

    def marked(self, mark: Mark) -> int | None:
        """The version that `latest` or `best` points at, or is a copy of; None: there is no such version."""
        link = self.path / mark
        if _is_copied(link):
            with contextlib.suppress(CheckpointError):
                version = read_document(link)["policy_version"]
                return version if isinstance(version, int) else None
        name = link.readlink().name if link.is_symlink() else ""
        # A folder from elsewhere may hold any link of this name.
        return int(name) if name.isascii() and name.isdecimal() and len(name) < 16 else None

    def keep(self, version: int) -> None:
        """Never prune this version's checkpoint: a relative link in `kept/`."""
        kept = self.path / KEPT
        kept.mkdir(exist_ok=True)
        link = kept / str(version)
        if not link.is_symlink() and not _is_copied(link):
            link.symlink_to(Path("..") / "checkpoints" / str(version))

    def kept(self) -> list[int]:
        """Versions that `keep` named, ascending."""
        return self._linked(KEPT)

    def keep_opponents(self, versions: Collection[int]) -> None:
        """Never prune the checkpoints of these versions, until others are named: links in `opponents/`."""
        folder = self.path / OPPONENTS
        folder.mkdir(exist_ok=True)
        for gone in set(self.opponents()) - set(versions):
            _clear(folder / str(gone))
        for version in set(versions) - set(self.opponents()):
            (folder / str(version)).symlink_to(Path("..") / "checkpoints" / str(version))

    def opponents(self) -> list[int]:
        """Versions that `keep_opponents` named last, ascending."""
        return self._linked(OPPONENTS)

    def _linked(self, name: str) -> list[int]:
        folder = self.path / name
        names = [link.name for link in folder.iterdir()] if folder.is_dir() else []
        return sorted(int(name) for name in names if name.isascii() and name.isdecimal() and len(name) < 16)

    def player(self, name: str) -> bytes | None:
        """Code or model of an opponent, as `keep_player` kept it; None: it did not."""
        return self.read(_player_file(name), MAX_MODEL_BYTES)

    def keep_player(self, name: str, brought: bytes) -> None:
        """Keep the code or the model of an opponent: a resumed run meets the same one."""
        path = self.path / _player_file(name)
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, brought)

    def versions(self) -> list[int]:
        """Versions with a checkpoint folder, ascending."""
        return sorted(_versions(self.checkpoints))

    def find_version(self, name: str) -> int:
        """The version that a command names, as `versions.find_version`. Raises: ConfigurationError."""
        return find_version(name, self.versions(), self.marked("best"), run_id=self.run_id)

    def resumed_from(self) -> str:
        """Salt of a resumed run's random streams, new at each start; empty without a version above 0.

        It has the newest version and the number of versions set aside as damaged, whose numbers training uses
        again.
        """
        newest = max(self.versions(), default=0)
        num_damaged = sum(1 for _ in self.checkpoints.glob("*.broken-*"))
        return f"{newest}.{num_damaged}" if newest or num_damaged else ""

    def roll_back(self, version: int) -> int:
        """Set aside every version after `version`, so that a resumed run continues before them (rule C10).

        Their folders stay as `<version>.broken-<4 hex>`, and what was exported as `export.broken-<4 hex>`.
        The run's next random streams differ from theirs.

        Returns: the version that is the newest now: `version`, or where that was pruned the next older one
            that is kept, or the oldest of all.
        Raises: ConfigurationError: when there is nothing to go back to.
        """
        known = self.versions()
        if not known:
            raise ConfigurationError(f"run {self.run_id} has no version to go back to", setting="version")
        newest = max((other for other in known if other <= version), default=known[0])
        for late in [other for other in known if other > newest]:
            folder = self.checkpoints / str(late)
            folder.rename(folder.with_name(f"{late}.broken-{secrets.token_hex(2)}"))
            _clear(self.path / KEPT / str(late))
            _clear(self.path / OPPONENTS / str(late))
        self.mark("latest", newest)
        if (self.marked("best") or 0) > newest:
            _clear(self.path / "best")
        if newest < known[-1] and self.export.is_dir() and any(self.export.iterdir()):
            # The rejected versions must not be shipped: the run exports again when it ends.
            self.export.rename(self.export.with_name(f"export.broken-{secrets.token_hex(2)}"))
            self.export.mkdir()
        return newest

    def prune(self) -> None:
        """Keep what `versions.thinned` gives, `latest`, `best`, `kept/` and opponents; remove the others."""
        versions = self.versions()
        marked = {self.marked("latest"), self.marked("best")}
        stays = {*thinned(versions), *marked, *self.kept(), *self.opponents()}
        for version in versions:
            if version not in stays:
                # Out of sight first: a kill must not leave half a version among the others.
                folder = self.checkpoints / str(version)
                folder.rename(folder.with_name(f"{version}{PRUNED}"))
        for folder in self.checkpoints.glob(f"*{PRUNED}"):
            shutil.rmtree(folder)


@contextlib.contextmanager
def closing_on_error(directory: RunDirectory, *, is_new: bool = False) -> Generator[None]:
    """Release the lock when the block fails, and delete a half-created run."""
    try:
        yield
    except BaseException:
        directory.close()
        if is_new:
            discard_unused(directory.path.parent, directory.run_id, keep_logs=False)
        raise


def _player_file(name: str) -> str:
    ending = "js" if name.startswith(SCRIPT) else "onnx"
    return f"players/{hashlib.sha256(name.encode()).hexdigest()[:16]}.{ending}"


def _is_copied(link: Path) -> bool:
    """Whether a checkpoint is in the place of a link to it: the run was copied with its links followed."""
    return link.is_dir() and not link.is_symlink()


def _clear(link: Path) -> None:
    if _is_copied(link):
        shutil.rmtree(link)
    else:
        link.unlink(missing_ok=True)


def _is_half_made(path: Path) -> bool:
    """Whether a start was killed before it wrote config.yaml: nothing else is in the folder that it left."""
    if path.is_symlink() or not path.is_dir() or is_locked(path):
        return False
    files = [name for _, _, names in os.walk(path) for name in names]
    # The second is of `write_atomically`, before its rename.
    own = all(name == LOCK or name.startswith(".config.yaml.") for name in files)
    entries = list(path.iterdir())
    # A folder from elsewhere may have a link in the place of one of ours.
    own = own and not any(entry.is_symlink() for entry in entries)
    return own and {entry.name for entry in entries if entry.is_dir()} <= set(FOLDERS)


def _unusable(runs_dir: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"no run can be written in {runs_dir}: {error.strerror}",
        setting="runs folder",
        fix="name a folder that you may write to, by --runs-dir or ATTRACT_RUNS_DIR",
    )


def _versions(checkpoints: Path) -> Iterator[int]:
    for path in checkpoints.glob("*"):
        if path.name.isdecimal() and path.is_dir():
            yield int(path.name)
