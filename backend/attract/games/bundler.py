"""Bundles modules of a project by esbuild."""

import asyncio
import json
import os
import platform
import re
import shutil
import tempfile
from pathlib import Path

from attract.errors import ConfigurationError, GameError
from attract.games.places import PACKAGES
from attract.games.project import REPOSITORY_DIR, check_globs, wider

SDK = "attract"
"""Module name under which a game imports the SDK."""
CLOCK_SOURCES = REPOSITORY_DIR / "web" / "page-clock" / "src"
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


class Bundler:
    """Owned by a library, used on its event loop."""

    def __init__(self, project_dir: Path, web_dir: Path) -> None:
        self._project_dir = project_dir
        self._web_dir = web_dir

    async def bundle(self, game: str, path: Path) -> tuple[bytes, bytes | None]:
        """Code and source map of the module at `path`.

        Raises: GameError: kind `load`, with the bundler's text. ConfigurationError: no bundler, or an import
            from outside the project directory.
        """
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
            return out.read_bytes(), source_map

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
                    fix=wider(self._project_dir / game, path),
                )


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
