"""The page that a game lives in as a site: what it needs, with the agent attached."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from attract.commands.destination import write_output
from attract.errors import FileError
from attract.files import check_inside, read_file
from attract.games.kept_game import CODE
from attract.games.page_files import NOT_SHIPPED, PACKAGES, PageFolder, is_shown_file, with_first_script
from attract.schema.answers import ExportedLevel

WEB: Final = Path(__file__).parents[1] / "web"
PLAYER: Final = WEB / "play" / "agent.js"
"""The player of a policy in a page, built from `web/play`."""
AGENT_FOLDER: Final = "attract"
"""Folder of the agent's files in the exported page."""
ATTACH: Final = """\
// After ten seconds without a key, a click or a touch the agent plays; any of them gives the game back.
import definition from "./game.js";
import { loadAgent } from "./agent.js";
import { attachAgent } from "./page.js";

const agent = await loadAgent(new URL(".", import.meta.url));
attachAgent(definition, agent, { idleSeconds: 10 });
"""
MAX_PAGE_BYTES: Final = 64 << 20
NAMED_PACKAGE: Final = re.compile(rb"node_modules/((?:@[\w.-]+/)?[\w.-]+)")


@dataclass(frozen=True)
class PageCopy:
    """The files to copy from a page's folder, collected before anything is written."""

    page: Path
    files: list[Path] = field(default_factory=list[Path])
    """Below the page's folder; each a regular file, and none reached by a link out of what is served."""
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """See `ExportedPage.left_out`."""

    def write(self, folder: Path, site: Path) -> None:
        """Copy the files into a folder of `site`. Raises: as `write_output`."""
        for below in self.files:
            write_output(folder / below, self.page.parent / below, site)


@dataclass(frozen=True)
class ExportedPage:
    """A page that is ready for any static server."""

    out: Path
    """The site's folder."""
    page: str
    """Its page, as a path below `out`."""
    source: Path
    """The page that it was made of."""
    hidden: frozenset[Path]
    """Folders that are copied nowhere."""
    files: PageFolder
    """Files that the source's page may request, in its folder and above."""
    written: list[Path]
    """Its page, and the module by which the agent is attached."""
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """Omitted files of the page's folder: path there to size in bytes; folders end with a slash."""
    from_above: list[Path] = field(default_factory=list[Path])
    """Entries of the list of `ServerSettings.include` that were copied."""

    def add(self, path: str) -> bool:
        """Copy what the page asks for at `path`, from the site's root; False: the source has no such file.

        For what a page asks for later, a folder is copied whole, unless it holds the page's own: that of a
        file of the page's folder, or one that the list names. Of others above nothing is copied.

        Raises: FileError: as `find_page_copy`.
        """
        file = self.files.find(f"/{path}")
        target = self.out / path
        entry = self.files.listed(file) if isinstance(file, Path) else None
        if not isinstance(file, Path) or entry is None or target.exists():
            return False
        if not file.is_relative_to(self.source.parent):
            self.from_above.append(entry)
        elif file.parent != self.source.parent:
            entry = file.parent
        below = file.relative_to(entry).parts
        if below and below == target.parts[-len(below) :] and not self.source.is_relative_to(entry):
            beside = PageCopy(entry / file.name)
            _find_files(beside, entry, entry, set(), (entry, *self.hidden))
            beside.write(target.parents[len(below) - 1], self.out)
        if not target.exists():
            write_output(target, file, self.out)
        return True


@dataclass(frozen=True)
class Exported:
    """Result of an export: of a run's policy, or of a recorded episode."""

    written: list[Path]
    """The files, the policies or the page first; without policy.json."""
    run_id: str | None = None
    """The run's id, also for `latest`; None: an episode."""
    version: int | None = None
    episode: str | None = None
    """The episode's file, or `RUN:EPISODE`; None: a run."""
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """See `ExportedPage.left_out`."""
    page: str = "index.html"
    """The page, as a path below the folder of the export."""
    notes: list[str] = field(default_factory=list[str])
    """What came of its first play, a sentence each."""
    levels: list[ExportedLevel] = field(default_factory=list[ExportedLevel])
    """The easiest first; empty unless they were asked for."""


def find_page_copy(source: Path, root: Path, hidden: Collection[Path]) -> PageCopy:
    """The part of a page's folder that a site needs: all but `NOT_SHIPPED` and packages that the page does
    not name.

    Args:
        source: the page.
        root: the folder that its files are served from, which links may not lead out of.
        hidden: folders that are left out wherever they lie: the site may lie in the folder it is made of.

    Raises: FileError: a link leads out of `root`, or what would be copied is neither a file nor a folder.
    """
    named = {name.decode() for name in NAMED_PACKAGE.findall(read_file(source, MAX_PAGE_BYTES, root))}
    copy = PageCopy(source)
    passed_over = (source.parent.resolve(), *map(Path.resolve, hidden))
    _find_files(copy, source.parent, root.resolve(), named, passed_over)
    return copy


