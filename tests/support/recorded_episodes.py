"""Recorded episodes of the fake games, whose numbers name themselves."""

from typing import Any

import numpy as np

from attract.schema.episode_actions import num_marks, pack_actions
from attract.schema.recorded_episode import EpisodeError, EpisodeMarks, EpisodeSeat, RecordedEpisode

INTERVAL = 5


def recorded(
    returns: float | list[float] = 1.0,
    *,
    steps: int = 7,
    version: int | None = 0,
    error: str | None = None,
    **changes: Any,
) -> RecordedEpisode:
    """An episode of the counting game that came to `returns`, with action `step % 3` in each step.

    `version`: of the policy that played; None: a person did. `error`: what the game failed with.
    """
    each = returns if isinstance(returns, list) else [returns]
    actions = np.repeat((np.arange(steps, dtype=np.int64) % 3)[:, None], len(each), axis=1)
    player = EpisodeSeat(player="person")
    if version is not None:
        player = EpisodeSeat(player="policy", policy_id="main", policy_version=version)
    data: dict[str, Any] = {
        "game_id": "Counting-v1",
        "seed": {"low": 1, "high": 2},
        "instance": 0,
        "episode": 3,
        "seats": [player for _ in each],
        "seconds_per_step": 0.2,
        "actions": pack_actions(actions),
        "marks": EpisodeMarks(interval=INTERVAL, hashes="0123abcd" * num_marks(steps, INTERVAL)),
        "returns": each,
        "num_steps": steps,
        "num_ticks": 2 * steps,
        "end_reason": "time_limit",
    }
    if error is not None:
        failed = EpisodeError(kind="throw", name="TypeError", text=error, stack="at tick", tick=2 * steps)
        data |= {"end_reason": "failed", "error": failed}
    return RecordedEpisode.model_validate({**data, **changes})


def recorded_document(*args: Any, **changes: Any) -> dict[str, Any]:
    """`recorded` as the JSON of a file or a request has it."""
    return recorded(*args, **changes).model_dump(mode="json")
