"""Store rows as the tensors an update works on, with the versions that acted."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor

from attract.learner.update import UpdateBatch


@dataclass(frozen=True, slots=True)
class Batch(UpdateBatch):
    """The learner's own copy of a batch's rows: what the gateway writes next does not reach it."""

    policy_version: Tensor
    """[S] int64, the version that acted."""

    @property
    def num_segments(self) -> int:
        """Number of columns."""
        return self.valid.shape[1]

    def keep(self, columns: Tensor) -> Self:
        """The batch with only some columns: [S] bool, or int64 indices in the order wanted."""
        kept: dict[str, Any] = {}
        for field in fields(self):
            value: Tensor = getattr(self, field.name)
            kept[field.name] = value[:, columns] if value.shape[:2] == self.valid.shape else value[columns]
        return replace(self, **kept)

    def to(self, device: torch.device) -> Self:
        """The same batch on a device; nothing is copied when it is there already."""
        if self.valid.device == device:
            return self
        return replace(self, **{field.name: getattr(self, field.name).to(device) for field in fields(self)})


@dataclass(frozen=True, slots=True)
class Beyond:
    """The observations behind a batch's bootstrap and final values (rule E8), for the same segments."""

    bootstrap_observations: Tensor
    """[S, ...], after the last step."""
    final_step: Tensor
    """[F, S] int64, step in the segment of each final observation; -1 is none."""
    final_observations: Tensor
    """[F, S, ...]."""
