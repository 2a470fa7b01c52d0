"""`docs/notebook/walks.md` kept honest: its stations are there, and its table counts the pictures."""

import ast
import re
from pathlib import Path

import pytest

from check_rules import ROOT

TEXT = (ROOT / "docs" / "notebook" / "walks.md").read_text()
BASES = (ROOT / "backend" / "attract", ROOT / "web")
PICTURES = re.findall(r"```mermaid\n(.*?)```", TEXT, re.DOTALL)
LABEL = re.compile(r'\["([\w./-]+\.tsx?|[\w./-]+\.py)(?:<br/>([^"]+))?"\]')
STATIONS = [
    sorted({(path, name) for path, names in LABEL.findall(picture) for name in names.split(", ")})
    for picture in PICTURES
]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if re.match(r"\| \([a-d]\)", line)
]


def file_of(path: str) -> Path | None:
    """The file of a station, named from the package or from `web/`."""
    return next((base / path for base in BASES if (base / path).is_file()), None)


def python_names(tree: ast.AST, prefix: str = "") -> set[str]:
    """Qualified names of all functions and classes, nested ones too."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        inside = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(f"{prefix}{node.name}")
            inside = f"{prefix}{node.name}."
        found |= python_names(node, inside)
    return found


def is_in_typescript(text: str, name: str) -> bool:
    """Whether a function, a class, or a method of a class (private or not) is defined in this source."""
    owner, _, method = name.partition(".")
    patterns = [rf"\b(?:function|class|const) {owner}\b"]
    if method:
        patterns.append(rf"^  (?:static |async |readonly )*#?{method}\b *[(=]")
    return all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)


def is_there(path: str, name: str) -> bool:
    """Whether the station is in the tree; an entry of a page or thread has no name."""
    file = file_of(path)
    if file is None:
        return False
    text = file.read_text()
    if name == "":
        return True
    return name in python_names(ast.parse(text)) if file.suffix == ".py" else is_in_typescript(text, name)


def test_there_are_four_walks():
    assert [len(stations) > 20 for stations in STATIONS] == [True] * 4
    assert [row[0][:3] for row in ROWS] == ["(a)", "(b)", "(c)", "(d)"]


@pytest.mark.parametrize(("path", "name"), sorted({station for walk in STATIONS for station in walk}))
def test_a_station_is_there(path: str, name: str):
    assert is_there(path, name)


def test_a_station_that_is_gone_is_found():
    assert is_there("run/core.py", "RunCore.handle")
    assert not is_there("run/core.py", "RunCore.handled")
    assert not is_there("run/cores.py", "RunCore.handle")
    assert is_there("worker/src/rollout/rollout-worker.ts", "RolloutWorker.takeSeat")
    assert not is_there("worker/src/rollout/rollout-worker.ts", "RolloutWorker.takeSeats")
    assert not is_there("worker/src/rollout/rollout-worker.ts", "RolloutWorkers.takeSeat")


def test_the_table_counts_the_files_of_each_picture():
    files = [len({path for path, _ in stations}) for stations in STATIONS]
    assert [int(row[2]) for row in ROWS] == files


def test_the_table_counts_the_turns_back_of_each_picture():
    assert [int(row[6]) for row in ROWS] == [picture.count('"turn back') for picture in PICTURES]
