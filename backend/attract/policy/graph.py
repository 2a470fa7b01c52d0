"""Writes the ONNX graph of a policy by hand: a millisecond, where a general exporter takes seconds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

from attract.policy.action_kinds.table import KINDS
from attract.policy.graph_builder import GraphBuilder
from attract.policy.graph_layers import write_core, write_entry, write_linear, write_trunk
from attract.policy.network import Policy

OPSET = 12
"""The newest opset that ONNX Runtime loads quickly: 13 or more take up to half as long again."""
MASK_INPUT = "action_mask"
"""Input of the model that ships, where the game has a mask: the allowed actions."""
_IR_VERSION = 7
_INPUT_TYPES = {
    torch.float32: TensorProto.FLOAT,
    torch.uint8: TensorProto.UINT8,
    torch.int32: TensorProto.INT32,
}


def policy_graph(policy: Policy) -> onnx.ModelProto:
    """One decision of the policy as a model; initializers have their state dict names.

    Returns: inputs `obs` [batch, ...] (a dictionary: `obs_0` ... in sorted key order) and, when recurrent,
        `state_ins` [batch, state_size]; outputs `logits` [batch, n], `mean` and `log_std` [batch, size], or
        all three, then `value` [batch] and, when recurrent, `state_outs` [batch, state_size].
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
    where that is more probable; a box [batch, size] float32: the mean, clipped to its bounds and scaled; a
    mixed action [batch, components] float32: its choices, then its numbers.

    Args:
        model: from `policy_graph`; changed in place.
        action_space: of the game, as JSON.
        has_mask: the model gets an input `action_mask` [batch, width] uint8, of each component at least one
            that is not 0; `action` is the most probable of those. `logits` stay as they are.
    """
    graph = GraphBuilder()
    kind = KINDS[action_space["kind"]]
    logits = "logits"
    if has_mask:
        width = kind.distribution(action_space).output_sizes[0]
        model.graph.input.append(
            helper.make_tensor_value_info(MASK_INPUT, TensorProto.UINT8, ["batch", width])
        )
        allowed = graph.cast(MASK_INPUT, "bool", "action_allowed")
        lowest = graph.constant("action_forbidden_logit", np.finfo(np.float32).min)
        logits = graph.node("Where", [allowed, logits, lowest], "action_logits")
    shape = ["batch", *kind.write_action(graph, action_space, logits)]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind.action["dtype"]))
    model.graph.node.extend(graph.nodes)
    model.graph.initializer.extend(graph.initializers)
    model.graph.output.insert(0, helper.make_tensor_value_info("action", element, shape))
    onnx.checker.check_model(model, full_check=True)


def _write_heads(graph: GraphBuilder, policy: Policy, features: str) -> list[onnx.ValueInfoProto]:
    trunk = write_trunk(graph, "trunk", policy.trunk, features)
    value_trunk = trunk
    if policy.value_trunk is not None:
        value_trunk = write_trunk(graph, "value_trunk", policy.value_trunk, features)
    names = policy.output_names
    rows = [*names] if policy.action_log_std is None else [*names[:-1]]
    head = write_linear(graph, "policy_head", trunk, names[0] if len(rows) == 1 else "policy_outputs")
    if len(rows) > 1:
        graph.add("Split", [head], rows, "node_policy_split", axis=1, split=[*policy.output_sizes[:-1]])
    if policy.action_log_std is not None:
        graph.node("Expand", ["action_log_std", graph.node("Shape", [rows[-1]])], names[-1])
    column = write_linear(graph, "value_head", value_trunk)
    graph.node("Squeeze", [column], "value", axes=[1])
    return [
        *(_floats(name, width) for name, width in zip(names, policy.output_sizes, strict=True)),
        helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch"]),
    ]


def _floats(name: str, width: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
