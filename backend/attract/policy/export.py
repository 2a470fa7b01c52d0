"""ONNX models of a policy: written once per network shape, then patched with each version's weights."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor

from attract.errors import PolicyError
from attract.files import write_atomically
from attract.policy.action_kinds.table import KINDS
from attract.policy.graph import MASK_INPUT, add_action, policy_graph
from attract.policy.network import Policy
from attract.policy.observation_inputs import OBSERVATION_CLIP, UINT8_SCALE, Entry
from attract.schema.game import GameDescription

FORMAT_VERSION = 1
FORMAT_VERSION_WITH_MASK = 2
"""Version for games with a mask: readers of 1 do not know of its input. All others are unchanged."""
VALUE_MEANING = "expected discounted future reward, scaled as in training"


@dataclass(frozen=True, slots=True)
class _Place:
    """Offset of one tensor of the state dict in the serialised model."""

    offset: int
    num_bytes: int
    shape: tuple[int, ...]


class OnnxPatcher:
    """Serialised model of one network shape, and the place of each tensor of the state dict in it.

    Owned by the learner, one thread. Making one takes milliseconds; `patched` takes microseconds.
    """

    def __init__(self, policy: Policy) -> None:
        """Make the graph of `policy`, whose weights do not matter and do not change.

        Raises: PolicyError: when a tensor of the state dict is not found in the serialised graph.
        """
        model = policy_graph(policy)
        self._template = model.SerializeToString()
        names = policy.state_dict().keys()
        self._places = {
            initializer.name: _place(initializer, self._template)
            for initializer in model.graph.initializer
            if initializer.name in names
        }

    def patched(self, state: Mapping[str, Tensor]) -> bytes:
        """The model with these weights and statistics.

        Args:
            state: `policy.state_dict()`, float32, on any device.

        Returns: ONNX bytes, complete, without external data.
        Raises: PolicyError: when names or shapes are not those of the exported network.
        """
        if state.keys() != self._places.keys():
            raise PolicyError(
                "state dict of another network", expected=repr(sorted(self._places)), got=repr(sorted(state))
            )
        data = bytearray(self._template)
        for name, place in self._places.items():
            tensor = state[name]
            if tuple(tensor.shape) != place.shape or tensor.dtype != torch.float32:
                got = f"{tensor.dtype} {tuple(tensor.shape)}"
                raise PolicyError(f"tensor {name!r} does not fit", expected=f"float32 {place.shape}", got=got)
            raw = tensor.detach().cpu().contiguous().numpy().tobytes()
            data[place.offset : place.offset + place.num_bytes] = raw
        return bytes(data)


def shipped_model(onnx_bytes: bytes, metadata: Mapping[str, Any]) -> bytes:
    """The model as it ships: with the deterministic `action` as first output (see `graph.add_action`).

    A game's mask is an input of it.

    Args:
        onnx_bytes: from `OnnxPatcher.patched`.
        metadata: from `policy_metadata`; its keys become `metadata_props`, each value as JSON.
    """
    model = onnx.load_model_from_string(onnx_bytes)
    add_action(model, metadata["game"]["action"], has_mask=metadata["game"]["action_mask"])
    onnx.helper.set_model_props(
        model, {key: json.dumps(value, sort_keys=True) for key, value in metadata.items()}
    )
    return model.SerializeToString()


def policy_metadata(
    policy: Policy, game: GameDescription, policy_version: int, training: Mapping[str, Any]
) -> dict[str, Any]:
    """The contents of `policy.json`: how to feed the model and where it comes from; plain JSON data.

    Args:
        training: summary of the run (run id, steps, returns, ...), as JSON data.
    """
    kind = KINDS[game.action.kind]
    inputs = {entry.input_name: _input(policy, entry) for entry in policy.entries}
    outputs: dict[str, Any] = {
        "action": {**kind.action, "shape": ["batch", *game.action.action_shape]},
        **{
            name: {"dtype": "float32", "shape": ["batch", width], "meaning": kind.meanings[name]}
            for name, width in zip(policy.output_names, policy.output_sizes, strict=True)
        },
        "value": {"dtype": "float32", "shape": ["batch"], "meaning": VALUE_MEANING},
    }
    if policy.state_size:
        state = {"dtype": "float32", "shape": ["batch", policy.state_size]}
        inputs["state_ins"] = {**state, "meaning": "zeros at an episode's start, then the last state_outs"}
        outputs["state_outs"] = {**state, "meaning": "state_ins of the episode's next step"}
    if game.action_mask:
        inputs[MASK_INPUT] = {
            "dtype": "uint8",
            "shape": ["batch", policy.output_sizes[0]],
            "meaning": _MASK_MEANING,
        }
    return {
        "format": "attract-policy",
        "format_version": FORMAT_VERSION_WITH_MASK if game.action_mask else FORMAT_VERSION,
        "policy_version": policy_version,
        "game": game.model_dump(mode="json"),
        "inputs": inputs,
        "outputs": outputs,
        "training": dict(training),
    }


_MASK_MEANING = (
    "1 where a choice is allowed, as the game's actionMask; of each component one at least. `action` is the "
    "most probable of these; `logits` are before the mask: to draw from them, lower those of the others"
)
_SET_MEANING = "a row for each thing of the set, in any order: its numbers, then 1; zeros after the last"


def _input(policy: Policy, entry: Entry) -> dict[str, Any]:
    """Format of one input, and its preprocessing in the graph."""
    normaliser = policy.normalisers.get(entry.key)
    normalisation: dict[str, Any] = {"in_graph": True, "kind": "none"}
    if entry.kind == "one_hot":
        normalisation |= {"kind": "one_hot", "choices": list(entry.choices)}
    elif entry.dtype == torch.uint8 and entry.kind != "bits":
        normalisation |= {"kind": "scale", "scale": UINT8_SCALE}
    elif normaliser is not None:
        normalisation |= {
            "kind": "standardise",
            "mean": normaliser.mean.tolist(),
            "inv_std": normaliser.inv_std.tolist(),
            "clip": OBSERVATION_CLIP,
        }
    described = {
        "key": entry.key,
        "dtype": str(entry.dtype).removeprefix("torch."),
        "shape": ["batch", *entry.shape],
        "normalisation": normalisation,
    }
    return described | {"set": True, "meaning": _SET_MEANING} if entry.kind == "set" else described


def joint_metadata(
    documents: Mapping[str, Mapping[str, Any]], seats: Sequence[str], files: Mapping[str, str]
) -> dict[str, Any]:
    """The contents of `policy.json` for several policies: common part, seats, and the part of each.

    Args:
        documents: from `policy_metadata`, by policy id.
        seats: id of the policy that plays each agent.
        files: name of each policy's model.
    """
    common = {"format", "format_version", "policy_version", "game", "training"}
    first = next(iter(documents.values()))
    return {
        **{key: first[key] for key in sorted(common)},
        "seats": list(seats),
        "policies": {
            policy_id: {
                "file": files[policy_id],
                **{key: value for key, value in document.items() if key not in {*common, "policy_id"}},
            }
            for policy_id, document in documents.items()
        },
    }


def write_export(out_dir: Path, models: Mapping[str, bytes], document: Mapping[str, Any]) -> None:
    """Write models and, after them, `policy.json` into a folder, each whole or not at all.

    Args:
        out_dir: created when missing; files of these names are replaced.
        models: from `shipped_model`, by file name.
        document: from `policy_metadata` or `joint_metadata`.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    for name, model in models.items():
        write_atomically(out_dir / name, model)
    write_atomically(
        out_dir / "policy.json", (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()
    )


def _place(initializer: onnx.TensorProto, template: bytes) -> _Place:
    """Offset of the initializer's numbers: at the end of its own bytes, which its name makes unique."""
    whole, raw = initializer.SerializeToString(), initializer.raw_data
    offset = template.find(whole) + len(whole) - len(raw)
    if whole not in template or template[offset : offset + len(raw)] != raw:
        raise PolicyError(f"the bytes of {initializer.name!r} are not in the serialised model")
    return _Place(offset, len(raw), tuple(initializer.dims))
