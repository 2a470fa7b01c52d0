"""Every measure of the benchmark, in the order in which it is printed."""

from attract_benchmarks.harness.measure import Measure
from attract_benchmarks.speed.collection import COLLECTION
from attract_benchmarks.speed.end_to_end import END_TO_END
from attract_benchmarks.speed.learning import LEARNER
from attract_benchmarks.speed.page_games import PAGE_GAMES
from attract_benchmarks.speed.page_versus import PAGE_VERSUS
from attract_benchmarks.speed.play import PLAY
from attract_benchmarks.speed.publish import PUBLISH
from attract_benchmarks.speed.solve import SOLVE
from attract_benchmarks.speed.versus import VERSUS
from attract_benchmarks.speed.wire import WIRE

MEASURES: tuple[Measure, ...] = (
    *COLLECTION,
    *LEARNER,
    PUBLISH,
    WIRE,
    END_TO_END,
    *VERSUS,
    PAGE_VERSUS,
    SOLVE,
    *PAGE_GAMES,
    PLAY,
)
