"""Every measure of the benchmark."""

from collections import Counter

from attract_benchmarks.harness.measure import choose
from attract_benchmarks.speed.catalogue import MEASURES


def test_each_figure_is_given_by_one_measure_and_named_by_two_parts():
    names = Counter(name for measure in MEASURES for name in measure.names)
    assert [name for name, count in names.items() if count > 1] == []
    assert all(len(name.split("/")) == 2 for name in names)


def test_what_needs_more_than_attract_runs_only_when_asked_for():
    assert all(measure.about for measure in MEASURES)
    assert not [measure.names for measure in choose(MEASURES, only=(), peers=False) if measure.needs]
