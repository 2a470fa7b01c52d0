"""Every measure of the benchmark, in the order in which it is printed."""

from attract.bench.collection import COLLECTION
from attract.bench.end_to_end import END_TO_END
from attract.bench.fan_out import FAN_OUT
from attract.bench.instances import INSTANCE_SCALING
from attract.bench.learning import LEARNER
from attract.bench.matmul import MATMUL
from attract.bench.measure import Measure
from attract.bench.publish import PUBLISH
from attract.bench.segments import SEGMENT_LEARNER
from attract.bench.solve import SOLVE
from attract.bench.versus import VERSUS
from attract.bench.whole_update import WHOLE_UPDATE
from attract.bench.wire import WIRE
from attract.bench.workers import WORKER_SCALING

MEASURES: tuple[Measure, ...] = (
    MATMUL,
    *COLLECTION,
    INSTANCE_SCALING,
    *LEARNER,
    WHOLE_UPDATE,
    SEGMENT_LEARNER,
    PUBLISH,
    FAN_OUT,
    WIRE,
    END_TO_END,
    *VERSUS,
    SOLVE,
    WORKER_SCALING,
)
