"""Assigns the games of each group to workers, and builds the message for each worker."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attract.errors import ConfigurationError


@dataclass(frozen=True, eq=False)
class Part:
    """One worker's games of one group."""

    worker_id: int
    group: int
    instance_ids: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StepRequest:
    """Message to a worker: step its games of a group with these actions, or (None) observe only."""

    worker_id: int
    group: int
    action: NDArray[Any] | None
    """[k, ...] for the part's slots."""


def even_parts(num_games: int, num_groups: int, num_workers: int) -> list[Part]:
    """Games 0 to `num_games` - 1 in `num_groups` ranges, each cut among all workers, as even as can be.

    Raises: ConfigurationError: when there are fewer games than parts.
    """
    if min(num_games, num_groups, num_workers) < 1 or num_games < num_groups * num_workers:
        raise ConfigurationError(
            f"I2: {num_games} games cannot be cut into {num_groups} groups for each of {num_workers} workers",
            setting="num_games",
            fix=f"use at least {max(1, num_groups) * max(1, num_workers)} games",
        )
    bounds = np.linspace(0, num_games, num_groups + 1).astype(int)
    parts: list[Part] = []
    for group in range(num_groups):
        inner = np.linspace(bounds[group], bounds[group + 1], num_workers + 1).astype(int)
        parts += [
            Part(worker, group, np.arange(inner[worker], inner[worker + 1])) for worker in range(num_workers)
        ]
    return parts
