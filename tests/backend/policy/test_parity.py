import pytest
import torch

from attract.errors import PolicyError
from attract.policy.export import OnnxPatcher
from attract.policy.mlp import MlpPolicy
from attract.policy.parity import TOLERANCE, Parity, check_parity


def build():
    return MlpPolicy(
        (4,),
        "float32",
        2,
        hidden_sizes=(8,),
        activation="tanh",
        shared_trunk=True,
        normalize_observations=True,
        generator=torch.Generator().manual_seed(1),
    )


def test_C9_equal_weights_are_within_tolerance():
    policy = build()
    parity = check_parity(policy, OnnxPatcher(policy).patched(policy.state_dict()), torch.randn(32, 4))
    assert parity.is_within_tolerance and max(parity.logits, parity.value) < TOLERANCE


@pytest.mark.parametrize("name", ["policy_head.bias", "value_head.bias"])
def test_C9_a_difference_above_the_tolerance_is_refused(name):
    policy = build()
    model = OnnxPatcher(policy).patched(policy.state_dict())
    with torch.no_grad():
        policy.state_dict()[name][0] += 1e-4
    with pytest.raises(PolicyError, match="C9"):
        check_parity(policy, model, torch.zeros(3, 4))


def test_C9_large_numbers_are_compared_relatively():
    policy = build()
    with torch.no_grad():
        policy.value_head.bias.fill_(1e4)
    model = OnnxPatcher(policy).patched(policy.state_dict())
    with torch.no_grad():
        policy.value_head.bias.fill_(1e4 + 0.05)
    # 0.05 of 10,000 is 5e-6: within 1e-5 max(1, |x|).
    assert check_parity(policy, model, torch.zeros(3, 4)).value == pytest.approx(5e-6, rel=0.05)


def test_C9_not_a_number_is_no_agreement():
    assert not Parity(float("nan"), 0.0).is_within_tolerance
    assert not Parity(0.0, float("nan")).is_within_tolerance
