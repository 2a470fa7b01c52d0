"""Policies as files that ship, each compared with torch before anything is written."""

import json
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch

from attract.errors import PolicyError
from attract.learner.checkpoints.exporting import export_policies
from attract.policy.export import OnnxPatcher
from attract.schema.spaces import BoxSpace
from policies import create_policy, describe, observations_for, randomise


def state(seed: int) -> Any:
    policy = create_policy(hidden_sizes=(8,))
    randomise(policy, seed)
    return {name: tensor.clone() for name, tensor in policy.state_dict().items()}


def test_C9_pictures_are_compared_on_the_games_own(tmp_path: Path):
    pictures = BoxSpace(shape=[4], dtype="uint8")
    policy, other = (
        create_policy(pictures, hidden_sizes=(8,), activation=activation) for activation in ("tanh", "relu")
    )

    def written(seen: int) -> bool:
        examples = {"main": {"obs": torch.full((2, 4), seen, dtype=torch.uint8)}}
        try:
            export_policies(
                tmp_path / str(seen), {"main": policy.state_dict()}, policy, OnnxPatcher(other),
                describe(pictures), seats=["main"], policy_version=7, training={}, examples=examples,
            )  # fmt: skip
        except PolicyError:
            return False
        return True

    # Biases are 0 at first: on a black picture the other activation computes the same.
    assert written(0) and not written(200)


def export(out: Path, states: dict[str, Any], seats: list[str], **settings: Any) -> None:
    blank = create_policy(hidden_sizes=(8,))
    export_policies(
        out,
        states,
        blank,
        OnnxPatcher(create_policy(hidden_sizes=(8,), **settings)),
        describe(),
        seats=seats,
        policy_version=7,
        training={"run_id": "run-1"},
    )


def value_of(model: Path) -> Any:
    session = onnxruntime.InferenceSession(model.read_bytes(), providers=["CPUExecutionProvider"])
    inputs = {"obs": observations_for(create_policy(hidden_sizes=(8,)), 4)["obs"].numpy()}
    return session.run(["value"], inputs)[0].tolist()


def test_a_sole_policy_is_policy_onnx_with_its_document(tmp_path: Path):
    export(tmp_path / "out", {"main": state(1)}, ["main"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["policy.json", "policy.onnx"]
    document = json.loads((tmp_path / "out" / "policy.json").read_text())
    assert document["policy_version"] == 7
    assert "policy_id" not in document


def test_several_policies_have_files_of_their_own_and_one_document_says_who_plays_whom(tmp_path: Path):
    export(tmp_path, {"scout": state(1), "keeper": state(2)}, ["scout", "keeper", "keeper"])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["keeper.onnx", "policy.json", "scout.onnx"]
    text = (tmp_path / "policy.json").read_text()
    assert '"scout"' in text
    assert '"keeper"' in text
    assert value_of(tmp_path / "scout.onnx") != value_of(tmp_path / "keeper.onnx")
    export(tmp_path / "alone", {"main": state(1)}, ["main"])
    assert value_of(tmp_path / "alone" / "policy.onnx") == value_of(tmp_path / "scout.onnx")


def test_C9_a_model_that_does_not_compute_what_torch_does_is_not_written(tmp_path: Path):
    # The same tensors in a graph of another activation.
    with pytest.raises(PolicyError):
        export(tmp_path / "out", {"main": state(1)}, ["main"], activation="relu")
    assert not (tmp_path / "out").exists()
