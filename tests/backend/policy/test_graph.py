import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from attract.policy.graph import add_action, policy_graph
from attract.policy.parity import check_parity
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
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
