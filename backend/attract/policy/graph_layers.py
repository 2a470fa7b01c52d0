"""The layers of a policy as ONNX nodes: encoders of observations, recurrent cells, trunks."""

from typing import Any

import numpy as np
from onnx import TensorProto
from torch import nn

from attract.errors import PolicyError
from attract.policy.convolution import ImpalaCnn, ImpalaStage, ResidualBlock, SmallCnn
from attract.policy.dense import BinsLayer, ReluLayer, TanhLayer
from attract.policy.graph_builder import GraphBuilder
from attract.policy.observation_inputs import OBSERVATION_CLIP, UINT8_SCALE, Entry
from attract.policy.recurrent import GruCore, LstmCore, RecurrentCore
from attract.policy.set_encoder import NUM_HEADS, SET_FEATURES, SetEncoder

_FLOAT = int(TensorProto.FLOAT)
_PIXEL: dict[str, Any] = {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [0, 0, 0, 0]}
_ACTIVATIONS: dict[type[nn.Module], str] = {TanhLayer: "Tanh", ReluLayer: "Relu"}


def write_entry(graph: GraphBuilder, entry: Entry, *, is_normalised: bool, encoder: nn.Module | None) -> str:
    """[batch, features] of one entry: `Policy.preprocess`, `Entry.encode` and its encoder."""
    name = entry.input_name
    if entry.kind == "one_hot":
        return _one_hot(graph, entry)
    if entry.dtype.is_floating_point:
        if is_normalised:
            name = _normalised(graph, name, f"normaliser{entry.suffix}")
    else:
        name = graph.node("Cast", [name], to=_FLOAT)
        if entry.kind != "bits":
            name = graph.node("Mul", [name, graph.constant("uint8_scale", np.float32(UINT8_SCALE))])
    if isinstance(encoder, SetEncoder):
        return _set(graph, f"encoder{entry.suffix}", encoder, name, entry)
    if encoder is not None:
        return _cnn(graph, f"encoder{entry.suffix}", encoder, name)
    return name if entry.num_dimensions == 1 else graph.node("Flatten", [name], axis=1)


def write_trunk(graph: GraphBuilder, prefix: str, trunk: nn.Sequential, name: str) -> str:
    """The trunk's features, [batch, width]."""
    for index, layer in enumerate(trunk):
        name = _dense(graph, f"{prefix}.{index}", layer, name)
    return name


def write_linear(graph: GraphBuilder, prefix: str, name: str, output: str | None = None) -> str:
    """Writes x W^T + b with the initializers `prefix`.weight and `prefix`.bias."""
    return graph.node("Gemm", [name, f"{prefix}.weight", f"{prefix}.bias"], output, transB=1)


def write_bins(graph: GraphBuilder, bins: BinsLayer, name: str) -> str:
    """[batch, groups * bins], the layer's shares."""
    groups = graph.split(write_linear(graph, "bins", name), [bins.num_bins] * bins.num_groups)
    return graph.join([graph.node("Softmax", [group], axis=1) for group in groups])


def write_core(graph: GraphBuilder, core: RecurrentCore, name: str) -> str:
    """One step of the cell from `state_ins`; writes `state_outs`, returns its [batch, size] output."""
    size = core.size
    if isinstance(core, LstmCore):
        hidden, cell = graph.split("state_ins", [size, size])
        gates = write_linear(graph, "core.inputs", name)
        gates = graph.node("Gemm", [hidden, "core.hidden.weight", gates], transB=1)
        enter, keep, new, leave = graph.split(gates, [size] * 4)
        kept = graph.node("Mul", [graph.node("Sigmoid", [keep]), cell])
        added = graph.node("Mul", [graph.node("Sigmoid", [enter]), graph.node("Tanh", [new])])
        cell = graph.node("Add", [kept, added])
        hidden = graph.node("Mul", [graph.node("Sigmoid", [leave]), graph.node("Tanh", [cell])])
        graph.join([hidden, cell], "state_outs")
        return hidden
    if not isinstance(core, GruCore):
        raise PolicyError(f"no ONNX graph is known here for a core of type {type(core).__name__}")
    reset_in, keep_in, new_in = graph.split(write_linear(graph, "core.inputs", name), [size] * 3)
    reset_hidden, keep_hidden, new_hidden = graph.split(
        write_linear(graph, "core.hidden", "state_ins"), [size] * 3
    )
    keep = graph.node("Sigmoid", [graph.node("Add", [keep_in, keep_hidden])])
    reset = graph.node("Sigmoid", [graph.node("Add", [reset_in, reset_hidden])])
    new = graph.node("Tanh", [graph.node("Add", [new_in, graph.node("Mul", [reset, new_hidden])])])
    change = graph.node("Sub", ["state_ins", new])
    return graph.node("Add", [new, graph.node("Mul", [keep, change])], "state_outs")


def _normalised(graph: GraphBuilder, name: str, prefix: str) -> str:
    low = graph.constant("clip_low", np.float32(-OBSERVATION_CLIP))
    high = graph.constant("clip_high", np.float32(OBSERVATION_CLIP))
    centred = graph.node("Sub", [name, f"{prefix}.mean"])
    standardised = graph.node("Mul", [centred, f"{prefix}.inv_std"])
    return graph.node("Clip", [standardised, low, high])


