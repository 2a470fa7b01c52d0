import os

import pytest

from attract.learner.process.machine import default_threads
from attract_benchmarks.harness.in_subprocess import run_apart


def test_a_function_runs_in_another_process_with_the_learners_threads() -> None:
    both = "__import__('os').getpid(), __import__('torch').get_num_threads()"
    process, threads = run_apart(eval, both)
    assert process != os.getpid()
    assert threads == default_threads()


# `make test` runs a function in another process above.
@pytest.mark.long
def test_what_it_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        run_apart(divmod, 1, 0)