def _find_files(copy: PageCopy, folder: Path, root: Path, named: set[str], hidden: tuple[Path, ...]) -> None:
    """Add what is shipped of `folder`; of `hidden` are also the folders that are being looked through."""
    for path in sorted(folder.iterdir()):
        below = path.relative_to(copy.page.parent)
        if not _is_shipped(below, named):
            copy.left_out[f"{below.as_posix()}/" if path.is_dir() else below.as_posix()] = _size(path)
            continue
        target = check_inside(path, root).resolve()
        if target in hidden:
            continue
        if not is_shown_file(target, root):
            raise FileError(path, "is a link to a hidden file", fix="put the file itself there")
        if path.is_dir():
            # A link to its own parent folder would be copied endlessly.
            _find_files(copy, path, root, named, (*hidden, target))
        elif path.is_file():
            copy.files.append(below)
        else:
            raise FileError(path, "is not a regular file", fix="remove it, or put a file there")


def write_site(
    out: Path, game: Path, copy: PageCopy, runs_dir: Path, include: Sequence[str] = ()
) -> ExportedPage:
    """The page that a game lives in, as it is, with the agent attached.

    The site's root stands for the nearest folder that holds what the page names by `../`.

    Args:
        out: the site's folder; the policy is in its `AGENT_FOLDER`.
        game: the adapter's bundled module.
        copy: of the page's folder.
        runs_dir: not copied, wherever it lies.
        include: see `ServerSettings.include`.

    Raises: FileError: a file is gone, or is no file any more.
    """
    site = copy_site(out, [out / AGENT_FOLDER / "main.js"], copy, runs_dir, include)
    agent = out / AGENT_FOLDER
    write_output(agent / "main.js", ATTACH.encode(), out)
    for source, name in ((PLAYER, PLAYER.name), (WEB / "sdk" / "page.js", "page.js"), (game, CODE)):
        write_output(agent / name, source, out)
    main = f"{'../' * site.page.count('/')}{AGENT_FOLDER}/main.js"
    page = read_file(out / site.page, MAX_PAGE_BYTES)
    with_agent = with_first_script(page, f'<script type="module" src="{main}"></script>'.encode())
    write_output(out / site.page, with_agent, out)
    return site


def copy_site(
    out: Path, beside: list[Path], copy: PageCopy, runs_dir: Path, include: Sequence[str] = ()
) -> ExportedPage:
    """The page that a game lives in, as it is: arguments and errors as of `write_site`.

    Args:
        beside: what else is written, for `ExportedPage.written`.
    """
    source = copy.page.resolve()
    files = PageFolder(source.parent, runs_dir, include)
    files.find(f"/{source.name}")
    place = source.relative_to(files.root)
    # The site may be inside its source folder.
    hidden = frozenset({out.resolve(), runs_dir.resolve()})
    written = [out / place, *beside]
    site = ExportedPage(out, place.as_posix(), source, hidden, files, written, copy.left_out)
    copy.write((out / place).parent, out)
    # Its name may be that of a link to it.
    write_output(out / place, source, out)
    return site


def left_out_text(left_out: dict[str, int]) -> str:
    """The omitted files with their sizes, the largest first; empty without any."""
    largest = sorted(left_out.items(), key=lambda entry: (-entry[1], entry[0]))
    shown = [f"{name} ({_bytes_text(size)})" for name, size in largest[:5]]
    if len(largest) > len(shown):
        rest = sum(size for _, size in largest[len(shown) :])
        shown.append(f"{len(largest) - len(shown)} more ({_bytes_text(rest)})")
    return f"left out: {', '.join(shown)}" if shown else ""


def _is_shipped(path: Path, packages: set[str]) -> bool:
    """Whether a page needs `path`, which is relative to its folder; `packages`: those that it names."""
    top, *inner = path.parts
    if top == PACKAGES and packages:
        # A page without a bundler may name a package where it was installed.
        own = "/".join(inner[:2] if inner and inner[0].startswith("@") else inner[:1])
        return own == "" or any(name == own or name.startswith(f"{own}/") for name in packages)
    return not any(fnmatch(path.name, pattern) for pattern in NOT_SHIPPED)


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())


def _bytes_text(size: int) -> str:
    for unit, bytes_each in (("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_each:
            return f"{size / bytes_each:.3g} {unit}"
    return f"{size} B"
