"""The games this server may serve: bundled ones, and modules under the project directory, by content hash."""

import asyncio
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from attract.errors import ConfigurationError, GameError
from attract.files import MAX_JSON_BYTES, check_inside, parse_json, parse_model, read_optional_file
from attract.games.bundler import Bundler
from attract.games.modules import module_path, project_modules
from attract.games.page_files import ADDRESS, PageAddress, PageFiles, PageFolder
from attract.games.page_places import PAGE_MODULE, bundled_games
from attract.games.places import SourceMap, method_stack, own_stack
from attract.games.project import PACKAGE_DIR
from attract.runs.run_ids import game_stem
from attract.schema.api import GameCard, GameEntry
from attract.schema.devices import DeviceName, on_device
from attract.schema.game import GameReference
from attract.schema.game_messages import MethodSource
from attract.settings.file import read_settings_file

FOLDER: Final = "trained"
"""Folder of the built web side; it has one folder for each game that has a card."""
CARD: Final = "card.json"
CardFile = Literal["card.jpg", "policy.onnx"]


def card_of(web_dir: Path, game: str) -> GameCard | None:
    """The card of this bundled game; None when it has none. Raises: FileError: it is damaged."""
    path = web_dir / FOLDER / game / CARD
    data = read_optional_file(path, MAX_JSON_BYTES, web_dir)
    return None if data is None else parse_model(parse_json(data, path), GameCard, path)


def card_file(web_dir: Path, game: str, file: CardFile) -> Path | None:
    """A file beside the card; None when there is no such card.

    Args:
        game: as the user gave it: a name that is no folder's has no card.

    Raises: FileError: it is a link that leads out of the built web side.
    """
    folder = web_dir / FOLDER
    if not folder.is_dir() or game not in {path.name for path in folder.iterdir()}:
        return None
    path = folder / game / file
    return check_inside(path, web_dir) if path.is_file() else None


PAGE_SUFFIXES = (".page.ts", ".page.js")
"""File names of adapters of page games."""
PAGE_ADDRESS = re.compile(rb'\bpage:\s*"(' + ADDRESS.pattern.encode() + rb')"')
"""A page that a server on this machine gives, as an adapter names it."""
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
        self._bundler = Bundler(self._project_dir, self._web_dir)
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
        path = module_path(game, self._project_dir, self.bundled_names())
        return self._keep(game, *await self._bundler.bundle(game, path))

    async def player(self, file: str) -> str:
        """Code of a module that plays, of a path relative to the project directory.

        Raises: ConfigurationError, GameError: as `resolve`.
        """
        path = (self._project_dir / file).resolve()
        if not path.is_relative_to(self._project_dir) or not path.is_file():
            raise ConfigurationError(
                f"there is no player {file!r} in {self._project_dir}",
                setting="self_play.seats",
                fix="name a module relative to that folder: script:players/greedy.ts",
            )
        code, _ = await self._bundler.bundle(file, path)
        return SOURCE_MAP_COMMENT.sub(b"\n", code).decode()

    def recommended(self, game: str) -> dict[str, Any]:
        """Run settings that a game comes with, from `<stem>.train.yaml` beside its module; empty without one.

        Raises: ConfigurationError: when that file is no mapping.
        """
        bundled = bundled_games(self._web_dir).get(game)
        if bundled is not None:
            path, root = bundled.parent / f"{bundled.stem.removesuffix('.page')}.train.yaml", self._web_dir
        else:
            path, root = (
                module_path(game, self._project_dir, self.bundled_names()).with_suffix(".train.yaml"),
                self._project_dir,
            )
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
        for name in await asyncio.to_thread(lambda: list(project_modules(self._project_dir))):
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


def _error_text(error: ConfigurationError | GameError) -> str:
    """Why a module is no game here, without what only a log needs."""
    return (error.text if isinstance(error, GameError) else str(error))[:20_000]
