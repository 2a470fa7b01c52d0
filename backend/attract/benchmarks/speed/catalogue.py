"""Every measure of the benchmark, in the order in which it is printed."""

from attract.benchmarks.harness.measure import Measure
from attract.benchmarks.speed.collection import COLLECTION
from attract.benchmarks.speed.end_to_end import END_TO_END
from attract.benchmarks.speed.fan_out import FAN_OUT
from attract.benchmarks.speed.instances import INSTANCE_SCALING
from attract.benchmarks.speed.learning import LEARNER
from attract.benchmarks.speed.matmul import MATMUL
from attract.benchmarks.speed.page_games import PAGE_GAMES
from attract.benchmarks.speed.page_versus import PAGE_VERSUS
from attract.benchmarks.speed.play import PLAY
from attract.benchmarks.speed.publish import PUBLISH
from attract.benchmarks.speed.segments import SEGMENT_LEARNER
from attract.benchmarks.speed.solve import SOLVE
from attract.benchmarks.speed.unrolls import UNROLLS
from attract.benchmarks.speed.versus import VERSUS
from attract.benchmarks.speed.whole_update import WHOLE_UPDATE
from attract.benchmarks.speed.wire import WIRE
from attract.benchmarks.speed.workers import WORKER_SCALING

MEASURES: tuple[Measure, ...] = (
    MATMUL,
    *COLLECTION,
    INSTANCE_SCALING,
    *LEARNER,
    WHOLE_UPDATE,
    *SEGMENT_LEARNER,
    *UNROLLS,
    PUBLISH,
    FAN_OUT,
    WIRE,
    END_TO_END,
    *VERSUS,
    PAGE_VERSUS,
    SOLVE,
    WORKER_SCALING,
    *PAGE_GAMES,
    PLAY,
)
