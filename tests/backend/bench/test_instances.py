"""Cost against the number of instances, in a real Chromium, in its shortest form."""

from itertools import pairwise

from attract.bench.instances import INSTANCE_SCALING, NAMES
from attract.bench.measure import BenchOptions


def test_more_instances_cost_no_more_per_step() -> None:
    assert not INSTANCE_SCALING.by_default
    figures = INSTANCE_SCALING.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == NAMES
    for before, after in pairwise(NAMES):
        # What a batch saves outweighs what memory costs; half leaves room for a busy machine.
        assert figures[after].value > 0.5 * figures[before].value
        assert figures[after].ratio is not None
    # 4,096 copies of a game of four numbers: the engine and the code weigh more.
    assert 0 < figures[NAMES[-1]].detail["renderer_mib"] < 1024
