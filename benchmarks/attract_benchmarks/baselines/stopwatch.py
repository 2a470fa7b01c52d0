"""Measures the parts of a baseline's time."""

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


class Stopwatch:
    """Seconds since it was made, and how many of them went into which part; of one thread."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self.seconds_of: dict[str, float] = {}
        """By part's name."""

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self._began

    def timed(self, part: str, function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
        """The same function; its time counts to `part`."""

        def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Answer:
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds_of[part] = self.seconds_of.get(part, 0.0) + time.perf_counter() - began

        return call
