"""`attract new`: a folder with a game, a page that plays it, and what both import."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Literal

from attract.commands import flags
from attract.commands.destination import writing
from attract.commands.json_output import print_answer
from attract.errors import ConfigurationError
from attract.processes.exit_codes import DONE
from attract.schema.answers import NewAnswer

WEB = Path(__file__).parents[1] / "web"
Template = Literal["pure", "physics", "page"]
PARTS: dict[Template, tuple[str, ...]] = {
    "pure": ("common", "player", "pure"),
    "physics": ("common", "player", "physics"),
    "page": ("common", "page"),
}
"""The folders that make a project: `player` is the page of a game that has none of its own."""
NAME = "my-game"
"""Placeholder for the package's name in templates."""
TRAINED: dict[Template, tuple[str, str, str]] = {
    "pure": ("src/game.ts", "4", "200000"),
    "physics": ("src/game.ts", "20", "400000"),
    "page": ("game.page.ts", "3", "100000"),
}
"""Per template what the workflow trains, until which return, and after how many steps it gives up."""
WORKFLOW = Path(".github") / "workflows" / "play.yml"
PROJECT_FILE = "attract.config.ts"
NAMED_FILES = ("package.json", "README.md", "index.html")
PACKAGE_PARTS = ("package.json", "attract.js", "page.js", "play.js", "types")
"""Files of the SDK that a game needs; its sources are for messages of the bundler."""


@flags.options
class NewOptions:
    template: Template = "pure"
    """pure: cells and a few actions. physics: forces, speeds and continuous actions. page: a game that
    lives in its page, and the adapter that trains it there."""
    json_output: flags.Json = False


def new(folder: Path, /, options: NewOptions = NewOptions()) -> int:
    """Write a new game into FOLDER: the game, a page that plays it, and types for both.

    Parameters
    ----------
    folder
        A new folder; the game's package has its name.

    Examples
    --------
    attract new my-game  # cells and a few actions
    attract new hover --template physics  # forces and continuous actions
    attract new rebound --template page  # a game in a page
    """
    written = create_project(Path(os.path.normpath(folder.absolute())), options.template)
    steps = next_steps(folder, options.template)
    if options.json_output:
        files = list(map(str, written))
        print_answer(NewAnswer(folder=str(folder.resolve()), files=files, next=steps.splitlines()))
        return DONE
    for path in written:
        print(f"wrote {folder / path}")
    print(f"\nNext:\n\n{steps}", end="")
    return DONE


def create_project(folder: Path, template: Template) -> list[Path]:
    """Write a project of that template into `folder`, which its package is named after.

    Returns: its files, relative to `folder`, without those of `vendor`.

    Raises: ConfigurationError: when the folder holds anything, its name is no package's, or nothing is built.
    """
    with writing(folder):
        is_taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if is_taken:
        raise ConfigurationError(
            f"{folder} already exists", setting="attract new", fix="give the name of a new folder"
        )
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,99}", folder.name):
        raise ConfigurationError(
            f"{folder.name!r} is not a valid package name: use lower-case letters, digits and -",
            setting="attract new",
            fix=f"attract new {_package_name(folder.name)}",
        )
    if not (WEB / "templates" / template).is_dir():
        raise ConfigurationError(
            f"there is no {WEB / 'templates'}", setting="attract new", fix="npm run build"
        )
    with writing(folder):
        return _written(folder, template)


def _written(folder: Path, template: Template) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS[template]:
        shutil.copytree(WEB / "templates" / part, folder, dirs_exist_ok=True)
    # Under its own name it would apply to the repository of the template.
    (folder / "gitignore").rename(folder / ".gitignore")
    (folder / WORKFLOW.name).unlink()
    (folder / WORKFLOW).parent.mkdir(parents=True)
    (folder / WORKFLOW).write_text(workflow_text(TRAINED[template]), encoding="utf-8")
    field, game = "adapter" if template == "page" else "game", f"./{TRAINED[template][0]}"
    (folder / PROJECT_FILE).write_text(project_text(field, game, is_typed=True), encoding="utf-8")
    for name in NAMED_FILES:
        path = folder / name
        path.write_text(path.read_text(encoding="utf-8").replace(NAME, folder.name), encoding="utf-8")
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    vendor = folder / "vendor" / "attract"
    vendor.mkdir(parents=True)
    for part in PACKAGE_PARTS:
        source = WEB / "sdk" / part
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, vendor / part)
    return files


def project_text(field: str, game: str, *, is_typed: bool) -> str:
    """The `attract.config.ts` of a game that `field` names: `page`, `adapter` or `game`.

    Args:
        is_typed: whether the project has the package `attract`, of which the type is.
    """
    begin = 'import type { AttractConfig } from "attract/config";\n\n' if is_typed else ""
    return (
        "// What `attract ci` and `attract verify` play, and how; read, not run.\n"
        f"{begin}export default {{\n"
        f"  {field}: {json.dumps(game)},\n"
        "  seconds: 60,\n"
        '  // Each finding is an "error"; "warn" is no failure, "off" is not judged: { slow: "warn" }.\n'
        "  rules: {},\n"
        '  junit: "./attract-ci/junit.xml",\n'
        '  html: "./attract-ci/report.html",\n'
        f"}}{' satisfies AttractConfig' if is_typed else ''};\n"
    )


def workflow_text(trained: tuple[str, str, str] | None, *, has_package: bool = True) -> str:
    """The workflow that plays every build.

    Args:
        trained: as of `TRAINED`; None: nothing is trained.
        has_package: whether the project has a package.json to build it by.
    """
    text = (WEB / "templates" / "common" / WORKFLOW.name).read_text(encoding="utf-8")
    if trained is None:
        left_out = ["Check", "Train", *([] if has_package else ["Build"])]
        steps = re.split(r"(?m)^(?=      - )", text)
        text = "".join(step for step in steps if step.split("\n")[0].split("name: ")[-1] not in left_out)
        trains = (" and trains an agent on it", "[train]", " --policy play", "            runs/play/logs\n")
        return re.sub("|".join(map(re.escape, trains)), "", text)
    for mark, value in zip(("game", "return", "steps"), trained, strict=True):
        text = text.replace(f"{{{{{mark}}}}}", value)
    return text


def _package_name(name: str) -> str:
    """The nearest that a package may be called; `NAME` where nothing is left."""
    # The last part of a Windows path.
    last = name.rstrip("\\").rpartition("\\")[2].lower()
    return re.sub(r"[^a-z0-9._]+", "-", last).strip("-._")[:100] or NAME


def next_steps(folder: Path, template: Template) -> str:
    """The first commands to type in a new project."""
    name = shlex.quote(str(folder))
    if template == "page":
        return (
            f"cd {name}\n"
            "attract train game.page.ts --total-steps 100000\n"
            "attract export latest --out public/policy\n"
            "npm install && npm run dev  # and open http://localhost:5173/?agent\n"
        )
    return (
        f"cd {name}\n"
        "attract train src/game.ts --total-steps 200000\n"
        "attract export latest --out public/policy --format js\n"
        "npm install && npm run dev\n"
    )
