"""The segments of one update as tensors."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """All segments of one update; the learner's own copy, time-major, on the learner's device."""

    observations: dict[str, Tensor]
    """[T, S, ...] each, float32 or uint8; a plain box is `obs`."""
    actions: Tensor
    """[T, S] int64."""
    log_probs: Tensor
    """[T, S] float32, under the version that acted."""
    values: Tensor
    """[T, S] float32, under the version that acted."""
    rewards: Tensor
    """[T, S] float32, raw."""
    terminated: Tensor
    """[T, S] bool."""
    truncated: Tensor
    """[T, S] bool."""
    valid: Tensor
    """[T, S] bool."""
    final_values: Tensor
    """[T, S] float32, V(final observation), meaningful where truncated."""
    bootstrap_value: Tensor
    """[S] float32, rule E4."""
    slot_id: Tensor
    """[S] int64."""
    first_step: Tensor
    """[S] int64."""
    policy_version: Tensor
    """[S] int64, the version that acted."""

    @property
    def horizon(self) -> int:
        """Steps per segment."""
        return self.valid.shape[0]

    @property
    def num_segments(self) -> int:
        """Number of columns."""
        return self.valid.shape[1]

    def keep(self, columns: Tensor) -> Self:
        """The batch with only the segments where `columns` ([S] bool) holds, in the same order."""
        kept: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "observations":
                kept[field.name] = {key: array[:, columns] for key, array in value.items()}
            else:
                kept[field.name] = value[:, columns] if value.ndim > 1 else value[columns]
        return replace(self, **kept)

    def to(self, device: torch.device) -> Self:
        """The same batch on a device; nothing is copied when it is there already."""
        if self.valid.device == device:
            return self
        moved: dict[str, Any] = {
            field.name: getattr(self, field.name).to(device)
            for field in fields(self)
            if field.name != "observations"
        }
        moved["observations"] = {key: array.to(device) for key, array in self.observations.items()}
        return replace(self, **moved)
