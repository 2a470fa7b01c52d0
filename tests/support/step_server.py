"""A worker under central inference as it should behave, with numbers that name themselves."""

import numpy as np

from attract.schema.episode_results import EpisodeResult
from attract.schema.messages import Observe, StepOutcome
from attract.schema.tensor import from_numpy


class FakeStepServer:
    """Steps games whose observation is [slot, steps taken, action, 0] and whose reward is the steps taken.

    Episodes of game i end after `lengths(i)` steps: even games terminate, odd ones are truncated.
    """

    def __init__(self, num_agents: int, episode_steps: int = 1_000_000) -> None:
        self.num_agents = num_agents
        self.episode_steps = episode_steps
        self.steps: dict[bytes, int] = {}
        self.total_steps = 0

    def answer(
        self, instance_ids: np.ndarray, group: int, action: np.ndarray | None, *, lease_id: int = 1
    ) -> Observe:
        """The `observe` to an order for these games."""
        slots = (instance_ids[:, None] * self.num_agents + np.arange(self.num_agents)).reshape(-1)
        key = instance_ids.tobytes()
        before = self.steps.get(key, 0)
        after = before + (action is not None)
        self.steps[key] = after
        observation = self._seen(slots, after, np.zeros(len(slots)) if action is None else action)
        outcome = None
        if action is not None:
            self.total_steps += len(slots)
            outcome = self._outcome(instance_ids, slots, after, action)
        return Observe(
            run_id="run-1",
            lease_id=lease_id,
            group=group,
            step=after,
            observation={"obs": from_numpy(observation)},
            active=from_numpy(np.ones(len(slots), np.uint8)),
            episode=from_numpy(np.full(len(instance_ids), after // self.episode_steps, np.int32)),
            episode_step=from_numpy(np.full(len(instance_ids), after % self.episode_steps, np.int32)),
            outcome=outcome,
        )

    def _seen(self, slots: np.ndarray, step: int, action: np.ndarray) -> np.ndarray:
        columns = (slots, np.full(len(slots), step), action, np.zeros(len(slots)))
        return np.stack(columns, axis=1).astype(np.float32)

    def _outcome(
        self, instance_ids: np.ndarray, slots: np.ndarray, step: int, action: np.ndarray
    ) -> StepOutcome:
        is_over = step % self.episode_steps == 0
        even = np.repeat(instance_ids % 2 == 0, self.num_agents)
        truncated = is_over & ~even
        columns = np.flatnonzero(truncated)
        # Seen before the reset: 0.5 in the last place tells it from what is seen after it.
        finals = self._seen(slots, step, action)[columns]
        finals[:, 3] = 0.5
        episodes = [
            EpisodeResult(
                instance_id=int(instance),
                episode=step // self.episode_steps - 1,
                step=0,
                returns=[float(step)] * self.num_agents,
                length_steps=self.episode_steps,
                length_ticks=self.episode_steps,
                end_reason="terminated" if instance % 2 == 0 else "time_limit",
            )
            for instance in instance_ids
            if is_over
        ]
        return StepOutcome(
            reward=from_numpy(np.full(len(slots), step, np.float32)),
            terminated=from_numpy((is_over & even).astype(np.uint8)),
            truncated=from_numpy(truncated.astype(np.uint8)),
            valid=from_numpy(np.ones(len(slots), np.uint8)),
            executed_ticks=from_numpy(np.ones(len(slots), np.uint16)),
            final_column=from_numpy(columns.astype(np.int32)) if len(columns) else None,
            final_observation={"obs": from_numpy(finals)} if len(columns) else {},
            episodes=episodes,
            step_seconds=0.001,
        )
