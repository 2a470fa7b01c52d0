"""Mutants fit the source as it is, and every built rule has one; `make mutants` runs them."""

import sys

from check_rules import ROOT, rules

sys.path.insert(0, str(ROOT / "tests" / "mutants"))

import run


def test_every_mutant_still_fits_the_source_and_names_a_test():
    assert run.static_problems(run.load(), ROOT) == []


def test_every_built_rule_has_a_mutant():
    built = {rule for rule, state in rules(ROOT).items() if state == "built"}
    assert built - {mutant.rule for mutant in run.load()} == set()
