"""Golden policies: small networks of every kind, their ONNX bytes, and what torch makes of some observations.

`python tests/contract/policy_golden.py` writes them again; both languages read them. `policy.json` is the
plain one; `policies.json` holds one for each kind of space and core, with draws of the action distribution.
"""

import base64
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attract.policy.export import OnnxPatcher, policy_metadata, shipped_model
from attract.policy.network import Policy, build_distribution, build_policy
from attract.policy.parity import probe
from attract.schema.game import GameDescription
from attract.schema.spaces import (
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MixedSpace,
    MultiBinarySpace,
    MultiDiscreteSpace,
    SetSpace,
)
from attract.settings.run import PolicySettings

GOLDEN = Path(__file__).parent / "golden"
PATH = GOLDEN / "policy.json"
PATH_OF_ALL = GOLDEN / "policies.json"
NUM_OBSERVATIONS = 64
NUM_STEPS = 12
"""Observations of each policy in `policies.json`."""


def describe(observation: Any, action: Any, *, action_mask: bool = False) -> GameDescription:
    """A game of these spaces."""
    return GameDescription(
        id="Golden-v1",
        tick_seconds=0.1,
        seconds_per_step=0.1,
        ticks_per_step=1,
        max_seconds=None,
        max_steps=None,
        observation=observation,
        action=action,
        action_mask=action_mask,
    )


VECTOR = BoxSpace(shape=[3])
DICTIONARY = DictSpace(
    spaces={
        "speed": BoxSpace(shape=[2]),
        "bytes": BoxSpace(shape=[2, 2], dtype="uint8"),
        "item": DiscreteSpace(n=4),
        "cards": MultiDiscreteSpace(nvec=[2, 3]),
        "doors": MultiBinarySpace(n=3),
    }
)
POLICIES: dict[str, tuple[GameDescription, PolicySettings]] = {
    "conv": (
        describe(BoxSpace(shape=[9, 2, 3], dtype="uint8"), DiscreteSpace(n=4)),
        PolicySettings(hidden_sizes=(8,), cnn="small", shared_trunk=True),
    ),
    "lstm": (
        describe(VECTOR, DiscreteSpace(n=3)),
        PolicySettings(hidden_sizes=(8,), recurrent="lstm", recurrent_size=6, shared_trunk=True),
    ),
    "gru": (
        describe(VECTOR, DiscreteSpace(n=3)),
        PolicySettings(hidden_sizes=(8,), recurrent="gru", recurrent_size=6, shared_trunk=False),
    ),
    "gaussian": (
        describe(VECTOR, BoxSpace(shape=[2], low=[-2.0, 0.0], high=[2.0, 10.0])),
        PolicySettings(hidden_sizes=(8,), shared_trunk=True, log_std_init=-0.5),
    ),
    "dict": (
        describe(DICTIONARY, DiscreteSpace(n=3)),
        PolicySettings(hidden_sizes=(8,), shared_trunk=True, log_std_init=-0.5),
    ),
    "set": (
        describe(
            DictSpace(spaces={"rocks": SetSpace(max=5, shape=[2]), "speed": BoxSpace(shape=[2])}),
            DiscreteSpace(n=3),
        ),
        PolicySettings(hidden_sizes=(8,), shared_trunk=True, log_std_init=-0.5),
    ),
    "masked": (
        describe(VECTOR, DiscreteSpace(n=5), action_mask=True),
        PolicySettings(hidden_sizes=(8,), shared_trunk=True, log_std_init=-0.5),
    ),
    "multi_discrete": (
        describe(VECTOR, MultiDiscreteSpace(nvec=[2, 4]), action_mask=True),
        PolicySettings(hidden_sizes=(8,), shared_trunk=True, log_std_init=-0.5),
    ),
    "mixed": (
        describe(
            VECTOR,
            MixedSpace(
                spaces={
                    "gear": MultiDiscreteSpace(nvec=[2, 3]),
                    "aim": BoxSpace(shape=[2], low=[-2.0, 0.0], high=[2.0, 10.0]),
                    "button": DiscreteSpace(n=4),
                    "lean": BoxSpace(shape=[1], low=-1.0, high=1.0),
                }
            ),
            action_mask=True,
        ),
        PolicySettings(hidden_sizes=(8,), shared_trunk=True, log_std_init=-0.5),
    ),
    "multi_binary": (
        describe(VECTOR, MultiBinarySpace(n=3)),
        PolicySettings(hidden_sizes=(8,), shared_trunk=True, log_std_init=-0.5),
    ),
    "bins": (
        describe(VECTOR, MultiDiscreteSpace(nvec=[2, 3])),
        PolicySettings(hidden_sizes=(8,)),
    ),
}


def num_bins(name: str) -> int:
    """Of the return, below the heads of this policy."""
    return 7 if name == "bins" else 0


