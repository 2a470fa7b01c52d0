"""A store that a torch policy filled, for games of any spaces: what `played_batches` plays, as rows."""

from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from torch import Tensor

from attract.experience.batch import Batch
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.store import SegmentStore
from attract.policy.network import Policy, build_distribution, build_policy
from attract.schema.game import GameDescription
from attract.settings.run import PolicySettings
from played_batches import play

HORIZON, SLOTS, RUNS = 6, 4, 2


class PlayedFleet:
    """Two segments of each of four slots at a time, played by the policy it is handed; `horizon`, `path` and
    `description` are what `learner_world.begin_for` needs."""

    def __init__(self, path: Path, description: GameDescription, settings: PolicySettings) -> None:
        self.path, self.description, self.horizon = path, description, HORIZON
        state = {"state": (settings.state_size,)} if settings.state_size else {}
        layout = StoreLayout.for_run(description, PolicyLayout(state), HORIZON, SLOTS * RUNS)
        self.store = SegmentStore.create(path, layout)
        self._settings = settings
        self._batches = 0

    def play(self, policy: Policy | None, version: int) -> list[int]:
        """Rows of a batch of its own slots, whose first step is 0; None: some other policy plays."""
        distribution = build_distribution(self.description)
        policy = policy or build_policy(self._settings, self.description, seed=9)
        choices = distribution.num_outputs if self.description.action_mask else 0
        batch = play(
            policy, distribution, horizon=HORIZON, slots=SLOTS, runs=RUNS, invalid=0.5, masks=choices
        )
        self.store.write_block(np.arange(SLOTS * RUNS), self._arrays(batch, version))
        self._batches += 1
        return list(range(SLOTS * RUNS))

    def _arrays(self, batch: Batch, version: int) -> dict[str, np.ndarray | int]:
        assert batch.finals is not None
        segments = SLOTS * RUNS
        arrays: dict[str, np.ndarray | int] = {
            "action": _array(batch.action),
            "log_prob": _array(batch.log_prob),
            "value": _array(batch.value),
            "reward": _array(batch.reward),
            "terminated": _array(batch.terminated),
            "truncated": _array(batch.truncated),
            "valid": _array(batch.valid),
            "executed_ticks": _array(batch.valid),
            "bootstrap_value": _array(batch.bootstrap_value),
            "slot_id": _array(batch.slot_id) + SLOTS * self._batches,
            "first_step": _array(batch.first_step),
            "lease_id": 0,
            "segment_index": 0,
            "policy_version": version,
            "worker_id": 0,
        }
        for key, tensor in batch.observation.items():
            arrays[f"obs.{key}"] = _array(tensor)
            arrays[f"bootstrap_obs.{key}"] = _array(batch.bootstrap_observation[key])
        if batch.action_mask is not None:
            arrays["action_mask"] = _array(batch.action_mask)
        for key, tensor in batch.recurrent_state.items():
            arrays[f"recurrent_state.{key}"] = _array(tensor)
        step, column = _array(batch.finals.step), _array(batch.finals.column)
        if len(step):
            arrays |= {"final_step": step, "final_column": column}
            arrays["final_value"] = _array(batch.final_value)[step, column]
            arrays |= {f"final_obs.{key}": _array(values) for key, values in batch.finals.observation.items()}
        assert segments == len(batch.slot_id)
        return arrays

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.store.close(unlink=True)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.numpy()
