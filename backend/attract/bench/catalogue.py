"""Every measure of the benchmark, in the order in which it is printed."""

from attract.bench.measure import Measure

MEASURES: tuple[Measure, ...] = ()