def build() -> Policy:
    """MLP 4-64-64, shared trunk; weights that give lopsided logits, statistics that are not the identity."""
    policy = build_policy(
        PolicySettings(shared_trunk=True), describe(BoxSpace(shape=[4]), DiscreteSpace(n=2)), seed=7
    )
    state = policy.state_dict()
    with torch.no_grad():
        for name, tensor in state.items():
            if name.startswith(("policy_head", "value_head")):
                tensor.mul_(40.0)
        state["normaliser.mean"].copy_(torch.tensor([0.1, -0.2, 0.3, -0.4]))
        state["normaliser.inv_std"].copy_(torch.tensor([1.5, 0.75, 1.0, 2.0]))
    return policy


def observations() -> Tensor:
    """[64, 4] float32, some of them far outside of the statistics."""
    return 2.0 * torch.randn(NUM_OBSERVATIONS, 4, generator=torch.Generator().manual_seed(8))


def golden() -> dict[str, Any]:
    """What `policy.json` holds."""
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


def build_one(name: str) -> Policy:
    """A policy of `POLICIES` whose heads say something and whose biases are not zero."""
    description, settings = POLICIES[name]
    policy = build_policy(settings, description, num_bins=num_bins(name), seed=len(name))
    generator = torch.Generator().manual_seed(len(name))
    with torch.no_grad():
        for tensor_name, tensor in policy.state_dict().items():
            if tensor_name == "policy_head.weight":
                tensor.mul_(100.0)
            elif tensor_name == "bins.weight":
                tensor.copy_(torch.randn(tensor.shape, generator=generator))
            elif tensor.dim() < 2:
                tensor.add_(0.2 * torch.rand(tensor.shape, generator=generator))
    return policy


@torch.no_grad()
def golden_of(name: str) -> dict[str, Any]:
    """What `policies.json` holds of one: the model, 12 inputs and outputs, and draws from those outputs.

    `export` is the model as it ships and its `policy.json`.

    `actions` are drawn with `uniforms` ([12, draws]) under `action_mask` ([12, choices], where the game has
    masks) from the float32 outputs as they stand here; `log_probs` are theirs, in float64.
    """
    description, settings = POLICIES[name]
    policy, distribution = build_one(name), build_distribution(description)
    generator = torch.Generator().manual_seed(3)
    # A policy without statistics has observations that do not depend on them.
    fresh = build_policy(settings, description, num_bins=num_bins(name))
    seen = {key: array[:NUM_STEPS] for key, array in probe(fresh).items()}
    state = torch.rand((NUM_STEPS, policy.state_size), generator=generator) * 2 - 1
    outputs, value, state_outs = policy.step(policy.preprocess(seen), state)
    # Multiples of 2^-24 below 1, as the seeded stream gives them.
    uniforms = torch.rand((NUM_STEPS, distribution.num_draws), generator=generator)
    mask = _mask(description, generator) if description.action_mask else None
    actions = distribution.sample(outputs, uniforms, mask)
    exact = actions.double() if actions.is_floating_point() else actions
    log_probs, _ = distribution.log_prob_and_entropy(outputs.double(), exact, mask)
    inputs = {entry.input_name: _tensor(seen[entry.key]) for entry in policy.entries}
    parts = outputs.split(policy.output_sizes, -1)
    found = {part: _tensor(array) for part, array in zip(policy.output_names, parts, strict=True)}
    found["value"] = _tensor(value)
    if policy.state_size:
        inputs["state_ins"], found["state_outs"] = _tensor(state), _tensor(state_outs)
    onnx, document = (
        OnnxPatcher(policy).patched(policy.state_dict()),
        policy_metadata(policy, description, 7, {}),
    )
    return {
        "description": description.model_dump(mode="json"),
        "state_size": policy.state_size,
        "onnx": base64.b64encode(onnx).decode(),
        "export": {"onnx": base64.b64encode(shipped_model(onnx, document)).decode(), "document": document},
        "inputs": inputs,
        "outputs": found,
        "action_mask": None if mask is None else _tensor(mask.byte()),
        "uniforms": _tensor(uniforms),
        "actions": _tensor(actions),
        "modes": _tensor(distribution.mode(outputs, mask)),
        "log_probs": _tensor(log_probs),
    }


def golden_of_all() -> dict[str, Any]:
    """What `policies.json` holds."""
    return {name: golden_of(name) for name in POLICIES}


def _mask(description: GameDescription, generator: torch.Generator) -> Tensor:
    """[12, choices] bool: about half allowed, in each component at least one."""
    counts = description.action.choices
    parts = [torch.rand((NUM_STEPS, count), generator=generator) < 0.5 for count in counts]
    for part in parts:
        part[:, 0] |= ~part.any(1)
    return torch.cat(parts, 1)


def _tensor(array: Tensor) -> dict[str, Any]:
    """Shape and numbers, flat in row-major order; every number exactly as it is."""
    return {
        "dtype": str(array.dtype).removeprefix("torch."),
        "shape": list(array.shape),
        "data": array.flatten().tolist(),
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden()) + "\n")
    PATH_OF_ALL.write_text(json.dumps(golden_of_all()) + "\n")
