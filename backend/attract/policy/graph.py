"""Writes the ONNX graph of a perceptron by hand: a millisecond, where the general exporter takes seconds."""

from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from attract.errors import PolicyError
from attract.policy.dense import ReluLayer, TanhLayer
from attract.policy.mlp import OBSERVATION_CLIP, MlpPolicy

_IR_VERSION = 10
_UINT8_SCALE = np.float32(1.0 / 255.0)
_ACTIVATIONS: dict[type[nn.Module], str] = {TanhLayer: "Tanh", ReluLayer: "Relu"}


def mlp_graph(policy: MlpPolicy, opset: int) -> onnx.ModelProto:
    """The model `torch.onnx.export` makes of this network; initializers keep their state dict names.

    Returns: input `obs` [batch, ...], outputs `logits` [batch, n] and `value` [batch].
    """
    graph = _Graph()
    for name, tensor in policy.state_dict().items():
        graph.constant(name, tensor.detach().cpu().contiguous().numpy())
    features = _prepare(graph, policy)
    trunk = _trunk(graph, "trunk", policy.trunk, features)
    value_trunk = (
        trunk if policy.value_trunk is None else _trunk(graph, "value_trunk", policy.value_trunk, features)
    )
    graph.node("Gemm", [trunk, "policy_head.weight", "policy_head.bias"], "logits", transB=1)
    column = graph.node(
        "Gemm", [value_trunk, "value_head.weight", "value_head.bias"], "value_column", transB=1
    )
    graph.constant("last_axis", np.array([1], np.int64))
    graph.node("Squeeze", [column, "last_axis"], "value")

    dtype = TensorProto.FLOAT if policy.observation_dtype.is_floating_point else TensorProto.UINT8
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "policy",
            [helper.make_tensor_value_info("obs", dtype, ["batch", *policy.observation_shape])],
            [
                helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", policy.num_outputs]),
                helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch"]),
            ],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=_IR_VERSION,
        producer_name="attract",
    )
    onnx.checker.check_model(model, full_check=True)
    return model


class _Graph:
    """Nodes and initializers in the order they were added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, name: str, array: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"node_{output}", **attributes))
        return output


def _prepare(graph: _Graph, policy: MlpPolicy) -> str:
    """`MlpPolicy.prepare`: scaled or normalised, flat."""
    name = "obs"
    if policy.observation_dtype == torch.uint8:
        name = graph.node("Cast", [name], "float_obs", to=int(TensorProto.FLOAT))
        name = graph.node("Mul", [name, graph.constant("uint8_scale", np.array(_UINT8_SCALE))], "scaled")
    elif policy.normaliser is not None:
        low = graph.constant("clip_low", np.array(-OBSERVATION_CLIP, np.float32))
        high = graph.constant("clip_high", np.array(OBSERVATION_CLIP, np.float32))
        name = graph.node("Sub", [name, "normaliser.mean"], "centred")
        name = graph.node("Mul", [name, "normaliser.inv_std"], "standardised")
        name = graph.node("Clip", [name, low, high], "clipped")
    if len(policy.observation_shape) != 1:
        name = graph.node("Flatten", [name], "flat", axis=1)
    return name


def _trunk(graph: _Graph, prefix: str, trunk: nn.Sequential, name: str) -> str:
    for index, layer in enumerate(trunk):
        activation = _ACTIVATIONS.get(type(layer))
        if activation is None:
            raise PolicyError(f"no ONNX operator is known here for a layer of type {type(layer).__name__}")
        inputs = [name, f"{prefix}.{index}.weight", f"{prefix}.{index}.bias"]
        linear = graph.node("Gemm", inputs, f"{prefix}_{index}_linear", transB=1)
        name = graph.node(activation, [linear], f"{prefix}_{index}")
    return name
