"""The graph of an exported policy: its layers, and how it is built."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from attract.errors import PolicyError
from attract.policy.dense import ReluLayer, TanhLayer
from attract.policy.graph import OPSET, add_action, policy_graph
from attract.policy.graph_builder import GraphBuilder
from attract.policy.graph_layers import write_core, write_entry, write_linear, write_trunk
from attract.policy.observation_inputs import Entry
from attract.policy.parity import check_parity
from attract.policy.recurrent import GruCore, create_core
from attract.schema.spaces import (
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MixedSpace,
    MultiBinarySpace,
    MultiDiscreteSpace,
)
from policies import create_policy, observations_for, randomise

IMAGE = BoxSpace(shape=[12, 9, 3], dtype="uint8")
DICTIONARY = DictSpace(
    spaces={
        "view": BoxSpace(shape=[6, 6, 3], dtype="uint8"),
        "bytes": BoxSpace(shape=[2, 2], dtype="uint8"),
        "speed": BoxSpace(shape=[2]),
        "item": DiscreteSpace(n=4),
        "doors": MultiBinarySpace(n=3),
        "cards": MultiDiscreteSpace(nvec=[2, 3]),
        "one": MultiDiscreteSpace(nvec=[5]),
    }
)
BOX_ACTION = BoxSpace(shape=[2], low=[-2, 0], high=[2, 10])
MIXED_ACTION = MixedSpace(
    spaces={
        "aim": BoxSpace(shape=[2], low=0, high=[800, 600]),
        "gear": DiscreteSpace(n=2),
        "button": DiscreteSpace(n=3),
    }
)

NETWORKS = {
    "shared": (None, None, {}),
    "separate": (BoxSpace(shape=[3, 5]), None, {"activation": "relu", "shared_trunk": False}),
    "bytes": (BoxSpace(shape=[2, 3], dtype="uint8"), None, {"hidden_sizes": (16, 8), "activation": "relu"}),
    "linear": (BoxSpace(shape=[7]), None, {"hidden_sizes": (), "normalize": False}),
    "scalar": (BoxSpace(shape=[]), None, {}),
    "small_cnn": (IMAGE, None, {}),
    "small_cnn_floats": (BoxSpace(shape=[30, 17, 1]), None, {}),
    "impala": (IMAGE, None, {"cnn": "impala"}),
    "dictionary": (DICTIONARY, None, {}),
    "dictionary_of_one": (DictSpace(spaces={"it": BoxSpace(shape=[2])}), None, {}),
    "lstm": (None, None, {"recurrent": "lstm", "recurrent_size": 24}),
    "gru": (None, None, {"recurrent": "gru", "recurrent_size": 24, "shared_trunk": False}),
    "everything": (DICTIONARY, BOX_ACTION, {"recurrent": "lstm", "cnn": "impala", "shared_trunk": False}),
    "multi_discrete": (None, MultiDiscreteSpace(nvec=[2, 5]), {}),
    "multi_binary": (None, MultiBinarySpace(n=4), {}),
    "mixed": (None, MIXED_ACTION, {"log_std_init": -1.0}),
    "gaussian": (None, BOX_ACTION, {"log_std_init": -1.0, "shared_trunk": True}),
}


def build(name: str, seed: int = 2):
    observation, action, settings = NETWORKS[name]
    policy = create_policy(observation, action, **settings)
    randomise(policy, seed)
    return policy.eval()


@pytest.mark.parametrize("name", NETWORKS)
def test_C9_the_graph_computes_what_the_network_computes(name):
    policy = build(name)
    graph = policy_graph(policy)
    assert check_parity(policy, graph.SerializeToString()).is_within_tolerance
    assert {tensor.name for tensor in graph.graph.initializer} >= policy.state_dict().keys()
    # ONNX Runtime's web build refuses an initializer that is an input as well.
    inputs = [entry.input_name for entry in policy.entries] + ["state_ins"] * (policy.state_size > 0)
    assert [value.name for value in graph.graph.input] == inputs
    outputs = [*policy.output_names, "value"] + ["state_outs"] * (policy.state_size > 0)
    assert [value.name for value in graph.graph.output] == outputs


@pytest.mark.parametrize("name", ["shared", "small_cnn", "gru"])
def test_C9_the_probes_of_the_comparison_reach_every_part(name):
    # Each tensor but itself is left as it was; a graph that ignored it would still be within tolerance.
    policy = build(name)
    for tensor_name in policy.state_dict():
        other = build(name)
        other.state_dict()[tensor_name].add_(0.1)
        prepared = other.preprocess(observations_for(other))
        state = torch.full((64, other.state_size), 0.5)
        before, after = (
            policy.step(policy.preprocess(observations_for(policy)), state),
            other.step(prepared, state),
        )
        assert any(not torch.allclose(a, b, atol=1e-5) for a, b in zip(before, after, strict=True)), (
            tensor_name
        )


def shipped(
    name: str, action: dict, mask: np.ndarray | None = None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The shipped graph's action and its other outputs on the probes, which `mask` is for."""
    policy = build(name)
    model = policy_graph(policy)
    add_action(model, action, has_mask=mask is not None)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = {entry.input_name: observations_for(policy)[entry.key].numpy() for entry in policy.entries}
    if mask is not None:
        feeds["action_mask"] = mask
    names = [output.name for output in session.get_outputs()]
    assert names[0] == "action"
    found = dict(zip(names, session.run(None, feeds), strict=True))
    return found.pop("action"), found


