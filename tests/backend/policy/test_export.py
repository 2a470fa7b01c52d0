import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import numpy_helper

from attract.errors import PolicyError
from attract.policy.export import OnnxPatcher, policy_metadata, shipped_model, write_export
from attract.policy.parity import check_parity
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
from policies import create_policy, describe, observations_for, randomise


def build(**settings):
    return create_policy(**{"hidden_sizes": (16, 8), **settings})


DICTIONARY = DictSpace(
    spaces={"view": BoxSpace(shape=[6, 6, 3], dtype="uint8"), "speed": BoxSpace(shape=[2])}
)
NETWORKS = {
    "shared": build(),
    "separate": build(shared_trunk=False, activation="relu"),
    "bytes": build(observation=BoxSpace(shape=[2, 3], dtype="uint8")),
    "plain": build(normalize=False),
    "scalar": build(observation=BoxSpace(shape=[])),
    "everything": build(
        observation=DICTIONARY, action=BoxSpace(shape=[1], low=0, high=1), recurrent="gru", cnn="impala"
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_C9_a_patched_model_agrees_with_torch(name):
    policy = NETWORKS[name]
    patcher = OnnxPatcher(policy)
    for seed in range(3):
        randomise(policy, seed)
        check_parity(policy, patcher.patched(policy.state_dict()))


def test_every_tensor_of_the_state_dict_is_patched():
    policy = build(shared_trunk=False)
    patcher = OnnxPatcher(policy)
    randomise(policy, 7)
    state = policy.state_dict()
    model = onnx.load_model_from_string(patcher.patched(state))
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for name, tensor in state.items():
        np.testing.assert_array_equal(found[name], tensor.numpy(), err_msg=name)


def test_equal_tensors_are_patched_each_in_its_own_place():
    # All biases of a fresh network are zero: their bytes alone do not tell them apart.
    policy = build()
    assert not policy.value_head.bias.any()
    patcher = OnnxPatcher(policy)
    with torch.no_grad():
        policy.value_head.bias.fill_(5.0)
    check_parity(policy, patcher.patched(policy.state_dict()))


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
    assert [node.name for node in session.get_inputs()] == ["obs"]
    assert [output.name for output in session.get_outputs()] == ["logits", "value"]
    for count in (1, 2, 77):
        logits, value = session.run(None, {"obs": np.zeros((count, 4), np.float32)})
        assert logits.shape == (count, 3) and value.shape == (count,)


def test_nothing_of_the_exporting_machine_is_in_the_model():
    policy = build()
    model = onnx.load_model_from_string(OnnxPatcher(policy).patched(policy.state_dict()))
    assert b".py" not in model.SerializeToString()


def test_a_state_dict_of_another_network_is_refused():
    policy = build()
    patcher = OnnxPatcher(policy)
    with pytest.raises(PolicyError, match="another network"):
        patcher.patched(build(shared_trunk=True).state_dict())
    state = policy.state_dict()
    with pytest.raises(
        PolicyError, match=r"'normaliser.mean' does not fit: expected float32 \(4,\), got .*\(5,\)"
    ):
        patcher.patched(state | {"normaliser.mean": torch.zeros(5)})


GAME = describe(action=DiscreteSpace(n=3, labels=["left", "stay", "right"]))


def test_the_shipped_model_says_the_most_probable_action():
    policy = build()
    randomise(policy, 3)
    observations = observations_for(policy)
    metadata = policy_metadata(policy, GAME, 0, {})
    session = onnxruntime.InferenceSession(
        shipped_model(OnnxPatcher(policy).patched(policy.state_dict()), metadata)
    )
    assert [output.name for output in session.get_outputs()] == ["action", "logits", "value"]
    action, logits, _ = session.run(None, {"obs": observations["obs"].numpy()})
    assert action.dtype == np.int32 and action.shape == (64,)
    expected = policy(observations)[0].argmax(1)
    assert len(expected.unique()) > 1
    np.testing.assert_array_equal(action, expected)
    np.testing.assert_array_equal(action, logits.argmax(1))


def test_an_export_is_two_files_that_say_the_same(tmp_path):
    policy = build()
    policy.normalisers["obs"].set_statistics(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.full((4,), 0.5))
    metadata = policy_metadata(policy, GAME, 12, {"run_id": "a-run", "agent_steps": 5000})
    out = tmp_path / "run" / "export"
    model = shipped_model(OnnxPatcher(policy).patched(policy.state_dict()), metadata)
    write_export(out, {"policy.onnx": model}, metadata)
    write_export(out, {"policy.onnx": model}, metadata)
    assert sorted(path.name for path in out.iterdir()) == ["policy.json", "policy.onnx"]
    document = json.loads((out / "policy.json").read_text())
    assert document["policy_version"] == 12
    assert document["game"]["action"]["labels"] == ["left", "stay", "right"]
    seen = document["inputs"]["obs"]
    assert seen["key"] == "obs" and seen["dtype"] == "float32" and seen["shape"] == ["batch", 4]
    assert seen["normalisation"]["kind"] == "standardise" and seen["normalisation"]["mean"] == [1, 2, 3, 4]
    assert document["training"]["agent_steps"] == 5000
    session = onnxruntime.InferenceSession(out / "policy.onnx")
    props = session.get_modelmeta().custom_metadata_map
    assert {key: json.loads(value) for key, value in props.items()} == document
    # The outputs that policy.json names are the model's, with these types.
    types = {"int32": "tensor(int32)", "float32": "tensor(float)"}
    assert {node.name: node.type for node in session.get_outputs()} == {
        name: types[output["dtype"]] for name, output in document["outputs"].items()
    }


@pytest.mark.parametrize(
    ("action", "shape", "dtype"),
    [
        (DiscreteSpace(n=3), ["batch"], "int32"),
        (MultiDiscreteSpace(nvec=[2, 3]), ["batch", 2], "int32"),
        (MultiBinarySpace(n=4), ["batch", 4], "int32"),
        (BoxSpace(shape=[2], low=-2, high=2), ["batch", 2], "float32"),
    ],
)
def test_policy_json_describes_the_inputs_outputs_state_and_action_of_the_model(action, shape, dtype):
    policy = create_policy(DICTIONARY, action, recurrent="lstm", recurrent_size=8)
    metadata = policy_metadata(policy, describe(DICTIONARY, action), 3, {})
    model = shipped_model(OnnxPatcher(policy).patched(policy.state_dict()), metadata)
    session = onnxruntime.InferenceSession(model)
    types = {"int32": "tensor(int32)", "float32": "tensor(float)", "uint8": "tensor(uint8)"}
    for described, found in (
        (metadata["inputs"], session.get_inputs()),
        (metadata["outputs"], session.get_outputs()),
    ):
        assert {node.name: (node.type, node.shape) for node in found} == {
            name: (types[entry["dtype"]], entry["shape"]) for name, entry in described.items()
        }
    assert metadata["outputs"]["action"]["shape"] == shape and metadata["outputs"]["action"]["dtype"] == dtype
    assert metadata["inputs"]["state_ins"]["shape"] == ["batch", 16]
    assert metadata["inputs"]["obs_1"]["key"] == "view"
    assert metadata["inputs"]["obs_1"]["normalisation"]["kind"] == "scale"


@pytest.mark.parametrize("action", [DiscreteSpace(n=5), MultiDiscreteSpace(nvec=[2, 3])])
def test_a_games_mask_is_an_input_of_the_model_that_ships(action):
    game = describe(action=action, action_mask=True)
    policy = create_policy(action=action, recurrent="gru", recurrent_size=8)
    randomise(policy, 3)
    document = policy_metadata(policy, game, 3, {})
    model = shipped_model(OnnxPatcher(policy).patched(policy.state_dict()), document)
    (taken,) = [
        node for node in onnxruntime.InferenceSession(model).get_inputs() if node.name == "action_mask"
    ]
    described = document["inputs"]["action_mask"]
    assert (taken.type, taken.shape) == ("tensor(uint8)", ["batch", 5])
    assert (described["dtype"], described["shape"]) == ("uint8", ["batch", 5])
    assert document["format_version"] == 2
    # What an export is held to goes through it.
    assert check_parity(policy, model).is_within_tolerance


def test_games_without_a_mask_are_exported_as_ever():
    document = policy_metadata(create_policy(), GAME, 3, {})
    assert document["format_version"] == 1 and set(document["inputs"]) == {"obs"}
