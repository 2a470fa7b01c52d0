"""Cells of the tables of results: what a row shows of its runs, and whether a bar is met."""

from attract_benchmarks.learning.plan import Variant
from attract_benchmarks.learning.record import Row
from attract_benchmarks.learning.table_cells import returns, verdict

ROW = Row(100, [], 100, 1.0, 12.0, 3.0, 9, 100.0)
"""Its standard error is 3 / sqrt(9) = 1."""


def test_a_mean_has_its_standard_error_and_a_gap_says_so() -> None:
    assert returns([ROW, None]) == "12.0 +- 1.0, not run"


def test_a_bar_is_open_until_all_are_run_and_missed_by_one() -> None:
    assert verdict(Variant("mlp", "MLP", 12), [ROW]) == "yes"
    assert verdict(Variant("mlp", "MLP", 12), [ROW, None]) == "open"
    assert verdict(Variant("mlp", "MLP", 12.1), [ROW, None]) == "no"
