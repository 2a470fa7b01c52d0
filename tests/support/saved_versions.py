"""Checkpoints as the learner writes them, for tests of those who read them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from attract.learner.checkpoints.checkpoint import Snapshot, write_checkpoint
from attract.learner.checkpoints.tensor_namespaces import with_prefixes


def save_version(checkpoints: Path, version: int, parts: Mapping[str, Mapping[str, Tensor]]) -> Path:
    """A checkpoint of these state dicts, by policy id, with what algorithms keep beside them."""
    whole = {
        policy_id: {
            **state,
            "observation_statistics.count": state["value_head.bias"].double(),
            "exploration.weight": state["value_head.bias"],
        }
        for policy_id, state in parts.items()
    }
    document: dict[str, Any] = {"counters": {}}
    if len(parts) > 1:
        document["policies"] = {policy_id: {} for policy_id in parts}
    return write_checkpoint(checkpoints, Snapshot.take(version, with_prefixes(whole), {}, document))
