"""The games this server may serve: bundled ones, and modules under the project directory, by content hash."""

import asyncio
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from attract.errors import ConfigurationError, FileError, GameError, nearest_name
from attract.files import MAX_JSON_BYTES, check_inside, parse_json, read_optional_file, read_start
from attract.games.cards import CardFile, card_file, card_of
from attract.games.page_files import ADDRESS, PageAddress, PageFiles, PageFolder
from attract.games.page_places import PAGE_MODULE, bundled_games
from attract.games.places import PACKAGES, method_stack, own_stack
from attract.games.project import check_globs, shared_folder
from attract.games.source_maps import SourceMap
from attract.runs.run_ids import game_stem
from attract.schema.api import GameEntry
from attract.schema.devices import DeviceName, on_device
from attract.schema.game import GameReference
from attract.schema.game_messages import MethodSource
from attract.settings.file import read_settings_file

SDK = "attract"
"""Module name under which a game imports the SDK."""
PACKAGE_DIR = Path(__file__).resolve().parent.parent
REPOSITORY_DIR = PACKAGE_DIR.parent.parent
OWN_SOURCES = REPOSITORY_DIR / "web"
"""The bundled games' own sources, when the repository is the project directory: they are listed by name."""
CLOCK_SOURCES = OWN_SOURCES / "page-clock" / "src"
SUFFIXES = (".ts", ".js", ".mts", ".mjs")
PAGE_SUFFIXES = (".page.ts", ".page.js")
"""File names of adapters of page games."""
PAGE = re.compile(r"\.html?$|^https?://")
"""What a user may give who has a page and no adapter."""
PAGE_ADDRESS = re.compile(rb'\bpage:\s*"(' + ADDRESS.pattern.encode() + rb')"')
"""A page that a server on this machine gives, as an adapter names it."""
NOT_LISTED = frozenset({OWN_SOURCES, REPOSITORY_DIR / "benchmarks"})
"""Folders of a clone whose games are not the user's."""
SKIPPED_FOLDERS = frozenset(
    {"node_modules", "vendor", "dist", "build", "out", "runs", "test", "tests", "__pycache__"}
)
EXPORTED = "policy.json"
"""A folder with it is an export: the game in it is a copy."""
MAX_DEPTH = 3
MAX_FILES = 2_000
MAX_MODULES = 50
MAX_NAMED = 5
"""Games of a folder that a refusal names."""
BUNDLE_SECONDS = 30.0
VITE = '{"MODE":"production","PROD":true,"DEV":false,"SSR":false,"BASE_URL":"/"}'
"""Replacement for Vite's `import.meta.env`: without it, reading its `DEV` fails."""
EXTERNAL_ADVICE = re.compile(
    r'^ +(?:You can mark the path "([^"]+)" as external|'
    r'The package "[^"]+" wasn.t found on the file system but)'
    r"(?:.*\n?)(?:.+\n?)*",
    re.MULTILINE,
)
"""A paragraph of esbuild's: it ends with an empty line."""
EXPORTS = re.compile(rb"(?:^|[;}/])\s*export default\b", re.MULTILINE)
"""The statement, and not words in a message of the SDK, which bundles have."""
DEFINES = re.compile(rb"(?<!function )\b(?:defineGame|definePageGame)[<(]")
"""Call that marks a module as a game; the SDK's own module declares it."""
SOURCE_MAP_COMMENT = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")


@dataclass(frozen=True)
class GameModule:
    """One built game: what a browser gets at `games/<sha256>.js`."""

    reference: GameReference
    code: bytes
    source_map: bytes | None


