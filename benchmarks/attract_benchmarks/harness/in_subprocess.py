"""Measures in a fresh process set up as the learner's is: its allocator, its threads, nothing else."""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

from attract.processes.cores import keep_freed_memory

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def run_apart(
    function: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Result:
    """Call `function` in a process of its own, which ends afterwards; returns or raises what it does.

    Whatever the benchmark did before, memory that it keeps, threads that it started, does not show there.

    Args:
        function: of a module, as are the arguments' types: both are pickled.
        args: handed on.
        kwargs: handed on.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_as_the_learner) as pool:
        return pool.submit(function, *args, **kwargs).result()


def _as_the_learner() -> None:
    keep_freed_memory()
    # Torch's profiler logs its every step to stderr, at all levels up to 5.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    # Imported after that, as in the learner: the C library must be set up before the first tensor.
    import torch

    from attract.learner.process.machine import default_threads

    torch.set_num_threads(default_threads())
