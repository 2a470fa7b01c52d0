"""How a run stands, for tests of what is said of it."""

from typing import Any

from attract.schema.api import RunView


def run_view(**changes: Any) -> RunView:
    """A run of CartPole after three updates, still training; `changes` are fields that differ."""
    values: dict[str, Any] = {
        "run_id": "cartpole-1",
        "game": "cartpole",
        "state": "running",
        "created": "2026-01-01T00:00:00Z",
        "seed": 0,
        "policy_version": 3,
        "agent_steps": 20_000,
        "collected_steps": 21_000,
        "updates": 3,
        "episodes": 40,
        "elapsed_seconds": 10.0,
        "steps_per_second": 2000.0,
        "episode_return_mean": 123.456,
        "goal": None,
        "total_steps": None,
    }
    return RunView.model_validate({**values, **changes})
