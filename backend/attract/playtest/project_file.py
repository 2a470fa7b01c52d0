"""A project's file of what is played, and how: `attract.config.ts` or `.yaml`. It is data, and never run."""

import ast
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError, field_validator

from attract.errors import ConfigurationError, FileError
from attract.files import read_file
from attract.games.bundler import find_esbuild
from attract.games.page_files import ADDRESS
from attract.games.page_places import PACKAGE_WEB_DIR, names_page, page_place
from attract.games.project import find_project_dir
from attract.playtest.rules import Rule, Rules, check_rules
from attract.schema.devices import DeviceName
from attract.settings.base import Settings
from attract.settings.errors import dotted, refusal
from attract.settings.file import parse_settings

NAMES: Final = tuple(f"attract.config.{suffix}" for suffix in ("ts", "js", "mjs", "yaml", "yml"))
MAX_BYTES: Final = 64 << 10
READ_SECONDS: Final = 10.0
CrowdName = Literal["idle", "random", "sticky", "novelty", "hold", "recorded", "trained", "younger"]
Place = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,4096}$", examples=["./dist"])]
PLACES: Final = ("page", "game", "adapter", "baseline", "out", "junit", "html")
"""Fields that are paths, relative to the file."""
EXAMPLE: Final = 'it is data, read and not run: export default { page: "./dist", rules: { slow: "warn" } }'
STATEMENT: Final = re.compile(
    r"(?:(?:const|let|var) ([\w$]+)=(?P<named>\{.*\});export default \1"
    r"|export default ?(?P<value>\{.*\}));?\s*",
    re.DOTALL,
)
TOKEN: Final = re.compile(
    r"""(?P<name>[^\W\d][\w$]*)(?=:)|(?P<word>true|false|null)(?![\w$])"""
    r"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[{}\[\],:]|(?P<other>.)""",
    re.DOTALL,
)
"""What is in an object of data, as esbuild prints it: no number or text of it is another in Python."""
WORDS: Final = {"true": "True", "false": "False", "null": "None"}


class ProjectSettings(Settings):
    """What the file may say; without a field the command's own default holds, and its flags win."""

    page: Place | None = None
    """The built page: a folder, an .html file, or an address on this machine."""
    adapter: Place | None = None
    """The page's adapter; without it the one beside the page, if there is one."""
    game: Place | None = None
    """A game module, in place of a page."""
    devices: Annotated[tuple[DeviceName, ...], Field(max_length=5)] = ()
    """A page is played on each in turn; without any on what its adapter says, or a desktop."""
    rules: Annotated[dict[str, Rule], Field(max_length=256)] = {}
    """By oracle: `off`, `warn`, `error`, or that and thresholds."""
    players: Annotated[tuple[CrowdName, ...], Field(max_length=8)] = ()
    """Who of the crowd plays beside `idle`; without any all do."""
    seconds: Annotated[float, Field(ge=10, le=3600)] | None = None
    """How long it may play, on each device."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] | None = None
    baseline: Place | None = None
    policy: Place | None = None
    """A run id, `latest`, or a folder that `attract export` wrote."""
    out: Place | None = None
    junit: Place | None = None
    html: Place | None = None

    @field_validator("devices", "players")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names))

    @field_validator("rules")
    @classmethod
    def _known(cls, rules: dict[str, Rule]) -> dict[str, Rule]:
        check_rules(rules)
        return rules

    @property
    def contradiction(self) -> str | None:
        """Why it names nothing that can be played so."""
        is_page = self.page is not None or self.adapter is not None
        if self.game is None:
            return None if is_page else "names nothing to play: page, such as './dist', or game, a module"
        if is_page:
            return "game is a module, which has no page and no adapter: keep one"
        return "devices are those of a page, and game is a module" if self.devices else None


class ProjectFile:
    """The file of a project, whose paths are those of files in the project."""

    def __init__(self, path: Path, settings: ProjectSettings) -> None:
        """Raises: ConfigurationError: a path leads out of the project."""
        self.path = path
        self.settings = settings
        self.rules = Rules(settings.rules)
        self._places = {name: self._inside(name) for name in PLACES}
        policy = settings.policy
        self.policy = str(path.parent / policy) if policy and (path.parent / policy).is_dir() else policy

    def place(self, name: str) -> Path | None:
        """A file or folder that it names."""
        given = self._places[name]
        return Path(given) if given is not None else None

    @property
    def game(self) -> str:
        """What is played, as a command's GAME."""
        names = (self._places[name] for name in ("game", "adapter", "page"))
        given = next(given for given in names if given is not None)
        relative = given if "://" in given else Path(os.path.relpath(given)).as_posix()
        # With a dot: a folder may be called as a bundled game is.
        return relative if "/" in relative else f"./{relative}"

    def is_of(self, game: str, runs_dir: Path) -> bool:
        """Whether a GAME of a command line means what this file names."""
        own = {self._places[name] for name in ("game", "adapter", "page")} - {None}
        return _meant(game, runs_dir) in {_meant(each, runs_dir) for each in own if each is not None}

    def _inside(self, name: str) -> str | None:
        """A path as a command line has it; an address of a page as it is."""
        given: str | None = getattr(self.settings, name)
        if given is None or (name == "page" and ADDRESS.fullmatch(given)):
            return given
        project = find_project_dir(self.path)
        place = (self.path.parent / given).resolve()
        if not place.is_relative_to(project):
            raise ConfigurationError(
                f"{given} leads out of {project}",
                setting=f"{name} in {self.path.name}",
                fix="name what is in the project; on the command line it may be elsewhere",
            )
        return str(place)


