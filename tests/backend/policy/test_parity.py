import os
import subprocess
import sys

import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.errors import PolicyError
from attract.policy.export import OnnxPatcher
from attract.policy.parity import TOLERANCE, Parity, check_parity, probe
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace
from policies import create_policy

ZEROS = {"obs": torch.zeros(3, 4)}


def patched(policy):
    return OnnxPatcher(policy).patched(policy.state_dict())


def test_C9_equal_weights_are_within_tolerance():
    policy = create_policy()
    parity = check_parity(policy, patched(policy), {"obs": torch.randn(32, 4)})
    assert parity.is_within_tolerance and max(parity.differences.values()) < TOLERANCE
    assert list(parity.differences) == ["logits", "value"]


@pytest.mark.parametrize("name", ["policy_head.bias", "value_head.bias"])
def test_C9_a_difference_above_the_tolerance_is_refused(name):
    policy = create_policy()
    model = patched(policy)
    with torch.no_grad():
        policy.state_dict()[name][0] += 1e-4
    with pytest.raises(PolicyError, match="C9"):
        check_parity(policy, model, ZEROS)


def test_C9_the_state_is_compared_too():
    policy = create_policy(recurrent="lstm", recurrent_size=4, hidden_sizes=())
    model = patched(policy)
    # With heads of zeros nothing but the state can differ.
    for head in (policy.policy_head, policy.value_head):
        torch.nn.init.zeros_(head.weight)
    model = patched(policy)
    assert check_parity(policy, model).differences["state_outs"] < TOLERANCE
    with torch.no_grad():
        policy.core.inputs.bias += 1e-3
    with pytest.raises(PolicyError, match=r"C9.*state_outs"):
        check_parity(policy, model)


def test_C9_large_numbers_are_compared_relatively():
    policy = create_policy()
    with torch.no_grad():
        policy.value_head.bias.fill_(1e4)
    model = patched(policy)
    with torch.no_grad():
        policy.value_head.bias.fill_(1e4 + 0.05)
    # 0.05 of 10,000 is 5e-6: within 1e-5 max(1, |x|).
    assert check_parity(policy, model, ZEROS).differences["value"] == pytest.approx(5e-6, rel=0.05)


def test_C9_heads_are_compared_with_the_products_they_are_summed_from():
    policy = create_policy(BoxSpace(shape=[2]), hidden_sizes=())
    with torch.no_grad():
        # 2,000 - 2,000 is 0, with the rounding of 4,000; the other logits are 0 of nothing.
        policy.policy_head.weight.zero_()
        policy.policy_head.weight[0] = torch.tensor([1000.0, -1000.0])
        policy.value_head.weight[0] = torch.tensor([500.0, -500.0])
    model = patched(policy)
    twos = {"obs": torch.full((3, 2), 2.0)}
    with torch.no_grad():
        policy.policy_head.bias[1] += 0.02
        policy.value_head.bias += 0.01
    # 0.02 of 4,000 and 0.01 of 2,000 are 5e-6.
    assert check_parity(policy, model, twos).differences == pytest.approx(
        {"logits": 5e-6, "value": 5e-6}, rel=0.05
    )
    with torch.no_grad():
        policy.policy_head.bias[2] += 0.05
    with pytest.raises(PolicyError, match=r"C9.*logits"):
        check_parity(policy, model, twos)


def test_C9_not_a_number_is_no_agreement():
    assert not Parity({"logits": float("nan"), "value": 0.0}).is_within_tolerance
    assert not Parity({"logits": 0.0, "value": float("nan")}).is_within_tolerance


def test_probes_fit_every_entry():
    spaces = {"view": BoxSpace(shape=[3, 2, 1], dtype="uint8"), "item": DiscreteSpace(n=3)}
    probes = probe(create_policy(DictSpace(spaces=spaces)))
    assert probes["view"].shape == (64, 3, 2, 1) and probes["view"].max() > 250
    assert sorted(probes["item"].unique().tolist()) == [0, 1, 2]


def test_probes_lie_where_the_games_observations_do():
    policy = create_policy(BoxSpace(shape=[2]))
    seen = torch.tensor([[99.0, -0.01], [101.0, 0.01]])
    policy.set_statistics({"obs": RunningMoments.of(seen, torch.tensor([True, True]))})
    probes = probe(policy)["obs"]
    assert probes.mean(0).tolist() == pytest.approx([100.0, 0.0], abs=1.5)
    assert probes.std(0).tolist() == pytest.approx([3.0, 0.03], rel=0.3)


def test_onnx_runtime_is_told_to_report_to_nobody_before_it_is_loaded() -> None:
    code = """
import os, sys
import attract
assert "onnxruntime" not in sys.modules
import attract.policy.parity
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""
    environment = {name: text for name, text in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "1"
