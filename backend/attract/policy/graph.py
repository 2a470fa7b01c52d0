"""Writes the ONNX graph of a policy by hand: a millisecond, where a general exporter takes seconds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

from attract.policy.graph_builder import GraphBuilder
from attract.policy.graph_layers import write_core, write_entry, write_linear, write_trunk
from attract.policy.network import Policy

OPSET = 12
"""The newest of which ONNX Runtime makes a session quickly: 13 or more take up to half as long again."""
MASK_INPUT = "action_mask"
"""Of the model that ships, where the game has a mask: what is allowed."""
_IR_VERSION = 7
_INPUT_TYPES = {
    torch.float32: TensorProto.FLOAT,
    torch.uint8: TensorProto.UINT8,
    torch.int32: TensorProto.INT32,
}


def policy_graph(policy: Policy) -> onnx.ModelProto:
    """One decision of the policy as a model; initializers have their state dict names.

    Returns: inputs `obs` [batch, ...] (a dictionary: `obs_0` ... in sorted key order) and, when recurrent,
        `state_ins` [batch, state_size]; outputs `logits` [batch, n], or `mean` and `log_std` [batch, size],
        then `value` [batch] and, when recurrent, `state_outs` [batch, state_size].
    """
    graph = GraphBuilder()
    for name, tensor in policy.state_dict().items():
        graph.constant(name, tensor.detach().cpu().contiguous().numpy())
    features = graph.join(
        [
            write_entry(
                graph,
                entry,
                is_normalised=entry.key in policy.normalisers,
                encoder=policy.encoders.get(entry.key),
            )
            for entry in policy.entries
        ]
    )
    inputs = [
        helper.make_tensor_value_info(entry.input_name, _INPUT_TYPES[entry.dtype], ["batch", *entry.shape])
        for entry in policy.entries
    ]
    if policy.core is not None:
        features = write_core(graph, policy.core, features)
        inputs.append(_floats("state_ins", policy.state_size))
    outputs = _write_heads(graph, policy, features)
    if policy.core is not None:
        outputs.append(_floats("state_outs", policy.state_size))
    model = helper.make_model(
        helper.make_graph(graph.nodes, "policy", inputs, outputs, graph.initializers),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        producer_name="attract",
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def add_action(model: onnx.ModelProto, action_space: Mapping[str, Any], *, has_mask: bool = False) -> None:
    """Put the deterministic action before the model's outputs, as the game takes it.

    Discrete choices [batch] or [batch, components] int32: the most probable each; bits [batch, n] int32: 1
    where that is more probable; a box [batch, size] float32: the mean, clipped to its bounds and scaled.

    Args:
        model: from `policy_graph`; changed in place.
        action_space: of the game, as JSON.
        has_mask: the model gets an input `action_mask` [batch, width] uint8, of each component at least one
            that is not 0; `action` is the most probable of those. `logits` stay as they are.
    """
    graph = GraphBuilder()
    kind = action_space["kind"]
    logits = "logits"
    if has_mask:
        width = sum(action_space["nvec"]) if kind == "multi_discrete" else action_space["n"]
        model.graph.input.append(
            helper.make_tensor_value_info(MASK_INPUT, TensorProto.UINT8, ["batch", width])
        )
        allowed = graph.node("Cast", [MASK_INPUT], "action_allowed", to=int(TensorProto.BOOL))
        lowest = graph.constant("action_forbidden_logit", np.finfo(np.float32).min)
        logits = graph.node("Where", [allowed, logits, lowest], "action_logits")
    shape: list[int | str] = ["batch"]
    element = TensorProto.INT32
    if kind == "discrete":
        index = graph.node("ArgMax", [logits], "action_index", axis=-1, keepdims=0)
        # int32, because an int64 output arrives in JavaScript as BigInt.
        graph.node("Cast", [index], "action", to=int(TensorProto.INT32))
    elif kind == "multi_discrete":
        nvec = list(action_space["nvec"])
        shape.append(len(nvec))
        # Not `GraphBuilder.split`, whose names are those of the policy's own nodes.
        parts = [f"action_logits_{index}" for index in range(len(nvec))]
        graph.nodes.append(
            helper.make_node("Split", [logits], parts, name="action_split", axis=1, split=nvec)
        )
        indices = [
            graph.node("ArgMax", [part], f"action_index_{place}", axis=1, keepdims=1)
            for place, part in enumerate(parts)
        ]
        graph.node("Cast", [graph.join(indices, "action_indices")], "action", to=int(TensorProto.INT32))
    elif kind == "multi_binary":
        shape.append(int(action_space["n"]))
        likely = graph.node(
            "Greater", ["logits", graph.constant("action_even", np.float32(0.0))], "action_likely"
        )
        graph.node("Cast", [likely], "action", to=int(TensorProto.INT32))
    else:
        element = TensorProto.FLOAT
        low, high = (_bound(action_space, name) for name in ("low", "high"))
        shape.append(len(low))
        bounds = [
            graph.constant(f"action_unit_{name}", np.float32(bound))
            for name, bound in (("low", -1.0), ("high", 1.0))
        ]
        clipped = graph.node("Clip", ["mean", *bounds], "action_clipped")
        raised = graph.node("Add", [clipped, bounds[1]], "action_raised")
        half = graph.constant("action_half_range", ((high - low) / 2.0).astype(np.float32))
        scaled = graph.node("Mul", [raised, half], "action_scaled")
        graph.node("Add", [scaled, graph.constant("action_low", low.astype(np.float32))], "action")
    model.graph.node.extend(graph.nodes)
    model.graph.initializer.extend(graph.initializers)
    model.graph.output.insert(0, helper.make_tensor_value_info("action", element, shape))
    onnx.checker.check_model(model, full_check=True)


def _bound(action_space: Mapping[str, Any], name: str) -> np.ndarray:
    """[size] float64, one bound per component."""
    size = int(np.prod(action_space["shape"], dtype=np.int64))
    return np.broadcast_to(np.asarray(action_space[name], np.float64), (size,))


def _write_heads(graph: GraphBuilder, policy: Policy, features: str) -> list[onnx.ValueInfoProto]:
    trunk = write_trunk(graph, "trunk", policy.trunk, features)
    value_trunk = trunk
    if policy.value_trunk is not None:
        value_trunk = write_trunk(graph, "value_trunk", policy.value_trunk, features)
    names = policy.output_names
    write_linear(graph, "policy_head", trunk, names[0])
    if policy.action_log_std is not None:
        graph.node("Expand", ["action_log_std", graph.node("Shape", [names[0]])], names[1])
    column = write_linear(graph, "value_head", value_trunk)
    graph.node("Squeeze", [column], "value", axes=[1])
    width = policy.num_outputs // len(names)
    return [
        *(_floats(name, width) for name in names),
        helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch"]),
    ]


def _floats(name: str, width: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
