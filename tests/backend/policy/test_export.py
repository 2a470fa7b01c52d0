import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import numpy_helper

from attract.errors import PolicyError
from attract.policy.export import OnnxPatcher, export_by_torch, policy_metadata, shipped_model, write_export
from attract.policy.mlp import MlpPolicy
from attract.policy.parity import check_parity
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, DiscreteSpace


def build(shape=(4,), dtype="float32", *, activation="tanh", shared_trunk=True, normalize=True):
    return MlpPolicy(
        shape,
        dtype,
        3,
        hidden_sizes=(16, 8),
        activation=activation,
        shared_trunk=shared_trunk,
        normalize_observations=normalize,
        generator=torch.Generator().manual_seed(1),
    )


NETWORKS = {
    "shared": build(),
    "separate": build(shared_trunk=False, activation="relu"),
    "image": build((2, 3, 3), "uint8"),
    "plain": build(normalize=False),
    "scalar": build(()),
}


def randomise(policy, seed):
    generator = torch.Generator().manual_seed(seed)
    for tensor in policy.state_dict().values():
        tensor.copy_(torch.randn(tensor.shape, generator=generator))


def observations_for(policy, count=64):
    generator = torch.Generator().manual_seed(9)
    if policy.observation_dtype == torch.uint8:
        return torch.randint(
            0, 256, (count, *policy.observation_shape), generator=generator, dtype=torch.uint8
        )
    return torch.randn(count, *policy.observation_shape, generator=generator)


@pytest.mark.parametrize("name", NETWORKS)
def test_C9_a_patched_model_agrees_with_torch(name):
    policy = NETWORKS[name]
    patcher = OnnxPatcher(policy)
    for seed in range(3):
        randomise(policy, seed)
        check_parity(policy, patcher.patched(policy.state_dict()), observations_for(policy))


def test_every_tensor_of_the_state_dict_is_patched():
    policy = build(shared_trunk=False)
    patcher = OnnxPatcher(policy)
    randomise(policy, 7)
    state = policy.state_dict()
    model = onnx.load_model_from_string(patcher.patched(state))
    found = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    for name, tensor in state.items():
        np.testing.assert_array_equal(found[name], tensor.numpy(), err_msg=name)


def test_weights_of_zero_are_patched_too():
    # The exporter drops a bias that is zero; a fresh network's all are, and must not stay so for ever.
    policy = build()
    assert not policy.value_head.bias.any()
    patcher = OnnxPatcher(policy)
    with torch.no_grad():
        policy.value_head.bias.fill_(5.0)
    check_parity(policy, patcher.patched(policy.state_dict()), observations_for(policy))


def test_making_a_patcher_changes_nothing():
    policy = build()
    before = {name: tensor.clone() for name, tensor in policy.state_dict().items()}
    OnnxPatcher(policy)
    assert all(torch.equal(tensor, before[name]) for name, tensor in policy.state_dict().items())
    assert policy.training


def test_C8_the_same_weights_give_the_same_bytes():
    policy = build()
    assert OnnxPatcher(policy).patched(policy.state_dict()) == OnnxPatcher(build()).patched(
        policy.state_dict()
    )


def test_the_batch_size_is_free_and_names_are_the_wires():
    policy = build()
    session = onnxruntime.InferenceSession(OnnxPatcher(policy).patched(policy.state_dict()))
    assert [one.name for one in session.get_inputs()] == ["obs"]
    assert [one.name for one in session.get_outputs()] == ["logits", "value"]
    for count in (1, 2, 77):
        logits, value = session.run(None, {"obs": np.zeros((count, 4), np.float32)})
        assert logits.shape == (count, 3) and value.shape == (count,)


def test_nothing_of_the_exporting_machine_is_in_the_model():
    policy = build()
    model = onnx.load_model_from_string(OnnxPatcher(policy).patched(policy.state_dict()))
    assert b".py" not in model.SerializeToString()


def test_the_general_exporter_is_quiet_and_agrees():
    policy = build().eval()
    randomise(policy, 4)
    check_parity(policy, export_by_torch(policy).SerializeToString(), observations_for(policy))


def test_a_state_dict_of_another_network_is_refused():
    policy = build()
    patcher = OnnxPatcher(policy)
    with pytest.raises(PolicyError, match="another network"):
        patcher.patched(build(shared_trunk=False).state_dict())
    state = policy.state_dict()
    with pytest.raises(
        PolicyError, match=r"'normaliser.mean' does not fit: expected float32 \(4,\), got .*\(5,\)"
    ):
        patcher.patched(state | {"normaliser.mean": torch.zeros(5)})


GAME = GameDescription(
    id="Test-v1",
    tick_seconds=0.1,
    seconds_per_step=0.1,
    ticks_per_step=1,
    max_seconds=None,
    max_steps=None,
    observation=BoxSpace(shape=[4]),
    action=DiscreteSpace(n=3, labels=["left", "stay", "right"]),
)


def test_the_shipped_model_says_the_most_probable_action():
    policy = build()
    randomise(policy, 3)
    observations = observations_for(policy)
    session = onnxruntime.InferenceSession(
        shipped_model(OnnxPatcher(policy).patched(policy.state_dict()), {})
    )
    assert [one.name for one in session.get_outputs()] == ["action", "logits", "value"]
    action, logits, _ = session.run(None, {"obs": observations.numpy()})
    assert action.dtype == np.int32 and action.shape == (64,)
    expected = policy(observations)[0].argmax(1)
    assert len(expected.unique()) > 1
    np.testing.assert_array_equal(action, expected)
    np.testing.assert_array_equal(action, logits.argmax(1))


def test_an_export_is_two_files_that_say_the_same(tmp_path):
    policy = build()
    policy.normaliser.set_statistics(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.full((4,), 0.5))
    metadata = policy_metadata(policy, GAME, 12, {"run_id": "a-run", "agent_steps": 5000})
    out = tmp_path / "run" / "export"
    model = OnnxPatcher(policy).patched(policy.state_dict())
    write_export(out, model, metadata)
    write_export(out, model, metadata)
    assert sorted(path.name for path in out.iterdir()) == ["policy.json", "policy.onnx"]
    document = json.loads((out / "policy.json").read_text())
    assert document["policy_version"] == 12
    assert document["game"]["action"]["labels"] == ["left", "stay", "right"]
    assert document["normalisation"]["mean"] == [1, 2, 3, 4]
    assert document["inputs"] == {"obs": {"dtype": "float32", "shape": ["batch", 4]}}
    assert document["training"]["agent_steps"] == 5000
    session = onnxruntime.InferenceSession(out / "policy.onnx")
    props = session.get_modelmeta().custom_metadata_map
    assert {key: json.loads(value) for key, value in props.items()} == document
    # The outputs that policy.json names are the model's, with these types.
    types = {"int32": "tensor(int32)", "float32": "tensor(float)"}
    assert {one.name: one.type for one in session.get_outputs()} == {
        name: types[output["dtype"]] for name, output in document["outputs"].items()
    }
