from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from attract.learner.process.threads import gain_of_threads, idle_cores_now, measured_threads


def never(*_arguments: object) -> float:
    raise AssertionError("nothing had to be measured")


def gives(number: float, heard: list[int] | None = None) -> Callable[..., float]:
    def measure(*arguments: int) -> float:
        if heard is not None:
            heard.extend(arguments)
        return number

    return measure


@pytest.mark.parametrize(("cores", "workers"), [(1, 1), (2, 2), (2, 1), (3, 2), (4, 3), (8, 7), (2, 8)])
def test_where_workers_need_the_cores_there_is_one_thread_and_nothing_is_measured(
    cores: int, workers: int
) -> None:
    assert measured_threads(cores, workers, idle_cores=never, gain=never) == 1


@pytest.mark.parametrize(
    ("idle", "asked"),
    [
        # 2 of 16 cores are for the workers, and 8 are half.
        (16.0, 8),
        # Others use half of the machine: 7 whole cores idle, 2 for the workers.
        (7.9, 5),
        (4.0, 2),
    ],
)
def test_half_of_the_cores_at_most_and_only_idle_ones(idle: float, asked: int) -> None:
    heard: list[int] = []
    assert measured_threads(16, 2, idle_cores=gives(idle), gain=gives(2.0, heard)) == asked
    assert heard == [asked]


@pytest.mark.parametrize("idle", [0.0, 3.9])
def test_a_busy_machine_gets_one_thread(idle: float) -> None:
    assert measured_threads(16, 2, idle_cores=gives(idle), gain=never) == 1


@pytest.mark.parametrize(("gain", "threads"), [(0.05, 1), (1.29, 1), (1.3, 8), (6.0, 8)])
def test_threads_that_gain_nothing_are_left(gain: float, threads: int) -> None:
    assert measured_threads(16, 2, idle_cores=gives(16.0), gain=gives(gain)) == threads


def test_idle_cores_are_counted_between_two_readings(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    # user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice
    stat.write_text("cpu 0 0 0 0\ncpu0 10 0 0 90 0 0 0 0 0 0\ncpu1 50 0 0 50 0 0 0 0 0 0\nintr 5\n")

    def wait(_seconds: float) -> None:
        # In ten ticks the first core computed 3, lost 1 and idled 6; the second waited for a disk for 4.
        stat.write_text("cpu 0 0 0 0\ncpu0 13 0 0 96 0 0 0 1 0 0\ncpu1 56 0 0 50 4 0 0 0 0 0\nintr 9\n")

    assert idle_cores_now(stat, wait) == pytest.approx(0.6 + 0.4)
    assert idle_cores_now(tmp_path / "none", wait) == 0.0


def test_the_real_measurement_leaves_torch_as_it_was() -> None:
    before = torch.get_num_threads()
    assert gain_of_threads(2) > 0
    assert torch.get_num_threads() == before
