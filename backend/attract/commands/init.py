"""`attract init`: the file that says what is played and how, the first baseline, and a workflow for CI."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attract.commands import flags
from attract.commands.destination import write_output
from attract.commands.json_output import print_answer
from attract.commands.new import WORKFLOW, project_text, workflow_text
from attract.commands.output import CommandConsole, say
from attract.errors import ConfigurationError
from attract.schema.answers import InitAnswer

BUILT: Final = ("dist", "build", "out", "public")
MODULES: Final = ("src/game.ts", "game.ts", "src/game.js", "game.js")
NEXT: Final = "attract ci"


@flags.options
class InitOptions:
    github: bool = False
    """Write `.github/workflows/play.yml`, too, which plays every build."""
    json_output: flags.Json = False


def init(page: flags.Game | None = None, /, options: InitOptions = InitOptions()) -> int:
    """Write the project file, attract.config.ts, of the game in this folder, and play its first baseline.

    Exit code: 0 if both are there, or a page has no adapter and so no baseline; 2 if it could not be played.

    Parameters
    ----------
    page
        The built page, its adapter or a game module; by default the adapter, the module `src/game.ts` or
        the page in `dist`, `build`, `out`, `public` or here.

    Examples
    --------
    attract init  # then `attract ci` plays every build
    attract init ./dist --github  # a workflow, too
    attract init src/game.ts  # a game module
    """
    # Half a second to import, of which `--help` and wrong usage have no need.
    from attract.commands.ci import CiOptions
    from attract.commands.ci_playing import played_build
    from attract.commands.project_play import planned
    from attract.games.page_places import names_page, page_place
    from attract.playtest.project_file import NAMES, ProjectFile, ProjectSettings
    from attract.server.app_server import run_async

    folder = Path.cwd()
    game = page or found_game(folder)
    field = "page" if names_page(game, None) else "adapter" if ".page." in game else "game"
    given = game if "://" in game else f"./{Path(os.path.relpath(game)).as_posix()}"
    server = flags.server_settings(options)
    has_adapter = field != "page" or bool(page_place(game, server.runs_dir).adapters())
    if field != "page" and not Path(game).is_file():
        raise ConfigurationError(f"there is no file {game}", setting="PAGE", fix="attract init ./dist")
    # Refuses what leads out of the project.
    ProjectFile(folder / NAMES[0], ProjectSettings.from_mapping({field: given}))
    is_typed = any((folder / place / "attract").is_dir() for place in ("node_modules", "vendor"))
    texts = {Path(NAMES[0]): project_text(field, given, is_typed=is_typed)}
    if options.github:
        texts[WORKFLOW] = workflow_text(None, has_package=(folder / "package.json").is_file())
    console = CommandConsole(stderr=options.json_output)
    write_new(folder, texts)
    for path in texts:
        say(console, f"wrote {path}")
    answer = InitAnswer(files=[str(path) for path in texts], next=NEXT)
    if has_adapter:
        wanted = CiOptions(update_baseline=True, github=False, json_output=options.json_output)
        play = planned(None, wanted, server, NEXT, ("out", "junit", "html"))
        report = run_async(played_build(*play, console))
        answer = answer.model_copy(update={"verdict": report.verdict, "problem": report.problem})
    else:
        why = f"{given} has no adapter: without one there is no baseline. `attract probe {given}` drafts it"
        answer = answer.model_copy(update={"problem": why})
        say(console, why)
    say(console, f"next: {NEXT}")
    if options.json_output:
        print_answer(answer)
    return 2 if answer.verdict == "not_played" else 0


def write_new(folder: Path, texts: Mapping[Path, str]) -> None:
    """Write files into a project that has none of them, and no project's file of another form.

    Raises: ConfigurationError: one is there. FileError: a link leads out of the project.
    """
    from attract.playtest.project_file import NAMES

    there = [path for path in (*map(Path, NAMES), *texts) if os.path.lexists(folder / path)]
    if there:
        raise ConfigurationError(
            f"{there[0]} already exists", setting="attract init", fix="edit it, or remove it first"
        )
    for path, text in texts.items():
        write_output(folder / path, text.encode(), folder)


def found_game(folder: Path) -> str:
    """The one adapter in a folder, else its module, else its page.

    Raises: ConfigurationError: there is none, or there are several adapters.
    """
    adapters = sorted(path.name for path in (*folder.glob("*.page.ts"), *folder.glob("*.page.js")))
    if len(adapters) > 1:
        raise ConfigurationError(
            f"there are {', '.join(adapters)}", setting="PAGE", fix=f"name one: attract init {adapters[0]}"
        )
    modules = [name for name in MODULES if (folder / name).is_file() and _is_module(folder / name)]
    pages = [name for name in (*BUILT, ".") if (folder / name / "index.html").is_file()]
    found = [*adapters, *modules, *pages]
    if not found:
        raise ConfigurationError(
            f"there is no adapter, no src/game.ts and no page in {folder}",
            setting="PAGE",
            fix="build the page first, or name it: attract init ./dist",
        )
    return found[0]


def _is_module(path: Path) -> bool:
    return '"attract"' in (text := path.read_text("utf-8", errors="replace")) or "'attract'" in text
