"""`docs/reliability.md` kept honest: every test and every module that it names is there."""

import re

import pytest

from check_rules import ROOT

TEXT = (ROOT / "docs" / "reliability.md").read_text()
ROWS = [
    line.strip("|").split("|")
    for table in re.findall(r"^\| Promised .*\n\|-.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    for line in table.splitlines()
]
NAMED = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[2])})


def test_every_promise_names_what_would_go_red():
    assert len(ROWS) >= 72
    assert [row[0] for row in ROWS if len(row) != 3 or not re.search(r"`[^`]+`", row[2])] == []


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_is_there(name: str):
    path, _, common = name.partition("::")
    text = (ROOT / "tests" / path).read_text()
    lines = re.findall(r"^ *(?:async )?(?:def (test_\w+)|test\(\"(.*?)\",)", text, re.MULTILINE)
    names = [python or typescript for python, typescript in lines]
    assert names or path.endswith(".toml")
    assert not common or any(common in name for name in names)


def test_what_keeps_them_is_there():
    files = {name for row in ROWS for name in re.findall(r"`([\w/.-]+\.\w+|Dockerfile)`", row[1])}
    assert len(files) > 20
    below = (ROOT, ROOT / "backend" / "attract")
    assert [file for file in files if not any((folder / file).exists() for folder in below)] == []


def test_the_guide_to_reliability_names_tests_that_are_there():
    text = TEXT + (ROOT / "docs" / "notebook" / "reliability.md").read_text()
    files = {
        name.removeprefix("tests/")
        for name in re.findall(r"[\w/.-]+/[\w.-]+\.test\.ts|[\w/]+/test_\w+\.py", text)
    }
    assert len(files) > 30
    assert [file for file in files if not (ROOT / "tests" / file).exists()] == []
