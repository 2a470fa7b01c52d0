"""The model of a version made of a checkpoint is, byte for byte, what the learner makes of its weights."""

import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attract.errors import CheckpointError
from attract.policy.export import OnnxPatcher, policy_metadata, shipped_model
from attract.policy.network import Policy
from attract.runs.version_model import POLICY_FILE, version_model
from attract.schema.spaces import BoxSpace, DiscreteSpace, MultiBinarySpace
from policies import create_policy, describe, randomise
from saved_versions import save_version

KINDS: dict[str, dict[str, Any]] = {
    "floats": {},
    "no_statistics": {"normalize": False},
    "continuous": {"action": BoxSpace(shape=[2], low=-1, high=1)},
    "buttons": {"action": MultiBinarySpace(n=3)},
    "memory": {"recurrent": "lstm"},
    "pictures": {"observation": BoxSpace(shape=[42, 42, 3], dtype="uint8"), "cnn": "impala"},
    "shared": {"shared_trunk": True},
}


def randomised(kind: str, seed: int) -> Policy:
    policy = create_policy(**KINDS[kind])
    randomise(policy, seed)
    return policy


def saved(folder: Path, version: int, *policies: Policy, ids: tuple[str, ...] = ("main",)) -> Path:
    states = [policy.state_dict() for policy in policies]
    return save_version(folder, version, dict(zip(ids, states, strict=True)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_are_those_that_the_learner_makes(tmp_path: Path, kind: str):
    early, late = randomised(kind, 1), randomised(kind, 2)
    patcher = OnnxPatcher(early)
    template, wanted = patcher.patched(late.state_dict()), patcher.patched(early.state_dict())
    assert template != wanted
    assert version_model(saved(tmp_path, 3, early), "main", template) == wanted


def test_an_exported_model_serves_as_well_and_its_metadata_is_left_out(tmp_path: Path):
    early, late = randomised("floats", 1), randomised("floats", 2)
    patcher, game = OnnxPatcher(early), describe(action=DiscreteSpace(n=3))
    template, wanted = (
        shipped_model(patcher.patched(policy.state_dict()), policy_metadata(policy, game, 7, {}))
        for policy in (late, early)
    )
    made = onnx.load_model_from_string(version_model(saved(tmp_path, 3, early), "main", template))
    expected = onnx.load_model_from_string(wanted)
    assert expected.metadata_props and not made.metadata_props
    del expected.metadata_props[:]
    assert made == expected
    assert made.graph.output[0].name == "action"


def test_each_of_several_policies_has_its_own_weights(tmp_path: Path):
    left, right, late = (randomised("floats", seed) for seed in (1, 2, 3))
    patcher = OnnxPatcher(late)
    template = patcher.patched(late.state_dict())
    folder = saved(tmp_path, 3, left, right, ids=("left", "right"))
    assert version_model(folder, "left", template) == patcher.patched(left.state_dict())
    assert version_model(folder, "right", template) == patcher.patched(right.state_dict())
    with pytest.raises(CheckpointError, match="no policy 'main'"):
        version_model(folder, "main", template)


def test_another_network_is_refused(tmp_path: Path):
    folder = saved(tmp_path, 3, randomised("shared", 1))
    for other, says in (
        (create_policy(hidden_sizes=[8, 8], shared_trunk=True), "is of another size"),
        (create_policy(), "lacks weights"),
    ):
        template = OnnxPatcher(other).patched(other.state_dict())
        with pytest.raises(CheckpointError, match=says):
            version_model(folder, "main", template)


@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "no document"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: str):
    policy = randomised("floats", 1)
    folder = saved(tmp_path, 3, policy)
    tensors = folder / POLICY_FILE
    data = tensors.read_bytes()
    if damage == "gone":
        shutil.rmtree(folder)
    elif damage == "cut":
        tensors.write_bytes(data[:-1])
    elif damage == "changed":
        tensors.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    else:
        (folder / "checkpoint.json").unlink()
    with pytest.raises(CheckpointError):
        version_model(folder, "main", OnnxPatcher(policy).patched(policy.state_dict()))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    policy = randomised("floats", 1)
    template = OnnxPatcher(policy).patched(policy.state_dict())
    return saved(tmp_path_factory.mktemp("kept"), 3, policy), template


@settings(deadline=None)
@given(data=st.data())
def test_a_damaged_template_gives_a_model_of_its_size_or_is_refused(
    kept: tuple[Path, bytes], data: st.DataObject
):
    folder, template = kept
    spoilt = bytearray(template[: data.draw(st.integers(0, len(template)))])
    for place, byte in data.draw(
        st.dictionaries(st.integers(0, 4000), st.integers(0, 255), max_size=8)
    ).items():
        if place < len(spoilt):
            spoilt[place] = byte
    try:
        made = version_model(folder, "main", bytes(spoilt))
    except CheckpointError:
        return
    assert len(made) <= len(spoilt)


@settings(deadline=None)
@given(noise=st.binary(max_size=200))
def test_what_is_no_model_is_refused(kept: tuple[Path, bytes], noise: bytes):
    folder, _ = kept
    with pytest.raises(CheckpointError):
        version_model(folder, "main", noise)
