"""Compares what torch and ONNX Runtime make of the same observations (rule C9)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnxruntime
import torch
from torch import Tensor

from attract.errors import PolicyError
from attract.policy.graph import MASK_INPUT
from attract.policy.network import Policy
from attract.policy.observation_inputs import Observations
from attract.policy.precision import full_precision

TOLERANCE = 1e-5
"""Largest |torch - onnx| / max(1, |torch|) that rule C9 allows for each output.

|torch| of an action's outputs is the largest of their row: the rounding of a sum is as large as its terms
let it be, and a sum may be small because they cancel.
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
        outputs, value, state_outs = policy.step(preprocessed, state.to(device))
    expected = dict(zip(policy.output_names, outputs.chunk(len(policy.output_names), -1), strict=True))
    expected["value"] = value
    feeds = {entry.input_name: observations[entry.key].cpu().numpy() for entry in policy.entries}
    if policy.state_size:
        expected["state_outs"] = state_outs
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
            name: _largest_difference(
                tensor.cpu().numpy(), np.asarray(array), is_row=name in policy.output_names
            )
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


def probe(policy: Policy, examples: Observations | None = None) -> Observations:
    """64 observations for the policy, the same each time: a network is exact where its game is.

    Floats lie over a few of the deviations that the policy normalises by. Pictures, bits and choices are
    noise without `examples`, which excites a network more than the game's own do.

    Args:
        examples: of entries that are not floats, the game's own: [N, ...] each, N >= 1; None: none.
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
    for key, seen in (examples or {}).items():
        found[key] = seen[torch.arange(NUM_PROBES) % len(seen)]
    return found


def _largest_difference(a: np.ndarray, b: np.ndarray, *, is_row: bool) -> float:
    if a.shape != b.shape:
        raise PolicyError("outputs of different shape", expected=str(a.shape), got=str(b.shape))
    size = np.abs(a).max(axis=-1, keepdims=True) if is_row else np.abs(a)
    return float(np.max(np.abs(a - b) / np.maximum(1.0, size)))
