import os

import pytest
import torch

from attract.learner.process.machine import default_threads
from attract_benchmarks.harness.in_subprocess import run_apart


def test_a_function_runs_in_another_process_with_the_learners_threads() -> None:
    assert run_apart(os.getpid) != os.getpid()
    assert run_apart(torch.get_num_threads) == default_threads()


def test_what_it_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        run_apart(divmod, 1, 0)
