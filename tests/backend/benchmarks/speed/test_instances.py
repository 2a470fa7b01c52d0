"""Cost against the number of instances, in a real Chromium, in its shortest form."""

from attract.benchmarks.harness.measure import BenchOptions
from attract.benchmarks.speed.instances import INSTANCE_SCALING, NAMES


def test_more_instances_cost_no_more_per_step() -> None:
    assert not INSTANCE_SCALING.by_default
    figures = INSTANCE_SCALING.run(BenchOptions(rounds=1, quick=True))
    assert tuple(figures) == NAMES
    assert all(figures[name].ratio is not None for name in NAMES[1:])
    # Were a step's cost to grow with the instances, it would be a 64th; a busy machine disturbs by less.
    assert figures["scaling/instances_4096"].value > 0.25 * figures["scaling/instances_64"].value
    # A batch of one pays the whole cost of a run for one step.
    assert figures["scaling/instances_64"].value > 2 * figures["scaling/instances_1"].value
    # 4,096 copies of a game of four numbers: the engine and the code weigh more.
    assert 0 < figures[NAMES[-1]].detail["renderer_mib"] < 1024