def _meant(game: str, runs_dir: Path) -> object:
    try:
        place = page_place(game, runs_dir) if names_page(game, None) else None
    except ConfigurationError:
        place = None
    return Path(game).resolve() if place is None else (place.folder, place.page)


def find_project_file(current: Path) -> ProjectFile | None:
    """The file in the current folder or the nearest above it in its project; None: there is none.

    Args:
        current: whose project it is, see `find_project_dir`: never the home directory or what is above.

    Raises: ConfigurationError: naming file and field: it is no such file, or there are two in a folder.
    """
    current = current.resolve()
    top = find_project_dir(current / NAMES[0], current)
    for folder in (current, *current.parents):
        found = [folder / name for name in NAMES if (folder / name).is_file()]
        if len(found) > 1:
            raise ConfigurationError(
                f"there are {' and '.join(path.name for path in found)} in {folder}", fix="keep one of them"
            )
        if found:
            return read_project_file(found[0])
        if folder == top:
            break
    return None


def read_project_file(path: Path) -> ProjectFile:
    """The file at `path`. Raises: ConfigurationError: naming file and field, and what would be right."""
    data = read_file(path, MAX_BYTES, find_project_dir(path))
    if path.suffix in (".yaml", ".yml"):
        values: Mapping[str, Any] = parse_settings(data, path.name)
    else:
        values = _parsed(data, path, find_esbuild(PACKAGE_WEB_DIR))
    try:
        settings = ProjectSettings.model_validate(values)
    except ValidationError as error:
        raise refusal(
            error, ProjectSettings, values, lambda at: f"{dotted(at)} in {path.name}" if at else path.name
        ) from None
    if settings.contradiction is not None:
        raise ConfigurationError(settings.contradiction, setting=path.name)
    return ProjectFile(path, settings)


def _parsed(data: bytes, path: Path, esbuild: Path) -> dict[str, Any]:
    """The object that a module exports by default. esbuild takes its types away, and runs nothing.

    Raises: FileError: it is no TypeScript, or exports something that is not written out.
    """
    flags = ("--loader=ts", "--minify-whitespace", "--legal-comments=none", "--charset=utf8")
    flags = (*flags, "--supported:template-literal=false")
    # Without `--tsconfig-raw` esbuild would look for a tsconfig.json.
    quiet = ("--tsconfig-raw={}", "--log-level=warning", "--color=false", f"--sourcefile={path.name}")
    try:
        ended = subprocess.run(
            [str(esbuild), *flags, *quiet], input=data, capture_output=True, timeout=READ_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise FileError(path, f"could not be read in {READ_SECONDS:g} s") from None
    # Also a warning: of a name that is given twice.
    if ended.returncode != 0 or ended.stderr:
        raise FileError(path, ended.stderr.decode(errors="replace").strip())
    code = ended.stdout.decode(errors="replace")
    statement = STATEMENT.fullmatch(code)
    try:
        if statement is None:
            raise ValueError("there is no `export default { ... }`, or something beside it")
        return ast.literal_eval(TOKEN.sub(_in_python, statement["named"] or statement["value"]))
    except (ValueError, SyntaxError, TypeError) as error:
        raise FileError(path, f"is no plain object: {error}", fix=EXAMPLE) from None


def _in_python(token: re.Match[str]) -> str:
    if token["other"] is not None:
        raise ValueError(f"not written out: {token.string[token.start() : token.start() + 40]}")
    return repr(token["name"]) if token["name"] else WORDS.get(token[0], token[0])
