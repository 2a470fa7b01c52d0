"""The files of the dashboard as they were built; what is not among them is not served."""

import os
from pathlib import Path


class BuiltPages:
    """Knows every file under one folder; reads it again after a new build. Used from several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: tuple[int, dict[str, Path]] = (-1, {})

    def find(self, path: str) -> Path | None:
        """The file at `path`, relative and with `/`; None when none was built by that name."""
        stamp = self._stamp()
        if stamp != self._known[0]:
            self._known = (stamp, dict(self._files()))
        return self._known[1].get(path)

    def _stamp(self) -> int:
        try:
            return (self._folder / "index.html").stat().st_mtime_ns
        except OSError:
            return -1

    def _files(self) -> list[tuple[str, Path]]:
        files = [Path(folder) / name for folder, _, names in os.walk(self._folder) for name in names]
        return [
            (file.relative_to(self._folder).as_posix(), file)
            for file in files
            if file.is_file() and not file.is_symlink()
        ]
