"""Mutants fit the source as it is, and every built rule has one; `make mutants` runs them."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from check_rules import ROOT, rules

sys.path.insert(0, str(ROOT / "tests" / "mutants"))

import run

MUTANT = run.Mutant(
    rule="E2",
    file="backend/values.py",
    find="value = final",
    replace="value = 0",
    test="tests/test_values.py::test_E2_the_final_value_counts",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "backend").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "backend/values.py").write_text("def f(final):\n    value = final\n    return value\n")
    (tmp_path / "tests/test_values.py").write_text(
        "from values import f\n\n\ndef test_E2_the_final_value_counts():\n    assert f(3) == 3\n\n\n"
        "def test_E2_nothing():\n    f(3)\n"
    )
    return tmp_path


def test_every_mutant_still_fits_the_source_and_names_a_test():
    assert run.static_problems(run.load(), ROOT) == []


def test_every_built_rule_has_a_mutant():
    built = {rule for rule, state in rules(ROOT).items() if state == "built"}
    assert built - {mutant.rule for mutant in run.load()} == set()


def test_a_mutant_that_fits_has_no_problems(tree: Path):
    assert run.static_problems([MUTANT], tree) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"find": "value = gone"}, "is there 0 times"),
        ({"find": "value"}, "is there 2 times"),
        ({"file": "backend/gone.py"}, "is there 0 times"),
        ({"replace": "value = final"}, "changes nothing"),
        ({"rule": "E3"}, "does not carry the rule's id"),
        ({"rule": "E22"}, "does not carry the rule's id"),
        ({"test": "tests/test_values.py::test_E2_gone"}, "there is no test"),
    ],
)
def test_a_mutant_that_does_not_fit_is_a_problem(tree: Path, change: dict[str, str], says: str):
    [problem] = run.static_problems([replace(MUTANT, **change)], tree)
    assert says in problem


def test_a_broken_rule_is_caught_by_the_test_that_looks_and_survives_the_one_that_does_not(tree: Path):
    (tree / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    looks = [(MUTANT.test_file, MUTANT.title)]
    blind = [(MUTANT.test_file, "test_E2_nothing")]
    assert run.run_tests(looks, tree, 60)[0] == run.DONE
    before = MUTANT.apply(tree)
    assert run.run_tests(looks, tree, 60)[0] == run.FAILED
    assert run.run_tests(blind, tree, 60)[0] == run.DONE
    (tree / MUTANT.file).write_text("this is no Python")
    assert run.run_tests(looks, tree, 60)[0] == run.BROKEN
    (tree / MUTANT.file).write_text(before)
    assert run.run_tests(looks, tree, 60)[0] == run.DONE
