"""Messages of a baseline's process on stdin and stdout, as JSON."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from json import dumps, load
from typing import Any, Literal, Self

from attract_benchmarks.harness.command_line import json_of
from attract_benchmarks.harness.training import steady_rate

BaselineName = Literal["sb3", "minimal_ppo", "puffer"]
Games = Literal["gymnasium", "page_evaluate", "node", "real_time_pages", "puffer"]
"""Whose CartPole: Gymnasium's own in Python, PufferLib's in C, or ours in a page or in a Node process.

`real_time_pages`: Meteors, each in a page of its own.
"""


@dataclass(frozen=True)
class BaselineRequest:
    """Request for a baseline's training."""

    num_environments: int
    settings: Mapping[str, Any]
    """The baseline's own names."""
    iterations: int
    """Rollouts, each with its update."""
    games: Games = "gymnasium"
    seed: int = 1
    linear: Sequence[str] = ()
    """Settings that fall linearly to 0 over the iterations."""
    until_return: float | None = None
    """Stop once the last 100 training episodes average this."""

    @classmethod
    def read(cls) -> Self:
        """The order on this process's stdin."""
        return cls(**load(sys.stdin))


@dataclass(frozen=True)
class BaselineReport:
    """Result of a baseline; seconds are since its training began."""

    marks: Sequence[tuple[float, int]]
    """(seconds, steps so far) after each update."""
    solved_seconds: float | None = None
    """When the last 100 episodes averaged what was asked for; None: never."""
    seconds_of: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds in `games`, `inference` and `learning`."""

    @property
    def seconds(self) -> float:
        """Seconds of the whole training."""
        return self.marks[-1][0]

    def steady_rate(self, skipped: int) -> float:
        """Steps per second after the first `skipped` updates. Raises: RuntimeError: without any."""
        return steady_rate([(0.0, 0), *self.marks], skipped)

    def share_of(self, part: str) -> float:
        """The part of the time that `games`, `inference` or `learning` took, in [0, 1]."""
        return self.seconds_of[part] / self.seconds

    def write(self) -> None:
        """Print it, for `run_baseline` to read."""
        print(dumps(asdict(self)), flush=True)


def run_baseline(name: BaselineName, order: BaselineRequest) -> BaselineReport:
    """Train the baseline in a process of its own and wait for it. Raises: AttractError: when it fails."""
    found = json_of([sys.executable, "-m", f"attract_benchmarks.baselines.{name}"], dumps(asdict(order)))
    return BaselineReport(**found)
