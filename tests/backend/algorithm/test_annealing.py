import pytest

from attract.algorithm.annealing import annealed_to_one, progress_of, resolve_schedule, scheduled
from attract.errors import ConfigurationError


@pytest.mark.parametrize(
    ("agent_steps", "expected"), [(0, 0.004), (250, 0.003), (500, 0.002), (1000, 0.0002), (5000, 0.0002)]
)
def test_P10_linear_falls_over_the_schedules_steps_to_a_floor(agent_steps, expected):
    # A twentieth of 0.004 stays: a run that goes on longer than its schedule still learns.
    assert scheduled(0.004, "linear", agent_steps, 1000) == pytest.approx(expected)


def test_P10_without_steps_to_run_over_a_schedule_is_constant():
    assert scheduled(0.004, "linear", 10**9, None) == 0.004


def test_P10_constant_stays():
    assert scheduled(0.2, "constant", 999, 1000) == 0.2


def test_P10_progress_ends_at_one():
    assert [progress_of(steps, 200) for steps in (0, 50, 200, 300)] == [0.0, 0.25, 1.0, 1.0]


def test_P10_beta_rises_to_one():
    # From 0.4: a quarter of the way 1 - 0.6 * 3/4 = 0.55, and 1 at the end.
    values = [annealed_to_one(0.4, "linear", steps, 1000) for steps in (0, 250, 1000, 2000)]
    assert values == pytest.approx([0.4, 0.55, 1.0, 1.0])
    assert annealed_to_one(0.4, "constant", 999, 1000) == pytest.approx(0.4)
    assert annealed_to_one(0.4, "linear", 999, None) == pytest.approx(0.4)


def test_an_unknown_schedule_is_refused_with_the_names_there_are():
    with pytest.raises(ConfigurationError, match=r"'cosy'(.|\n)*constant, linear"):
        resolve_schedule("cosy")
