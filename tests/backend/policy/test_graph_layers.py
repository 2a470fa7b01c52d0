"""Layers as ONNX nodes: what is written for each, and what is refused. That they compute what torch does is
`test_graph.py`'s."""

import pytest
import torch
from torch import nn

from attract.errors import PolicyError
from attract.policy.dense import ReluLayer, TanhLayer
from attract.policy.graph_builder import GraphBuilder
from attract.policy.graph_layers import write_core, write_entry, write_linear, write_trunk
from attract.policy.observation_inputs import Entry
from attract.policy.recurrent import GruCore, create_core


def entry(kind: str, shape: tuple[int, ...], dtype: torch.dtype, choices: tuple[int, ...] = ()) -> Entry:
    return Entry("obs", "obs", "", kind, dtype, shape, choices)  # type: ignore[arg-type]


def operators(graph: GraphBuilder) -> list[str]:
    return [node.op_type for node in graph.nodes]


def test_a_plain_vector_of_floats_needs_no_node():
    graph = GraphBuilder()
    one = entry("vector", (4,), torch.float32)
    assert write_entry(graph, one, is_normalised=False, encoder=None) == "obs"
    assert operators(graph) == []


def test_a_normalised_vector_is_centred_scaled_and_clipped():
    graph = GraphBuilder()
    write_entry(graph, entry("vector", (4,), torch.float32), is_normalised=True, encoder=None)
    assert operators(graph) == ["Sub", "Mul", "Clip"]
    assert list(graph.nodes[0].input) == ["obs", "normaliser.mean"]


@pytest.mark.parametrize(("kind", "expected"), [("vector", ["Cast", "Mul"]), ("bits", ["Cast"])])
def test_bytes_are_scaled_to_1_and_bits_are_not(kind: str, expected: list[str]):
    graph = GraphBuilder()
    write_entry(graph, entry(kind, (4,), torch.uint8), is_normalised=True, encoder=None)
    assert operators(graph) == expected


def test_what_has_more_than_one_dimension_is_flattened():
    graph = GraphBuilder()
    write_entry(graph, entry("vector", (2, 3), torch.float32), is_normalised=False, encoder=None)
    assert operators(graph) == ["Flatten"]


def test_each_component_of_choices_is_compared_with_all_its_values():
    graph = GraphBuilder()
    one = entry("one_hot", (3,), torch.int32, (2, 5, 2))
    write_entry(graph, one, is_normalised=False, encoder=None)
    assert operators(graph).count("Equal") == 3
    assert operators(graph)[-1] == "Concat"
    # Components of as many values share one constant.
    assert [each.name for each in graph.initializers] == ["choices_2", "choices_5"]


def test_a_trunk_is_a_product_and_an_activation_for_each_layer():
    graph = GraphBuilder()
    trunk = nn.Sequential(TanhLayer(4, 8), ReluLayer(8, 2))
    name = write_trunk(graph, "trunk", trunk, "obs")
    assert operators(graph) == ["Gemm", "Tanh", "Gemm", "Relu"]
    assert list(graph.nodes[2].input)[1:] == ["trunk.1.weight", "trunk.1.bias"]
    assert name == graph.nodes[-1].output[0]


def test_a_linear_layer_may_be_an_output_of_the_graph():
    graph = GraphBuilder()
    assert write_linear(graph, "value_head", "features", "value") == "value"
    assert list(graph.nodes[0].input) == ["features", "value_head.weight", "value_head.bias"]


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_S3_a_core_reads_and_writes_the_packed_state(name: str):
    graph = GraphBuilder()
    core = create_core(name, 4, 3, torch.Generator())  # type: ignore[arg-type]
    output = write_core(graph, core, "features")
    read = {name for node in graph.nodes for name in node.input}
    written = {name for node in graph.nodes for name in node.output}
    assert "state_ins" in read
    assert "state_outs" in written
    # The state of a GRU is its output; of an LSTM it is the first half of [h, c].
    assert (output == "state_outs") == isinstance(core, GruCore)


def test_a_layer_that_is_not_known_is_refused_by_its_name():
    with pytest.raises(PolicyError, match="a layer of type Linear"):
        write_trunk(GraphBuilder(), "trunk", nn.Sequential(nn.Linear(4, 8)), "obs")
    image = entry("image", (6, 6, 3), torch.uint8)
    with pytest.raises(PolicyError, match="an encoder of type Identity"):
        write_entry(GraphBuilder(), image, is_normalised=False, encoder=nn.Identity())
