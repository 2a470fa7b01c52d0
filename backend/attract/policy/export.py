"""ONNX models of a policy: exported once per network shape, then patched with each version's weights."""

import copy
import json
import logging
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from attract.errors import PolicyError
from attract.policy.graph import mlp_graph
from attract.policy.mlp import OBSERVATION_CLIP, MlpPolicy
from attract.policy.network import Policy
from attract.schema.game import GameDescription

OPSET = 18
INPUT_NAMES = ("obs",)
OUTPUT_NAMES = ("logits", "value")
FORMAT_VERSION = 1

_BLUEPRINT_SEED = 20_261_121

_HAND_WRITTEN: dict[type[Policy], Callable[[Policy], onnx.ModelProto]] = {
    MlpPolicy: partial(mlp_graph, opset=OPSET)
}
"""Networks whose graph needs no tracing; tests compare each with `export_by_torch`."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one tensor of the state dict lies in the serialised model."""

    offset: int
    num_bytes: int
    shape: tuple[int, ...]


class OnnxPatcher:
    """Serialised model of one network shape, and where each tensor of the state dict lies in it.

    Owned by the learner, one thread. Making one takes milliseconds where the graph is written by hand and
    seconds where torch exports it; `patched` takes microseconds.
    """

    def __init__(self, policy: Policy) -> None:
        """Make the graph of `policy`; its weights are neither used nor changed.

        Raises: PolicyError: when a tensor of the state dict is not found unchanged in the graph.
        """
        blueprint = _blueprint(policy)
        model = _HAND_WRITTEN.get(type(policy), export_by_torch)(blueprint)
        state = blueprint.state_dict()
        self._template = _serialise(model, state)
        self._places = {name: _place(name, tensor, self._template) for name, tensor in state.items()}

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
    """The model as it ships: with `action` ([batch] int32, the most probable one) as first output.

    Args:
        onnx_bytes: from `OnnxPatcher.patched`.
        metadata: from `policy_metadata`; its keys become `metadata_props`, each value as JSON.
    """
    model = onnx.load_model_from_string(onnx_bytes)
    model.graph.node.append(
        onnx.helper.make_node(
            "ArgMax", ["logits"], ["action_index"], name="action_index", axis=-1, keepdims=0
        )
    )
    # int32, because an int64 output arrives in JavaScript as BigInt.
    model.graph.node.append(
        onnx.helper.make_node(
            "Cast", ["action_index"], ["action"], name="action_cast", to=onnx.TensorProto.INT32
        )
    )
    action = onnx.helper.make_tensor_value_info("action", onnx.TensorProto.INT32, ["batch"])
    model.graph.output.insert(0, action)
    onnx.helper.set_model_props(
        model, {key: json.dumps(value, sort_keys=True) for key, value in metadata.items()}
    )
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def policy_metadata(
    policy: Policy, game: GameDescription, policy_version: int, training: Mapping[str, Any]
) -> dict[str, Any]:
    """What `policy.json` says: how to feed the model and where it comes from; plain JSON data.

    Args:
        training: summary of the run (run id, steps, returns, ...), as JSON data.
    """
    dtype = "uint8" if policy.observation_dtype == torch.uint8 else "float32"
    normalisation: dict[str, Any] = {"in_graph": True, "kind": "none"}
    if dtype == "uint8":
        normalisation |= {"kind": "scale", "scale": 1.0 / 255.0}
    elif policy.normaliser is not None:
        normalisation |= {
            "kind": "standardise",
            "mean": policy.normaliser.mean.tolist(),
            "inv_std": policy.normaliser.inv_std.tolist(),
            "clip": OBSERVATION_CLIP,
        }
    return {
        "format": "attract-policy",
        "format_version": FORMAT_VERSION,
        "policy_version": policy_version,
        "game": game.model_dump(mode="json"),
        "inputs": {"obs": {"dtype": dtype, "shape": ["batch", *policy.observation_shape]}},
        "outputs": {
            "action": {"dtype": "int32", "shape": ["batch"], "meaning": "most probable action"},
            "logits": {"dtype": "float32", "shape": ["batch", policy.num_outputs]},
            "value": {"dtype": "float32", "shape": ["batch"]},
        },
        "normalisation": normalisation,
        "training": dict(training),
    }


def write_export(out_dir: Path, onnx_bytes: bytes, metadata: Mapping[str, Any]) -> None:
    """Write `policy.onnx` (with `action`) and `policy.json` into a folder, each whole or not at all.

    Args:
        out_dir: created when missing; files of these names are replaced.
        onnx_bytes: from `OnnxPatcher.patched`.
        metadata: from `policy_metadata`.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    _replace(out_dir / "policy.onnx", shipped_model(onnx_bytes, metadata))
    _replace(out_dir / "policy.json", (json.dumps(metadata, indent=2, sort_keys=True) + "\n").encode())


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _blueprint(policy: Policy) -> Policy:
    """A copy on the CPU whose tensors are all different random numbers.

    The exporter leaves a bias of zeros out and merges equal tensors; and random bytes are found again.
    """
    blueprint = copy.deepcopy(policy).cpu().eval()
    generator = torch.Generator().manual_seed(_BLUEPRINT_SEED)
    with torch.no_grad():
        for tensor in blueprint.state_dict().values():
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
    return blueprint


def export_by_torch(policy: Policy) -> onnx.ModelProto:
    """The graph as torch's own exporter traces it: for any network, 1 to 5 seconds."""
    example = torch.zeros((2, *policy.observation_shape), dtype=policy.observation_dtype)
    # The exporter warns about torchvision, which is not needed, and about Python's own deprecations.
    registration = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = registration.level
    registration.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            program = torch.onnx.export(
                policy,
                (example,),
                dynamo=True,
                dynamic_shapes={"obs": {0: torch.export.Dim("batch")}},
                input_names=list(INPUT_NAMES),
                output_names=list(OUTPUT_NAMES),
                opset_version=OPSET,
                external_data=False,
                verbose=False,
            )
    finally:
        registration.setLevel(level)
    if program is None:
        raise PolicyError("the ONNX exporter returned nothing")
    return program.model_proto


def _serialise(model: onnx.ModelProto, state: Mapping[str, Tensor]) -> bytes:
    """The model's bytes, every initializer as raw data, without traces of the machine that exported it."""
    for initializer in model.graph.initializer:
        array = numpy_helper.to_array(initializer)
        expected = state.get(initializer.name)
        if expected is not None and not (
            array.shape == tuple(expected.shape) and (array == expected.numpy()).all()
        ):
            raise PolicyError(
                f"the exporter changed {initializer.name!r}",
                expected=f"the tensor of shape {tuple(expected.shape)}",
                got=f"shape {array.shape}",
            )
        initializer.CopyFrom(numpy_helper.from_array(array, initializer.name))
    missing = state.keys() - {initializer.name for initializer in model.graph.initializer}
    if missing:
        raise PolicyError(f"the exporter left out {sorted(missing)}")
    for node in model.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    for value in (*model.graph.input, *model.graph.output):
        value.ClearField("metadata_props")
    model.graph.ClearField("value_info")
    model.graph.ClearField("metadata_props")
    model.ClearField("metadata_props")
    return model.SerializeToString()


def _place(name: str, tensor: Tensor, template: bytes) -> _Place:
    raw = tensor.contiguous().numpy().tobytes()
    offset = template.find(raw)
    if offset < 0 or template.find(raw, offset + 1) >= 0:
        raise PolicyError(f"the bytes of {name!r} are not exactly once in the exported model")
    return _Place(offset, len(raw), tuple(tensor.shape))
