"""The diagram of the README is what `ls` shows, and its order is that of the import contracts."""

import re
import subprocess
import tomllib

from check_rules import ROOT

NO_ROOMS = {"__init__", "__main__", "web"}
"""Entries of `backend/attract` that every package has, and the web side that a wheel has there."""
HALF = 55
"""Column at which the browser side begins."""
SENTENCE = 29
"""Column at which a row says what its rooms are for."""


def test_the_diagram_shows_the_rooms_that_there_are() -> None:
    assert sorted(name for row in rooms_drawn() for name in row) == sorted(
        rooms("backend/attract") - NO_ROOMS
    )


def test_no_room_stands_above_one_that_imports_it() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [
        re.findall(r"\w+", layer)
        for layer in contracts[0]["layers"]
        if contracts[0]["containers"] == ["attract"]
    ]
    floors = [
        number for row in rooms_drawn() for name in row for number, on in enumerate(layers) if name in on
    ]
    assert floors == sorted(floors)
    assert len(floors) == sum(map(len, rooms_drawn()))


def test_the_diagram_shows_the_folders_of_the_browser_side() -> None:
    drawn = [name for line in diagram() if line[HALF:] for name in line[HALF:].split("  ")[0].split(", ")]
    assert sorted(drawn) == sorted(path for path in rooms("web") if (ROOT / "web" / path).is_dir())


def rooms_drawn() -> list[list[str]]:
    """Names of each row of the server's side."""
    return [line[:SENTENCE].split() for line in diagram()]


def diagram() -> list[str]:
    """Rows of the diagram, without its heads."""
    (block,) = re.findall(
        r"```\n backend/attract/ +web/\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    return block.splitlines()


def rooms(folder: str) -> set[str]:
    """What git keeps directly in a folder; a module by its name."""
    command = ["git", "ls-files", "-co", "--exclude-standard", folder]
    paths = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = {path.removeprefix(f"{folder}/").split("/")[0] for path in paths if (ROOT / path).is_file()}
    return {name.removesuffix(".py") for name in found}
