"""The recorded episodes that a run keeps: a file each, an index of them, and limits of number and size."""

import contextlib
import fcntl
import json
import os
import re
import secrets
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, get_args

from pydantic import ValidationError

from attract.errors import ConfigurationError, EpisodeWriteError, FileError, UnknownRunError
from attract.files import (
    check_inside,
    first_problem,
    parse_object,
    read_file,
    read_optional_file,
    write_atomically,
)
from attract.runs.episode_choice import MAX_FAILURES, MAX_STARRED, EpisodeLimits, is_protected, surplus
from attract.runs.plain_text import plain
from attract.schema.base import WireModel
from attract.schema.episode_actions import check_recorded, deflated
from attract.schema.recorded_episode import EpisodeEntry, EpisodeRole, EpisodeSource, RecordedEpisode

MAX_FILE_BYTES: Final = 4 << 20
"""The longest actions have half of that, as base64 that is not deflated."""
SUFFIX: Final = ".episode.json"


def read_episode(path: Path, folder: Path | None = None) -> RecordedEpisode:
    """The episode of a file, which may be a stranger's.

    Args:
        path: the file.
        folder: that it was found in, which no link may lead out of; None: it was named itself.

    Raises: FileError: it cannot be read, or is no recorded episode.
    """
    data = read_file(path, MAX_FILE_BYTES, folder)
    document = parse_object(data, path)
    try:
        episode = RecordedEpisode.model_validate(document)
        check_recorded(episode)
    except ValidationError as error:
        raise FileError(path, f"is no recorded episode: {first_problem(error)}") from None
    except ConfigurationError as error:
        raise FileError(path, f"is no recorded episode: {error.setting}: {error.problem}") from None
    return episode


def written(episode: RecordedEpisode) -> bytes:
    """The content of its file: what has a default and is not set is left out."""
    document = deflated(episode).model_dump(mode="json", exclude_defaults=True)
    whole = {"format": episode.format, "version": episode.version, **document}
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()


FOLDER: Final = "episodes"
INDEX: Final = "index.json"
STAR: Final = ".star"
"""Ending of the empty file that marks a starred episode: it outlasts a damaged index."""
LOCK: Final = ".lock"
MAX_INDEX_BYTES: Final = 16 << 20
MAX_NAMES: Final = 50_000
"""Files of a folder that are looked at; a run of ours has some two thousand."""
MAX_READ: Final = 12_000
"""Files that are read where the index does not know them."""
ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
NUMBER: Final = re.compile(r"\d+")
MAX_ERROR_CHARACTERS: Final = 300


@dataclass(frozen=True)
class NewEpisode:
    """An episode to keep."""

    episode: RecordedEpisode
    source: EpisodeSource
    role: EpisodeRole | None = None
    agent_steps: int | None = None
    """The run's when it was played."""


class EpisodeIndex(WireModel):
    """What the index holds: one entry per file, oldest first. The files are what counts."""

    format: Literal["attract-episodes"] = "attract-episodes"
    version: Literal[1] = 1
    entries: list[EpisodeEntry]