class GameLibrary:
    """Finds, bundles and keeps game modules; one per app, used on its event loop."""

    def __init__(
        self,
        project_dir: Path,
        web_dir: Path | None = None,
        *,
        runs_dir: Path = Path("runs"),
        include: Sequence[str] = (),
        page_device: DeviceName | None = None,
    ) -> None:
        """`runs_dir` is never served, wherever it lies; `include`, `page_device`: see `ServerSettings`."""
        self._project_dir = project_dir.resolve()
        self._web_dir = web_dir or PACKAGE_DIR / "web"
        self._modules: dict[str, GameModule] = {}
        self._maps: dict[str, SourceMap | None] = {}
        self._runs_dir = runs_dir
        self._include = include
        self._page_device: DeviceName | None = page_device
        self._page_files: dict[str, PageFiles] = {}
        self._page_folders: dict[str, Path] = {}

    def bundled_names(self) -> list[str]:
        """Names of the games that come with the package, sorted."""
        return sorted(bundled_games(self._web_dir))

    async def resolve(self, game: str, device: DeviceName | None = None) -> GameModule:
        """The module for a bundled name, or for a path (relative to the project directory, or absolute).

        Args:
            device: what a page was played on before; `page_device` stands above it.

        Raises:
            ConfigurationError: no such game, a path outside the project directory, no bundler, no page.
            GameError: kind `load`, when the module cannot be bundled; the text says where and why.
        """
        module = await self._resolve(game)
        if self._page_device is not None and not module.reference.has_page:
            raise ConfigurationError(f"{game} lives in no page: it has no device", setting="page_device")
        chosen = self._page_device or device
        if chosen is None or not module.reference.has_page:
            return module
        return self._keep(game, on_device(module.code, chosen), module.source_map)

    async def _resolve(self, game: str) -> GameModule:
        bundled = bundled_games(self._web_dir).get(game)
        if bundled is not None:
            source_map = bundled.with_suffix(".js.map")
            code = bundled.read_bytes()
            return self._keep(game, code, source_map.read_bytes() if source_map.is_file() else None)
        return await self._bundle(game, self._module_path(game))

    def recommended(self, game: str) -> dict[str, Any]:
        """Run settings that a game comes with, from `<stem>.train.yaml` beside its module; empty without one.

        Raises: ConfigurationError: when that file is no mapping.
        """
        bundled = bundled_games(self._web_dir).get(game)
        if bundled is not None:
            path, root = bundled.parent / f"{bundled.stem.removesuffix('.page')}.train.yaml", self._web_dir
        else:
            path, root = self._module_path(game).with_suffix(".train.yaml"), self._project_dir
        if not os.path.lexists(path):
            return {}
        return read_settings_file(check_inside(path, root))

    def card_file(self, game: str, file: CardFile) -> Path | None:
        """A file beside the card of a bundled game; None when there is none."""
        return card_file(self._web_dir, game, file)

    def keep(self, name: str, code: bytes, source_map: bytes | None) -> GameModule:
        """Serve a module that a run directory kept, under its content hash."""
        return self._keep(name, code, source_map)

    def by_hash(self, sha256: str) -> GameModule | None:
        """A module resolved or kept before, or None."""
        return self._modules.get(sha256)

    def page_files(self, key: str) -> PageFiles | None:
        """The files that the page of an adapter may load; None when there is no such adapter.

        Args:
            key: the first letters of its module's content hash.
        """
        if key not in self._page_files:
            found = (module for sha256, module in self._modules.items() if sha256.startswith(key))
            module = next(found, None)
            folder = None if module is None else self.adapter_folder(module.reference)
            if module is None or folder is None:
                return None
            address = PAGE_ADDRESS.search(module.code)
            self._page_files[key] = (
                PageFolder(folder, self._runs_dir, self._include)
                if address is None
                else PageAddress(address[1].decode())
            )
        return self._page_files[key]

    def place_page(self, name: str, folder: Path) -> None:
        """Serve the page of game `name` from below `folder` from now on, wherever its adapter is."""
        self._page_folders[name] = folder.resolve()

    def adapter_folder(self, game: GameReference) -> Path | None:
        """The folder of this adapter; None when it is none, or outside the project directory."""
        if not game.has_page:
            return None
        if game.name in self._page_folders:
            return self._page_folders[game.name]
        bundled = bundled_games(self._web_dir).get(game.name)
        if bundled is not None:
            return bundled.parent.resolve()
        folder = (self._project_dir / game.name).parent.resolve()
        return folder if folder.is_relative_to(self._project_dir) else None

    def own_stack(self, sha256: str, stack: str | None, method: MethodSource | None) -> str | None:
        """The author's own files in a failure or finding about this module; None: none.

        Args:
            sha256: of the module that `method` is of.
            stack: as a browser sent it; frames that are not the game's are dropped.
            method: what stands in for a stack without a frame of the game's.
        """
        own = None if stack is None else own_stack(stack, self._map_of)
        module = self._modules.get(sha256)
        if own is not None or method is None or module is None:
            return own
        return method_stack(method, module.code.decode(errors="replace"), self._map_of(sha256))

    def title_of(self, game: str) -> str:
        """Title of a bundled game, or of a module's file, on screen."""
        stem = re.sub(r"[-_.\s]+", " ", game_stem(self._project_dir / game)).strip()
        words = " ".join(word[:1].upper() + word[1:] for word in stem.split())
        return self._titles().get(game, words or game)

    async def entries(self) -> list[GameEntry]:
        """Every game that can be trained here, the user's own first, each with its built module."""
        entries: list[GameEntry] = []
        for name in await asyncio.to_thread(lambda: list(self._project_modules())):
            title = self.title_of(name)
            try:
                module = await self.resolve(name)
                entry = GameEntry(name=name, title=title, bundled=False, reference=module.reference)
            except (ConfigurationError, GameError) as error:
                entry = GameEntry(name=name, title=title, bundled=False, error=_error_text(error))
            entries.append(entry)
        entries.sort(key=lambda entry: entry.error is not None)
        for name in self.bundled_names():
            module = await self._resolve(name)
            card = card_of(self._web_dir, name)
            title = self.title_of(name)
            entries.append(
                GameEntry(name=name, title=title, bundled=True, reference=module.reference, card=card)
            )
        return entries

    def _titles(self) -> dict[str, str]:
        path = self._web_dir / "games" / "games.json"
        data = read_optional_file(path, MAX_JSON_BYTES)
        return {} if data is None else {entry["name"]: entry["title"] for entry in parse_json(data, path)}

    def _module_path(self, game: str) -> Path:
        names = self.bundled_names()
        refuse_project(self._project_dir / game, game)
        if PAGE.search(game) is not None or (self._project_dir / game / "index.html").is_file():
            raise ConfigurationError(
                f"{game} is a page without an adapter, which defines what an agent sees and presses",
                setting="game",
                fix=f"attract probe {game} writes an adapter, game.page.ts: name that",
            )
        if not game.endswith(SUFFIXES):
            near = nearest_name(game, names)
            hint = f"did you mean {near!r}? " if near else ""
            raise ConfigurationError(
                f"there is no game {game!r}",
                setting="game",
                fix=f"{hint}bundled: {', '.join(names) or 'none (run npm run build)'}; "
                f"or give a path to a module ending in {', '.join(SUFFIXES)}",
            )
        path = (self._project_dir / game).resolve()
        if not path.is_relative_to(self._project_dir):
            raise ConfigurationError(
                f"{game} is outside the project directory {self._project_dir}",
                setting="game",
                fix=_wider(path),
            )
        if not path.is_file():
            raise ConfigurationError(f"there is no file {path}", setting="game", fix=self._other_file(game))
        return path

    def _other_file(self, game: str) -> str | None:
        """A hint at the files that exist instead of a missing module."""
        # As Windows writes it, where it lies below WSL.
        with_slashes = game.replace("\\", "/")
        if (self._project_dir / with_slashes).is_file():
            return f"write {with_slashes}"
        found = list(islice(self._project_modules(), MAX_NAMED))
        return f"games there: {', '.join(found)}" if found else None

    def _project_modules(self) -> Iterator[str]:
        """Modules under the project directory that define a game, found by contents, not by name."""
        found = 0
        for seen, path in enumerate(_walk(self._project_dir, MAX_DEPTH)):
            if seen >= MAX_FILES or found >= MAX_MODULES:
                return
            if _is_game(path):
                found += 1
                yield path.relative_to(self._project_dir).as_posix()

    async def _bundle(self, game: str, path: Path) -> GameModule:
        with tempfile.TemporaryDirectory(prefix="attract-bundle-") as folder:
            out, meta = Path(folder) / "game.js", Path(folder) / "meta.json"
            process = await asyncio.create_subprocess_exec(
                str(find_esbuild(self._web_dir)),
                # As `output=input`: a path may hold an equals sign of its own.
                f"game={path}",
                "--bundle",
                "--format=esm",
                f"--define:import.meta.env={VITE}",
                "--target=es2022",
                f"--alias:{SDK}={find_sdk(self._web_dir)}",
                f"--alias:{SDK}/page={find_page_sdk(self._web_dir)}",
                "--sourcemap=linked",
                f"--outdir={folder}",
                f"--metafile={meta}",
                "--log-level=warning",
                "--color=false",
                cwd=self._project_dir,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                _, errors = await asyncio.wait_for(process.communicate(), BUNDLE_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()
                raise GameError("load", f"bundling {game} took over {BUNDLE_SECONDS:g} s") from None
            if process.returncode != 0 or not out.is_file():
                text = _bundler_text(errors.decode(errors="replace"))
                raise GameError("load", f"{game} could not be bundled\n{text}", name="BundleError", stack="")
            inputs = json.loads(meta.read_bytes())["inputs"]
            self._check_inputs(game, inputs)
            check_globs(game, out.read_bytes(), self._project_dir, inputs)
            source_map = _readable_map(out.with_suffix(".js.map"), self._web_dir, self._project_dir)
            return self._keep(game, out.read_bytes(), source_map)

    def _check_inputs(self, game: str, inputs: dict[str, object]) -> None:
        """Refuse files from outside the project, except packages and the SDK."""
        sdk = find_sdk(self._web_dir).resolve().parent
        for name in inputs:
            path = (self._project_dir / name).resolve()
            # Adapters take keys and focus from the SDK's own sources, which only a checkout has.
            if any(path.is_relative_to(own) for own in (self._project_dir, sdk, CLOCK_SOURCES)):
                continue
            if "node_modules" not in path.parts:
                raise ConfigurationError(
                    f"{game} imports {path}, outside the project directory {self._project_dir}",
                    setting="game",
                    fix=_wider(self._project_dir / game, path),
                )

    def _keep(self, name: str, code: bytes, source_map: bytes | None) -> GameModule:
        # The comment names a file that is not served; a header names the map, which keeps the hash honest.
        code = SOURCE_MAP_COMMENT.sub(b"\n", code)
        sha256 = hashlib.sha256(code).hexdigest()
        known = self._modules.get(sha256)
        if known is not None and known.reference.name == name:
            return known
        bundled = bundled_games(self._web_dir).get(name)
        has_page = name.endswith(PAGE_SUFFIXES) or (bundled is not None and bundled.name == PAGE_MODULE)
        reference = GameReference(name=name, sha256=sha256, url=f"games/{sha256}.js", has_page=has_page)
        module = GameModule(reference, code, source_map)
        self._modules[sha256] = module
        self._maps.pop(sha256, None)
        return module

    def _map_of(self, sha256: str) -> SourceMap | None:
        if sha256 not in self._maps:
            module = self._modules.get(sha256)
            try:
                text = None if module is None or module.source_map is None else module.source_map.decode()
                self._maps[sha256] = None if text is None else SourceMap(text)
            except ValueError:
                self._maps[sha256] = None
        return self._maps[sha256]


def _wider(module: Path, imported: Path | None = None) -> str:
    """The fix for a module, or a file that it imports, outside the project directory."""
    folder = shared_folder(module.parent.resolve(), (imported or module).parent)
    wider = "" if folder is None else f", or choose a wider one: --project-dir {shlex.quote(str(folder))}"
    return f"move it there{wider}"


def _error_text(error: ConfigurationError | GameError) -> str:
    """Why a module is no game here, without what only a log needs."""
    return (error.text if isinstance(error, GameError) else str(error))[:20_000]


def find_esbuild(web_dir: Path) -> Path:
    """The native binary of esbuild: the packaged one, else the repository's.

    Raises: ConfigurationError: when there is none.
    """
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
    host = f"{platform.system().lower()}-{machine.get(platform.machine().lower(), platform.machine())}"
    for path in (
        web_dir / "bin" / "esbuild",
        REPOSITORY_DIR / "node_modules" / "@esbuild" / host / "bin" / "esbuild",
    ):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    on_path = shutil.which("esbuild")
    if on_path is not None:
        return Path(on_path)
    raise ConfigurationError("esbuild is missing: your own games cannot be bundled", fix="npm run build")


def find_sdk(web_dir: Path) -> Path:
    """The module that `import ... from "attract"` becomes: the packaged SDK, else the repository's source.

    Raises: ConfigurationError: when there is none.
    """
    for path in (web_dir / "sdk" / "attract.js", REPOSITORY_DIR / "web" / "sdk" / "src" / "index.ts"):
        if path.is_file():
            return path
    raise ConfigurationError("the SDK is missing: your own games cannot be bundled", fix="npm run build")


def find_page_sdk(web_dir: Path) -> Path:
    """The module that `import ... from "attract/page"` becomes; as `find_sdk`."""
    sdk = find_sdk(web_dir)
    return sdk.parent / "page.js" if sdk.suffix == ".js" else sdk.parent / "page" / "index.ts"


def refuse_project(folder: Path, given: str) -> None:
    """Raises: ConfigurationError: `folder` or its sources hold games; the message names them.

    Args:
        folder: may be none at all.
        given: what the user typed to name it.
    """
    if not folder.is_dir():
        return
    found = [path for path in _walk(folder, 1) if _is_game(path)]
    if found:
        names = ", ".join(str(Path(given) / path.relative_to(folder)) for path in found[:MAX_NAMED])
        raise ConfigurationError(
            f"{given} is a folder, not a game", setting="game", fix=f"name the game in it: {names}"
        )


def _is_game(path: Path) -> bool:
    try:
        text = read_start(path, 200_000)
    except FileError:
        return False
    return EXPORTS.search(text) is not None and DEFINES.search(text) is not None


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in entries:
        if path.name.startswith(".") or path.is_symlink() or path in NOT_LISTED:
            continue
        if path.is_file() and path.name.endswith(SUFFIXES) and not path.name.endswith(".d.ts"):
            yield path
        elif (
            path.is_dir()
            and depth > 0
            and path.name not in SKIPPED_FOLDERS
            and not (path / EXPORTED).exists()
        ):
            yield from _walk(path, depth - 1)


def _readable_map(path: Path, web_dir: Path, project_dir: Path) -> bytes | None:
    """The map with its sources named from the project directory, not from the bundle's temporary folder."""
    if not path.is_file():
        return None
    data = json.loads(path.read_bytes())
    sdk = find_sdk(web_dir).resolve().parent
    sdk = sdk if sdk.name == "sdk" else sdk.parent
    data["sources"] = [
        _source_name(path.parent / str(source), project_dir, sdk) for source in data["sources"]
    ]
    return json.dumps(data).encode()


def _source_name(source: Path, project_dir: Path, sdk: Path) -> str:
    """Its path from the folder of packages, from that of the SDK, or from the project's."""
    parts, place = source.parts, source.resolve()
    if PACKAGES in parts:
        return "/".join(parts[len(parts) - parts[::-1].index(PACKAGES) - 1 :])
    if place.is_relative_to(sdk):
        return f"sdk/{place.relative_to(sdk).as_posix()}"
    return place.relative_to(project_dir).as_posix() if place.is_relative_to(project_dir) else place.name


def _bundler_text(text: str) -> str:
    """The message of esbuild, without its advice about packages, which a game cannot follow."""

    def advice(match: re.Match[str]) -> str:
        if match[1] is None:
            return "  A game runs in a browser's worker: Node's own modules are missing.\n"
        name = "/".join(match[1].split("/")[: 2 if match[1].startswith("@") else 1])
        return f"  Install it beside the game: npm install {name}\n"

    return EXTERNAL_ADVICE.sub(advice, text).strip()
