"""The golden policy: one network, its ONNX bytes, and what torch says of some observations.

`python tests/contract/policy_golden.py` writes it again; both languages read it.
"""

import base64
import json
from pathlib import Path
from typing import Any

import torch

from attract.policy.export import OnnxPatcher
from attract.policy.network import Policy, build_policy
from attract.schema.game import GameDescription
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.settings import PolicySettings

PATH = Path(__file__).parent / "golden" / "policy.json"
NUM_OBSERVATIONS = 64
GAME = GameDescription(
    id="Golden-v1",
    tick_seconds=0.1,
    seconds_per_step=0.1,
    ticks_per_step=1,
    max_seconds=None,
    max_steps=None,
    observation=BoxSpace(shape=[4]),
    action=DiscreteSpace(n=2),
)


def build() -> Policy:
    """MLP 4-64-64, shared trunk; weights that give lopsided logits, statistics that are not the identity."""
    policy = build_policy(PolicySettings(), GAME, seed=7)
    state = policy.state_dict()
    with torch.no_grad():
        for name, tensor in state.items():
            if name.startswith(("policy_head", "value_head")):
                tensor.mul_(40.0)
        state["normaliser.mean"].copy_(torch.tensor([0.1, -0.2, 0.3, -0.4]))
        state["normaliser.inv_std"].copy_(torch.tensor([1.5, 0.75, 1.0, 2.0]))
    return policy


def observations() -> torch.Tensor:
    """[64, 4] float32, some of them far outside of the statistics."""
    return 2.0 * torch.randn(NUM_OBSERVATIONS, 4, generator=torch.Generator().manual_seed(8))


def golden() -> dict[str, Any]:
    """What the file holds."""
    policy = build()
    seen = observations()
    with torch.no_grad():
        logits, value = policy({"obs": seen})
    return {
        "onnx": base64.b64encode(OnnxPatcher(policy).patched(policy.state_dict())).decode(),
        "observations": seen.tolist(),
        "logits": logits.tolist(),
        "value": value.tolist(),
        "log_probs": torch.log_softmax(logits.double(), dim=-1).tolist(),
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden()) + "\n")
