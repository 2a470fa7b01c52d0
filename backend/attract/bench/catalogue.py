"""Every measure of the benchmark, in the order in which it is printed."""

from attract.bench.measure import Measure
from attract.bench.publish import PUBLISH
from attract.bench.wire import WIRE

MEASURES: tuple[Measure, ...] = (PUBLISH, WIRE)