def test_the_action_of_discrete_choices_is_the_most_probable():
    action, outputs = shipped("shared", {"kind": "discrete", "n": 3})
    assert action.dtype == np.int32 and action.shape == (64,) and len(set(action)) > 1
    np.testing.assert_array_equal(action, outputs["logits"].argmax(1))


def test_the_action_of_several_choices_is_the_most_probable_of_each():
    action, outputs = shipped("multi_discrete", {"kind": "multi_discrete", "nvec": [2, 5]})
    assert action.dtype == np.int32 and action.shape == (64, 2)
    np.testing.assert_array_equal(action[:, 0], outputs["logits"][:, :2].argmax(1))
    np.testing.assert_array_equal(action[:, 1], outputs["logits"][:, 2:].argmax(1))


def test_the_action_of_a_game_with_a_mask_is_the_most_probable_that_is_allowed():
    free, _ = shipped("shared", {"kind": "discrete", "n": 3})
    mask = np.ones((64, 3), np.uint8)
    mask[np.arange(64), free] = 0
    action, outputs = shipped("shared", {"kind": "discrete", "n": 3}, mask)
    assert action.dtype == np.int32 and action.shape == (64,)
    # The likeliest of three is forbidden: the second in the order remains.
    np.testing.assert_array_equal(action, np.argsort(outputs["logits"], 1)[:, 1])
    only = np.zeros((64, 3), np.uint8)
    # Anything but 0 allows.
    only[np.arange(64), np.arange(64) % 3] = 7
    action, _ = shipped("shared", {"kind": "discrete", "n": 3}, only)
    np.testing.assert_array_equal(action, np.arange(64) % 3)


def test_a_mask_of_several_choices_holds_for_each_component():
    space = {"kind": "multi_discrete", "nvec": [2, 5]}
    free, _ = shipped("multi_discrete", space)
    mask = np.ones((64, 7), np.uint8)
    mask[np.arange(64), 2 + free[:, 1]] = 0
    action, outputs = shipped("multi_discrete", space, mask)
    np.testing.assert_array_equal(action[:, 0], free[:, 0])
    np.testing.assert_array_equal(action[:, 1], np.argsort(outputs["logits"][:, 2:], 1)[:, -2])


def test_the_action_of_bits_is_one_where_that_is_more_probable():
    action, outputs = shipped("multi_binary", {"kind": "multi_binary", "n": 4})
    assert action.dtype == np.int32 and 0 < action.sum() < action.size
    np.testing.assert_array_equal(action, 1 / (1 + np.exp(-outputs["logits"])) > 0.5)


