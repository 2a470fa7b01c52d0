"""The golden policy is what this build's network and graph give."""

import base64
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from numpy.typing import ArrayLike

from attract.policy.network import build_distribution
from attract.schema.game import GameDescription

sys.path.insert(0, str(Path(__file__).parent))
import policy_golden

GOLDEN = json.loads(policy_golden.PATH.read_text())


def assert_equal_but_for_rounding(found: ArrayLike, expected: ArrayLike) -> None:
    """Within 1e-5 of max(1, |x|), and of what the largest loses where a processor adds in another order."""
    found, expected = np.asarray(found), np.asarray(expected)
    allowed = 1e-5 * np.maximum(1.0, np.abs(expected)) + 1e-6 * np.max(np.abs(expected))
    assert np.all(np.abs(found - expected) <= allowed), np.max(np.abs(found - expected) / allowed)


def test_C9_torch_gives_the_golden_outputs():
    now = policy_golden.golden()
    for name in ("logits", "value", "log_probs"):
        assert_equal_but_for_rounding(now[name], GOLDEN[name])


def test_C9_onnxruntime_gives_the_golden_outputs():
    session = onnxruntime.InferenceSession(base64.b64decode(GOLDEN["onnx"]))
    seen = np.array(GOLDEN["observations"], np.float32)
    logits, value = session.run(["logits", "value"], {"obs": seen})
    for got, name in ((logits, "logits"), (value, "value")):
        expected = np.array(GOLDEN[name])
        assert np.max(np.abs(np.asarray(got) - expected) / np.maximum(1.0, np.abs(expected))) < 1e-5


ALL = json.loads(policy_golden.PATH_OF_ALL.read_text())


def array(tensor):
    return np.array(tensor["data"], tensor["dtype"]).reshape(tensor["shape"])


def test_there_is_a_golden_policy_of_every_kind():
    assert ALL.keys() == policy_golden.POLICIES.keys()


@pytest.mark.parametrize("name", policy_golden.POLICIES)
def test_C9_torch_gives_the_golden_outputs_of_every_kind(name):
    now = policy_golden.golden_of(name)
    assert now["description"] == ALL[name]["description"]
    for part, tensor in ALL[name]["outputs"].items():
        assert_equal_but_for_rounding(array(now["outputs"][part]), array(tensor))


@pytest.mark.parametrize("name", policy_golden.POLICIES)
def test_C9_onnxruntime_gives_the_golden_outputs_of_every_kind(name):
    session = onnxruntime.InferenceSession(base64.b64decode(ALL[name]["onnx"]))
    outputs = ALL[name]["outputs"]
    got = session.run(list(outputs), {key: array(value) for key, value in ALL[name]["inputs"].items()})
    for (part, tensor), found in zip(outputs.items(), got, strict=True):
        expected = array(tensor)
        difference = np.abs(found - expected) / np.maximum(1.0, np.abs(expected))
        assert np.max(difference) < 1e-5, part


@pytest.mark.parametrize("name", policy_golden.POLICIES)
def test_C5_the_golden_outputs_and_uniforms_give_the_golden_actions(name):
    one = ALL[name]
    description = GameDescription.model_validate(one["description"])
    distribution = build_distribution(description)
    outputs = np.concatenate([array(one["outputs"][part]) for part in distribution.output_names], -1)
    mask = None if one["action_mask"] is None else torch.from_numpy(array(one["action_mask"]).astype(bool))
    drawn = distribution.sample(torch.from_numpy(outputs), torch.from_numpy(array(one["uniforms"])), mask)
    np.testing.assert_allclose(drawn.numpy(), array(one["actions"]), rtol=1e-6, atol=1e-7)
    log_probs, _ = distribution.log_prob_and_entropy(torch.from_numpy(outputs), drawn, mask)
    np.testing.assert_allclose(log_probs.numpy(), array(one["log_probs"]), rtol=1e-5, atol=1e-5)
