import pytest

from attract_benchmarks.speed.end_to_end import Bare


@pytest.mark.parametrize(("cores", "rate"), [(1, 125_000), (2, 250_000), (4, 500_000)])
def test_the_bound_is_all_work_over_all_cores(cores: int, rate: float) -> None:
    # 6 us of learning and 2 us of playing a step: one core makes 125,000 of them a second.
    assert Bare(learner=6e-6, collection=2e-6, cores=cores).steps_per_second == pytest.approx(rate)
