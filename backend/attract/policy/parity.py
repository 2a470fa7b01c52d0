"""Compares what torch and ONNX Runtime make of the same observations (rule C9)."""

from dataclasses import dataclass

import numpy as np
import onnxruntime
import torch
from torch import Tensor

from attract.errors import PolicyError
from attract.policy.export import OUTPUT_NAMES
from attract.policy.network import Policy

TOLERANCE = 1e-5
"""Largest |torch - onnx| / max(1, |torch|) that rule C9 allows for logits and values."""


@dataclass(frozen=True, slots=True)
class Parity:
    """Largest differences between torch and ONNX Runtime, each as |a - b| / max(1, |a|)."""

    logits: float
    value: float

    @property
    def is_within_tolerance(self) -> bool:
        """Whether rule C9 holds; False when anything is NaN."""
        return self.logits <= TOLERANCE and self.value <= TOLERANCE


def check_parity(policy: Policy, onnx_bytes: bytes, observations: Tensor) -> Parity:
    """Runs both on the same observations and compares.

    Args:
        policy: on any device.
        onnx_bytes: model with outputs `logits` and `value`.
        observations: [N, ...] in the policy's dtype, N >= 1.

    Returns: the largest differences.
    Raises: PolicyError: when rule C9 does not hold.
    """
    with torch.no_grad():
        device = next(policy.parameters()).device
        expected = [output.cpu().numpy() for output in policy(observations.to(device))]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_bytes, options, providers=["CPUExecutionProvider"])
    got = session.run(list(OUTPUT_NAMES), {"obs": observations.cpu().numpy()})
    parity = Parity(*(_largest_difference(a, np.asarray(b)) for a, b in zip(expected, got, strict=True)))
    if not parity.is_within_tolerance:
        raise PolicyError(
            "C9: torch and ONNX Runtime disagree",
            expected=f"at most {TOLERANCE:g}",
            got=f"logits {parity.logits:g}, value {parity.value:g}",
        )
    return parity


def _largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    if a.shape != b.shape:
        raise PolicyError("outputs of different shape", expected=str(a.shape), got=str(b.shape))
    return float(np.max(np.abs(a - b) / np.maximum(1.0, np.abs(a))))