def _one_hot(graph: GraphBuilder, entry: Entry) -> str:
    name = entry.input_name
    if not entry.shape:
        name = graph.node("Unsqueeze", [name], axes=[1])
    components = [name] if len(entry.choices) == 1 else graph.split(name, [1] * len(entry.choices))
    encoded: list[str] = []
    for component, count in zip(components, entry.choices, strict=True):
        choices = graph.constant(f"choices_{count}", np.arange(count, dtype=np.int32)[None])
        encoded.append(graph.node("Cast", [graph.node("Equal", [component, choices])], to=_FLOAT))
    return graph.join(encoded)


def _dense(graph: GraphBuilder, prefix: str, layer: nn.Module, name: str) -> str:
    activation = _ACTIVATIONS.get(type(layer))
    if activation is None:
        raise PolicyError(f"no ONNX operator is known here for a layer of type {type(layer).__name__}")
    return graph.node(activation, [write_linear(graph, prefix, name)])


def _cnn(graph: GraphBuilder, prefix: str, encoder: nn.Module, name: str) -> str:
    name = graph.node("Transpose", [name], perm=[0, 3, 1, 2])
    if isinstance(encoder, SmallCnn):
        for index, layer in enumerate(encoder.convolutions):
            stride = layer.stride[0] if isinstance(layer, nn.Conv2d) else 1
            maps = _convolution(graph, f"{prefix}.convolutions.{index}", name, stride)
            name = graph.node("Relu", [maps])
    elif isinstance(encoder, ImpalaCnn):
        for index, stage in enumerate(encoder.stages):
            assert isinstance(stage, ImpalaStage)
            name = _impala_stage(graph, f"{prefix}.stages.{index}", stage, name)
        name = graph.node("Relu", [name])
    else:
        raise PolicyError(f"no ONNX graph is known here for an encoder of type {type(encoder).__name__}")
    return _dense(graph, f"{prefix}.dense", encoder.dense, graph.node("Flatten", [name], axis=1))


def _set(graph: GraphBuilder, prefix: str, encoder: SetEncoder, name: str, entry: Entry) -> str:
    """Each row is a pixel of one column: `agent.js` knows most operators of pictures already."""
    num_rows, width = entry.shape
    name = graph.node("Transpose", [graph.node("Unsqueeze", [name], axes=[2])], perm=[0, 3, 1, 2])
    last = graph.constant(f"last_of_{width}", np.eye(width, dtype=np.float32)[-1:, :, None, None])
    holds = graph.node("Conv", [name, last, graph.constant("no_bias", np.zeros(1, np.float32))], **_PIXEL)
    for index in range(len(encoder.layers)):
        name = graph.node("Relu", [_of_pixels(graph, f"{prefix}.layers.{index}", name)])
    scores = graph.node("Mul", [_of_pixels(graph, f"{prefix}.scores", name), holds])
    column: dict[str, Any] = _PIXEL | {"kernel_shape": [num_rows, 1]}
    largest = graph.node("Relu", [graph.node("MaxPool", [scores], **column)])
    shares = graph.node("Mul", [graph.node("Exp", [graph.node("Sub", [scores, largest])]), holds])
    none = graph.node("Exp", [graph.node("Sub", [graph.constant("zero", np.float32(0)), largest])])
    total = graph.node("Add", [graph.node("ReduceSum", [shares], axes=[2]), none])
    weights = graph.node("Div", [shares, total])
    # Each head's weight for all features of that head.
    heads = np.kron(np.eye(NUM_HEADS, dtype=np.float32), np.ones((SET_FEATURES // NUM_HEADS, 1), np.float32))
    repeat = graph.constant("heads", heads[:, :, None, None])
    bias = graph.constant("no_biases", np.zeros(SET_FEATURES, np.float32))
    weighted = graph.node("Mul", [name, graph.node("Conv", [weights, repeat, bias], **_PIXEL)])
    return graph.node("Flatten", [graph.node("ReduceSum", [weighted], axes=[2])], axis=1)


def _of_pixels(graph: GraphBuilder, prefix: str, name: str) -> str:
    """A linear layer of each pixel's channels."""
    weight = graph.node("Unsqueeze", [f"{prefix}.weight"], axes=[2, 3])
    return graph.node("Conv", [name, weight, f"{prefix}.bias"], **_PIXEL)


def _impala_stage(graph: GraphBuilder, prefix: str, stage: ImpalaStage, name: str) -> str:
    name = _convolution(graph, f"{prefix}.convolution", name, 1)
    name = graph.node("MaxPool", [name], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for index, block in enumerate(stage.blocks):
        assert isinstance(block, ResidualBlock)
        inner = f"{prefix}.blocks.{index}"
        maps = _convolution(graph, f"{inner}.first", graph.node("Relu", [name]), 1)
        maps = _convolution(graph, f"{inner}.second", graph.node("Relu", [maps]), 1)
        name = graph.node("Add", [name, maps])
    return name


def _convolution(graph: GraphBuilder, prefix: str, name: str, stride: int) -> str:
    return graph.node(
        "Conv",
        [name, f"{prefix}.weight", f"{prefix}.bias"],
        kernel_shape=[3, 3],
        strides=[stride, stride],
        pads=[1, 1, 1, 1],
    )