def test_P6_a_mixed_action_is_its_choices_and_then_its_means_in_the_games_units():
    mask = np.ones((64, 5), np.uint8)
    mask[:, 0] = 0
    action, outputs = shipped("mixed", MIXED_ACTION.model_dump(), mask)
    assert action.dtype == np.float32 and action.shape == (64, 4)
    # By name: button has 3 choices of which the first is forbidden, gear 2.
    np.testing.assert_array_equal(action[:, 0], 1 + outputs["logits"][:, 1:3].argmax(1))
    np.testing.assert_array_equal(action[:, 1], outputs["logits"][:, 3:].argmax(1))
    unit = outputs["mean"].clip(-1, 1)
    assert outputs["log_std"].shape == unit.shape == (64, 2)
    np.testing.assert_allclose(action[:, 2], 400 + 400 * unit[:, 0], rtol=1e-5)
    np.testing.assert_allclose(action[:, 3], 300 + 300 * unit[:, 1], rtol=1e-5)


def test_P6_the_action_of_a_box_is_the_mean_clipped_and_in_the_games_units():
    action, outputs = shipped("gaussian", BOX_ACTION.model_dump())
    assert action.dtype == np.float32 and action.shape == (64, 2)
    mean = outputs["mean"]
    assert (np.abs(mean) > 1).any() and (np.abs(mean) < 1).any()
    # -1 stands for -2 and 0, 1 for 2 and 10.
    expected = np.stack([2 * np.clip(mean[:, 0], -1, 1), 5 * (np.clip(mean[:, 1], -1, 1) + 1)], 1)
    np.testing.assert_allclose(action, expected, atol=1e-5)
    assert (action >= [-2, 0]).all() and (action <= [2, 10]).all() and action[:, 1].max() == 10


def test_bounds_may_be_one_number_for_all_components():
    policy = create_policy(action=BoxSpace(shape=[3], low=-4, high=0))
    model = policy_graph(policy)
    add_action(model, {"kind": "box", "shape": [3], "low": -4, "high": 0})
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (action,) = session.run(["action"], {"obs": np.zeros((1, 4), np.float32)})
    # All biases are zero, so the mean is: the middle of the range.
    assert action.tolist() == [[-2, -2, -2]]


IR_VERSION = 7


def run(graph: GraphBuilder, output: str, **inputs: Any) -> Any:
    floats = TensorProto.FLOAT
    made = helper.make_graph(
        graph.nodes,
        "test",
        [helper.make_tensor_value_info(name, floats, tensor.shape) for name, tensor in inputs.items()],
        [helper.make_tensor_value_info(output, floats, [None, None])],
        graph.initializers,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (answer,) = session.run([output], inputs)
    return answer


def test_every_output_has_a_name_of_its_own_or_the_one_it_is_given():
    graph = GraphBuilder()
    first = graph.node("Relu", ["x"])
    second = graph.node("Relu", [first])
    assert first != second
    assert graph.node("Relu", [second], "y") == "y"
    assert len({name for node in graph.nodes for name in node.output}) == 3
    assert [node.name for node in graph.nodes] == [f"node_{first}", f"node_{second}", "node_y"]
    assert run(graph, "y", x=np.array([[-1.0, 2.0]], np.float32)).tolist() == [[0.0, 2.0]]


def test_the_first_constant_of_a_name_stays():
    graph = GraphBuilder()
    assert graph.constant("half", np.float32(0.5)) == "half"
    assert graph.constant("half", np.float32(9.0)) == "half"
    (kept,) = graph.initializers
    assert numpy_helper.to_array(kept) == np.float32(0.5)
    graph.node("Mul", ["x", "half"], "y")
    assert run(graph, "y", x=np.array([[3.0]], np.float32)).tolist() == [[1.5]]


def test_parts_side_by_side_are_joined_and_a_sole_one_is_left_alone():
    graph = GraphBuilder()
    assert graph.join(["x"]) == "x"
    assert graph.nodes == []
    graph.join(["z", "x"], "y")
    joined = run(graph, "y", x=np.array([[1.0, 2.0]], np.float32), z=np.array([[3.0]], np.float32))
    assert joined.tolist() == [[3.0, 1.0, 2.0]]


def test_parts_have_their_widths_and_names_of_their_own():
    graph = GraphBuilder()
    narrow, wide = graph.split("x", [1, 2])
    assert narrow != wide
    graph.join([wide, narrow], "y")
    turned = run(graph, "y", x=np.array([[1.0, 2.0, 3.0]], np.float32))
    assert turned.tolist() == [[2.0, 3.0, 1.0]]


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
