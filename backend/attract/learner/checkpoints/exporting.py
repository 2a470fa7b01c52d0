"""A version's policies as files that ship inside a game, each compared with torch before it is written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from attract.policy.export import (
    OnnxPatcher,
    joint_metadata,
    policy_metadata,
    shipped_model,
    write_export,
)
from attract.policy.network import Policy
from attract.policy.parity import check_parity
from attract.runs.exports import model_file
from attract.schema.game import GameDescription


def export_policies(
    out_dir: Path,
    states: Mapping[str, Mapping[str, Tensor]],
    blank: Policy,
    patcher: OnnxPatcher,
    game: GameDescription,
    *,
    seats: Sequence[str],
    policy_version: int,
    training: Mapping[str, Any],
) -> None:
    """Write `policy.onnx`, or of several policies `<policy id>.onnx` each, and then `policy.json`.

    Args:
        out_dir: created when missing; files of these names are replaced.
        states: state dict by policy id.
        blank: a network of their shape; its weights are overwritten.
        patcher: of that shape.
        seats: id of the policy that plays each agent.
        training: summary of the run, as JSON data.

    Raises: PolicyError: when a model does not compute what torch does; nothing is written then.
    """
    models: dict[str, bytes] = {}
    documents: dict[str, dict[str, Any]] = {}
    for policy_id, state in states.items():
        blank.load_state_dict(state)
        documents[policy_id] = policy_metadata(blank, game, policy_version, training)
        if len(states) > 1:
            documents[policy_id]["policy_id"] = policy_id
        # What ships is what is checked: the graph with `action` in it.
        model = shipped_model(patcher.patched(blank.state_dict()), documents[policy_id])
        check_parity(blank, model)
        models[model_file(policy_id, list(states))] = model
    sole = next(iter(documents.values())) if len(documents) == 1 else None
    files = {policy_id: model_file(policy_id, list(states)) for policy_id in states}
    write_export(out_dir, models, joint_metadata(documents, seats, files) if sole is None else sole)