class EpisodeStore:
    """Adds, lists, stars and deletes the episodes of one run; keeps nothing in memory.

    May be used from several threads and processes at once: who writes holds a lock of the folder. Reading
    changes nothing.
    """

    def __init__(self, run_path: Path, limits: EpisodeLimits) -> None:
        """`run_path`: the run's folder; perhaps a stranger's."""
        self._run = run_path
        self._folder = run_path / FOLDER
        self._limits = limits

    # --- reading ---

    def entries(self) -> list[EpisodeEntry]:
        """All episodes, newest first; a file that is none is listed with what is wrong with it.

        Raises: FileError: the folder is a link out of the run.
        """
        return self._entries()[::-1]

    def get(self, episode_id: str) -> RecordedEpisode:
        """One episode.

        Raises:
            UnknownRunError: there is none of that id.
            FileError: its file is damaged, or is no file.
        """
        self._require(episode_id)
        return read_episode(self._path(episode_id), self._run).model_copy(update={"id": episode_id})

    # --- writing ---

    def add(self, episodes: Sequence[NewEpisode]) -> list[EpisodeEntry]:
        """Keep episodes, and remove what is over the limits.

        Returns: the entries of those that are kept now, in the order given; in the place of a failure whose
            kind is kept already, the entry of the first.

        Raises:
            ConfigurationError: an episode of a person has no room beside the starred ones.
            EpisodeWriteError: the disk does not take it.
        """
        if not self._limits.max_bytes or not self._limits.max_episodes:
            return []
        with self._writing():
            known = self._entries()
            kept: list[EpisodeEntry] = []
            for new in episodes:
                entry = self._add(new, known)
                if entry is not None:
                    kept.append(entry)
            left = self._thin(known)
            self._write_index(left)
        ids = {entry.id for entry in left}
        return [entry for entry in kept if entry.id in ids]

    def star(self, episode_id: str, starred: bool) -> EpisodeEntry:
        """Keep an episode for good, or no longer.

        Raises: UnknownRunError. ConfigurationError: too many are starred. EpisodeWriteError: the disk.
        """
        self._require(episode_id)
        with self._writing():
            known = self._entries()
            place, entry = self._find(known, episode_id)
            changed = entry.model_copy(update={"starred": starred})
            if starred and not entry.starred:
                self._check_room(known, entry)
                write_atomically(self._star(episode_id), b"")
            elif not starred:
                self._star(episode_id).unlink(missing_ok=True)
            known[place] = changed
            self._write_index(known)
        return changed

    def delete(self, episode_id: str) -> None:
        """Remove an episode. Raises: UnknownRunError. EpisodeWriteError: the disk."""
        self._require(episode_id)
        with self._writing():
            known = self._entries()
            place, entry = self._find(known, episode_id)
            self._remove(entry)
            del known[place]
            self._write_index(known)

    def _add(self, new: NewEpisode, known: list[EpisodeEntry]) -> EpisodeEntry | None:
        now = datetime.now(UTC)
        parts = [f"{now:%Y%m%d-%H%M%S}{now.microsecond // 1000:03d}", new.source, new.role]
        episode_id = "-".join([*filter(None, parts), secrets.token_hex(3)])
        created_at = now.isoformat(timespec="seconds")
        update = {"id": episode_id, "run_id": self._run.name, "created_at": created_at}
        episode = deflated(new.episode).model_copy(update=update)
        data = written(episode)
        entry = entry_of(episode, new, len(data))
        if new.source == "failure":
            failures = [known_entry for known_entry in known if known_entry.source == "failure"]
            same = next((old for old in failures if _kind(old) == _kind(entry)), None)
            if same is not None:
                return same
            if len(failures) >= MAX_FAILURES or not self._has_room(known, entry):
                return None
        if entry.starred:
            self._check_room(known, entry)
        if len(data) > MAX_FILE_BYTES:
            return None
        write_atomically(self._path(episode_id), data)
        if entry.starred:
            write_atomically(self._star(episode_id), b"")
        known.append(entry)
        return entry

    def _thin(self, entries: list[EpisodeEntry]) -> list[EpisodeEntry]:
        whole = [entry for entry in entries if entry.problem is None]
        gone = surplus(whole, self._limits)
        for entry in gone:
            self._remove(entry)
        ids = {entry.id for entry in gone}
        return [entry for entry in entries if entry.id not in ids]

    def _remove(self, entry: EpisodeEntry) -> None:
        self._path(entry.id).unlink(missing_ok=True)
        self._star(entry.id).unlink(missing_ok=True)

    def _has_room(self, known: list[EpisodeEntry], entry: EpisodeEntry) -> bool:
        """Whether what only a person removes stays within the limits with this one."""
        others = [other for other in known if is_protected(other) and other.id != entry.id]
        num_bytes = sum(other.num_bytes for other in others) + entry.num_bytes
        return num_bytes <= self._limits.max_bytes and len(others) < self._limits.max_episodes

    def _check_room(self, known: list[EpisodeEntry], entry: EpisodeEntry) -> None:
        num_starred = sum(1 for other in known if other.starred)
        if num_starred >= MAX_STARRED or not self._has_room(known, entry):
            raise ConfigurationError(
                f"run {self._run.name} has {num_starred} starred episodes, and no room for one more",
                fix="remove the star of another, delete one, or raise recording.max_bytes",
            )

    def _find(self, known: list[EpisodeEntry], episode_id: str) -> tuple[int, EpisodeEntry]:
        for place, entry in enumerate(known):
            if entry.id == episode_id:
                return place, entry
        raise self._unknown(episode_id)

    # --- the folder ---

    def _require(self, episode_id: str) -> None:
        if not os.path.lexists(self._path(episode_id)):
            raise self._unknown(episode_id)

    def _path(self, episode_id: str) -> Path:
        """Raises: UnknownRunError: this is no id: it could lead out of the folder."""
        if ID.fullmatch(episode_id) is None or f"{episode_id}.json" == INDEX:
            raise self._unknown(episode_id)
        return self._folder / f"{episode_id}.json"

    def _unknown(self, episode_id: str) -> UnknownRunError:
        return UnknownRunError(f"run {self._run.name} has no episode {plain(episode_id, 64)}")

    def _star(self, episode_id: str) -> Path:
        return self._folder / f"{episode_id}{STAR}"

    def _entries(self) -> list[EpisodeEntry]:
        """Oldest first: of the index where that is right of a file, else of the file itself."""
        check_inside(self._folder, self._run)
        sizes, stars = self._files()
        known = {entry.id: entry for entry in self._read_index()}
        found: list[EpisodeEntry] = []
        num_read = 0
        for episode_id in sorted(sizes):
            entry, is_starred = known.get(episode_id), episode_id in stars
            if entry is None or entry.num_bytes != sizes[episode_id] or entry.problem is not None:
                num_read += 1
                if num_read > MAX_READ:
                    continue
                entry = self._look_at(episode_id, entry, max(0, sizes[episode_id]))
            if entry.starred != is_starred:
                entry = entry.model_copy(update={"starred": is_starred})
            found.append(entry)
        found.sort(key=lambda entry: (entry.created_at, entry.id))
        return found

    def _files(self) -> tuple[dict[str, int], set[str]]:
        """Size of each episode's file by its id, -1 of what is no regular file; ids that are starred."""
        sizes: dict[str, int] = {}
        stars: set[str] = set()
        try:
            with os.scandir(self._folder) as files:
                for count, file in enumerate(files):
                    if count >= MAX_NAMES:
                        break
                    stem, ending = Path(file.name).stem, Path(file.name).suffix
                    if ID.fullmatch(stem) is None or file.name == INDEX:
                        continue
                    if ending == STAR:
                        stars.add(stem)
                    elif ending == ".json":
                        is_file = file.is_file(follow_symlinks=False)
                        sizes[stem] = file.stat(follow_symlinks=False).st_size if is_file else -1
        except OSError:
            # A run from before, or one in which nothing was kept.
            return {}, set()
        return sizes, stars

    def _read_index(self) -> list[EpisodeEntry]:
        try:
            data = read_optional_file(self._folder / INDEX, MAX_INDEX_BYTES, self._run)
            return [] if data is None else EpisodeIndex.model_validate_json(data).entries
        except (FileError, ValidationError):
            # The files are read instead.
            return []

    def _look_at(self, episode_id: str, known: EpisodeEntry | None, num_bytes: int) -> EpisodeEntry:
        source, role = _named(episode_id)
        try:
            episode = read_episode(self._path(episode_id), self._run)
        except FileError as error:
            entry = known or EpisodeEntry(
                id=episode_id,
                source=source or "training",
                role=role,
                episode_return=0.0,
                num_steps=0,
                seconds=0.0,
                end_reason="stopped",
                num_bytes=num_bytes,
                created_at="",
            )
            return entry.model_copy(update={"problem": error.problem[:MAX_ERROR_CHARACTERS]})
        if source is None:
            is_persons = any(seat.player == "person" for seat in episode.seats)
            source = "failure" if episode.error is not None else "person" if is_persons else "training"
        steps = None if known is None else known.agent_steps
        new = NewEpisode(episode, source, role, steps)
        return entry_of(episode.model_copy(update={"id": episode_id}), new, num_bytes)

    def _write_index(self, entries: list[EpisodeEntry]) -> None:
        whole = [entry for entry in entries if entry.problem is None]
        # Lost by a power cut, it is made again of the files.
        data = EpisodeIndex(entries=whole).model_dump_json().encode()
        write_atomically(self._folder / INDEX, data, is_synced=False)

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        """Keep other writers out, and take away what a killed one left half written.

        Raises: EpisodeWriteError: in place of OSError.
        """
        check_inside(self._folder, self._run)
        try:
            self._folder.mkdir(exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            lock = os.open(self._folder / LOCK, flags, 0o644)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                for path in self._folder.glob(".*.*.*"):
                    if path.is_symlink() or path.is_file():
                        path.unlink(missing_ok=True)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            raise EpisodeWriteError(
                f"the episodes in {self._folder} cannot be written: {error.strerror}"
            ) from error


def entry_of(episode: RecordedEpisode, new: NewEpisode, num_bytes: int) -> EpisodeEntry:
    """The index's entry of an episode whose file has `num_bytes`."""
    versions = [seat.policy_version for seat in episode.seats if seat.policy_version is not None]
    error = episode.error
    return EpisodeEntry(
        id=episode.id,
        source=new.source,
        role=new.role,
        policy_version=max(versions, default=None),
        agent_steps=new.agent_steps,
        episode_return=episode.mean_return,
        num_steps=episode.num_steps,
        seconds=episode.seconds,
        end_reason=episode.end_reason,
        error=None if error is None else _first_line(f"{error.name}: {error.text}"),
        starred=new.source == "person",
        num_bytes=num_bytes,
        created_at=episode.created_at,
    )


def _named(episode_id: str) -> tuple[EpisodeSource | None, EpisodeRole | None]:
    """Source and role as the id of an episode of ours says."""
    words = episode_id.split("-")
    source = next((source for source in get_args(EpisodeSource) if source in words), None)
    return source, next((role for role in get_args(EpisodeRole) if role in words), None)


def _kind(entry: EpisodeEntry) -> str:
    """Failures are of one kind where their texts differ in numbers alone."""
    return NUMBER.sub("#", entry.error or "")


def _first_line(text: str) -> str:
    return (text.splitlines() or [""])[0][:MAX_ERROR_CHARACTERS]
