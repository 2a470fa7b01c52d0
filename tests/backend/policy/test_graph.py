import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from attract.policy.export import OPSET, export_by_torch
from attract.policy.graph import mlp_graph
from attract.policy.mlp import MlpPolicy

NETWORKS = {
    "shared": ([4], "float32", (64, 64), "tanh", True, True),
    "separate": ([3, 5], "float32", (16,), "relu", False, True),
    "uint8": ([2, 3], "uint8", (16, 8), "relu", True, True),
    "linear": ([7], "float32", (), "tanh", True, False),
    "deep": ([9], "float32", (5, 4, 3), "tanh", False, False),
}


def build(shape, dtype, hidden_sizes, activation, shared_trunk, normalize_observations):
    policy = MlpPolicy(
        shape,
        dtype,
        6,
        hidden_sizes=hidden_sizes,
        activation=activation,
        shared_trunk=shared_trunk,
        normalize_observations=normalize_observations,
        generator=torch.Generator().manual_seed(1),
    )
    # No two tensors alike, none zero: the exporter would merge or drop them.
    generator = torch.Generator().manual_seed(2)
    for tensor in policy.state_dict().values():
        tensor.copy_(torch.rand(tensor.shape, generator=generator) - 0.3)
    return policy.eval()


def outputs(model: onnx.ModelProto, observations: np.ndarray) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(["logits", "value"], {"obs": observations})


@pytest.mark.parametrize("name", NETWORKS)
def test_C9_the_graph_written_by_hand_gives_the_same_bits_as_the_exported_one(name):
    policy = build(*NETWORKS[name])
    random = np.random.default_rng(3)
    if policy.observation_dtype == torch.uint8:
        observations = random.integers(0, 256, (33, *policy.observation_shape), dtype=np.uint8)
    else:
        # Three deviations of 4 and more: some reach the clip at 10.
        observations = random.normal(0, 30, (33, *policy.observation_shape)).astype(np.float32)
    by_hand = mlp_graph(policy, OPSET)
    ours, theirs = outputs(by_hand, observations), outputs(export_by_torch(policy), observations)
    assert ours[0].shape == (33, 6) and ours[1].shape == (33,)
    for mine, exported in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, exported)
    assert {initializer.name for initializer in by_hand.graph.initializer} >= policy.state_dict().keys()
    # ONNX Runtime's web build refuses an initializer that is an input as well.
    assert [graph_input.name for graph_input in by_hand.graph.input] == ["obs"]
