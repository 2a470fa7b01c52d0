"""State that rank 0 hands to all cells: where they begin, and how far they are (rules D1, D2, T4)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from attract.errors import GroupError
from attract.learner.checkpoints.checkpoint import OPTIMIZER_FILE, POLICY_FILE, Checkpoint, Snapshot
from attract.learner.group.cells import LearnerGroup
from attract.schema.learner import Counters, GroupState, Train

PER_SLOT = ".slots."
"""In the names of tensors that are of a cell's own slots, and mean nothing elsewhere."""
_COUNTED = tuple(Counters.model_fields)


def broadcast_state(group: LearnerGroup, snapshot: Snapshot, kind: Mapping[str, Any]) -> Checkpoint | None:
    """The state of rank 0, for the others; None at rank 0, whose own it is.

    Args:
        group: all cells.
        snapshot: of this cell's state; of its slots nothing is sent.
        kind: what all cells must have in common, as JSON values.

    Raises: GroupError: this cell is of another kind; names what differs.
    """
    led = json.loads(group.broadcast(json.dumps({"kind": kind, "document": snapshot.document}).encode()))
    files = {name: group.broadcast(snapshot.files[name]) for name in (POLICY_FILE, OPTIMIZER_FILE)}
    if group.rank == 0:
        return None
    own = json.loads(json.dumps(kind))
    different = sorted(
        name for name in own.keys() | led["kind"].keys() if own.get(name) != led["kind"].get(name)
    )
    if different:
        raise GroupError(
            f"cell {group.rank} and cell 0 differ in {', '.join(different)}: start all "
            "cells by the same command",
            is_final=True,
        )
    tensors = {name: safetensors.torch.load(data) for name, data in files.items()}
    policy = {name: tensor for name, tensor in tensors[POLICY_FILE].items() if PER_SLOT not in name}
    document = led["document"]
    return Checkpoint(
        Path("cell 0"), int(document["policy_version"]), policy, tensors[OPTIMIZER_FILE], document
    )


@dataclass(frozen=True)
class Joined:
    """An update that all cells have reached."""

    can_learn: bool
    """Whether each has something to learn from."""
    state: GroupState
    """After it."""


def join_update(
    group: LearnerGroup, message: Train, before: Counters, version: int, num_steps: int, *, can_learn: bool
) -> Joined:
    """Wait until every cell has a batch for the update of this version.

    Args:
        group: all cells.
        message: of this cell's gateway, whose counters go on from `before` by what it alone has played.
        before: the update that all cells had reached.
        version: that the update begins with.
        num_steps: valid steps of this cell's batch.
        can_learn: whether there is something to learn from in it.

    Raises: GroupError, GroupOverError: as `LearnerGroup`; or another cell is at another version.
    """
    more = {name: getattr(message.counters, name) - getattr(before, name) for name in _COUNTED}
    more |= {"agent_steps": num_steps, "updates": 0}
    words = torch.tensor([int(can_learn), version, *more.values()])
    of_all = group.barrier(f"a batch for version {version + 1}", words)
    if bool((of_all[:, 1] != version).any()):
        raise GroupError(f"cells are at versions {of_all[:, 1].tolist()}")
    total = dict(zip(more, of_all[:, 2:].sum(0).tolist(), strict=True))
    counters = Counters(**{name: getattr(before, name) + total[name] for name in _COUNTED})
    counters = counters.model_copy(update={"updates": before.updates + 1})
    curriculum = json.loads(group.broadcast(json.dumps(message.curriculum).encode()))
    return Joined(bool(of_all[:, 0].all()), GroupState(counters=counters, curriculum=curriculum))
