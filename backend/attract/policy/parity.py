"""Compares what torch and ONNX Runtime make of the same observations (rule C9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

from attract.errors import PolicyError
from attract.policy.graph import MASK_INPUT
from attract.policy.network import Policy
from attract.policy.observation_inputs import Observations
from attract.policy.precision import full_precision

TOLERANCE = 1e-5
"""Largest |torch - onnx| / max(1, size) that rule C9 allows for each output.

The size of a number of a state is its |torch|. That of a head's outputs is the sum of the |products| that an
output is summed from, the largest of the row: those bound the rounding of a sum (Higham 2002, section 3.1),
which may itself be small because its products cancel.
"""
NUM_PROBES = 64
NUM_DEVIATIONS = 3.0
"""Standard deviation of a probe's numbers, in deviations of the game's."""


@dataclass(frozen=True, slots=True)
class Parity:
    """Largest differences between torch and ONNX Runtime, by output; see `TOLERANCE`."""

    differences: Mapping[str, float]

    @property
    def is_within_tolerance(self) -> bool:
        """Whether rule C9 holds; False when anything is NaN."""
        return all(difference <= TOLERANCE for difference in self.differences.values())


def check_parity(policy: Policy, onnx_bytes: bytes, observations: Observations | None = None) -> Parity:
    """Runs both on the same observations, and states where there are any, and compares.

    Args:
        policy: on any device.
        onnx_bytes: its model, with or without `action`; with a mask, everything is allowed.
        observations: [N, ...] each, N >= 1, such as `probe` gives; None: `probe(policy)`.

    Returns: the largest differences.
    Raises: PolicyError: when rule C9 does not hold.
    """
    observations = probe(policy) if observations is None else observations
    count = next(iter(observations.values())).shape[0]
    state = torch.rand((count, policy.state_size), generator=torch.Generator().manual_seed(0)) * 2 - 1
    with torch.no_grad(), full_precision():
        device = next(policy.parameters()).device
        preprocessed = policy.preprocess({key: array.to(device) for key, array in observations.items()})
        with _Sizes(policy.policy_head) as of_outputs, _Sizes(policy.value_head) as of_value:
            outputs, value, state_outs = policy.step(preprocessed, state.to(device))
    expected = dict(zip(policy.output_names, outputs.split(policy.output_sizes, -1), strict=True))
    sizes = dict.fromkeys(expected, of_outputs.sizes)
    expected["value"] = value
    sizes["value"] = of_value.sizes.squeeze(1)
    feeds = {entry.input_name: observations[entry.key].cpu().numpy() for entry in policy.entries}
    if policy.state_size:
        expected["state_outs"] = state_outs
        sizes["state_outs"] = state_outs.abs()
        feeds["state_ins"] = state.numpy()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_bytes, options, providers=["CPUExecutionProvider"])
    for given in session.get_inputs():
        if given.name == MASK_INPUT:
            feeds[given.name] = np.ones((count, given.shape[1]), np.uint8)
    got = session.run(list(expected), feeds)
    parity = Parity(
        {
            name: _largest_difference(tensor.cpu().numpy(), np.asarray(array), sizes[name].cpu().numpy())
            for (name, tensor), array in zip(expected.items(), got, strict=True)
        }
    )
    if not parity.is_within_tolerance:
        raise PolicyError(
            "C9: torch and ONNX Runtime disagree",
            expected=f"at most {TOLERANCE:g}",
            got=", ".join(f"{name} {difference:g}" for name, difference in parity.differences.items()),
        )
    return parity


def probe(policy: Policy) -> Observations:
    """64 observations for the policy, the same each time: a network is exact where its game is.

    Floats lie over a few of the deviations that the policy normalises by. Pictures, bits and choices are
    noise.
    """
    generator = torch.Generator().manual_seed(0)
    found: dict[str, Tensor] = {}
    for entry in policy.entries:
        shape = (NUM_PROBES, *entry.shape)
        if entry.dtype.is_floating_point:
            drawn = torch.randn(shape, generator=generator) * NUM_DEVIATIONS
            normaliser = policy.normalisers.get(entry.key)
            if normaliser is not None:
                drawn = normaliser.mean.cpu() + drawn / normaliser.inv_std.cpu()
            if entry.kind == "set":
                # About half of the rows hold a thing; of the first observation none.
                drawn[..., -1] = (drawn[..., -1] > 0).float()
                drawn[0, :, -1] = 0.0
            found[entry.key] = drawn
        else:
            limits = {"bits": 2, "one_hot": min(entry.choices, default=1)}
            limit = limits.get(entry.kind, 256)
            found[entry.key] = torch.randint(0, limit, shape, dtype=entry.dtype, generator=generator)
    return found


class _Sizes:
    """While entered, `sizes` is of the layer's last outputs, [N, 1]; see `TOLERANCE`."""

    def __init__(self, layer: nn.Linear) -> None:
        self.sizes = torch.empty(0)
        self._hook = layer.register_forward_hook(self._measure)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()

    def _measure(self, layer: nn.Linear, given: tuple[Tensor], _: Tensor) -> None:
        products = nn.functional.linear(given[0].abs(), layer.weight.abs(), layer.bias.abs())
        self.sizes = products.amax(1, keepdim=True)


def _largest_difference(a: np.ndarray, b: np.ndarray, size: np.ndarray) -> float:
    if a.shape != b.shape:
        raise PolicyError("outputs of different shape", expected=str(a.shape), got=str(b.shape))
    return float(np.max(np.abs(a - b) / np.maximum(1.0, size)))
