"""Golden draws: outputs of policies, uniforms and masks, and the actions and log-probabilities that follow.

Written out in plain float64 arithmetic, on its own: neither torch nor the worker's samplers are
asked.
`python tests/contract/distributions_golden.py` writes the file again; both languages read it.
"""

import json
import math
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

PATH = Path(__file__).parent / "golden" / "distributions.json"
ROWS = 24
NVEC = [2, 5, 3]
SPACES: dict[str, dict[str, Any]] = {
    "discrete": {"kind": "discrete", "n": 5, "labels": None},
    "multi_discrete": {"kind": "multi_discrete", "nvec": NVEC},
    "multi_binary": {"kind": "multi_binary", "n": 4},
    "box": {
        "kind": "box",
        "dtype": "float32",
        "shape": [3],
        "low": [-2.0, 0.0, -1.0],
        "high": [2.0, 10.0, 1.0],
    },
    # First the choices by the names of their parts, then the real numbers.
    "mixed": {
        "kind": "mixed",
        "spaces": {
            "throttle": {"kind": "multi_discrete", "nvec": [5, 3]},
            "aim": {"kind": "box", "dtype": "float32", "shape": [2], "low": [-2.0, 0.0], "high": [2.0, 10.0]},
            "button": {"kind": "discrete", "n": 2, "labels": ["up", "down"]},
            "lean": {"kind": "box", "dtype": "float32", "shape": [1], "low": -1.0, "high": 1.0},
        },
    },
}


def categorical(logits: list[float], mask: list[int], uniform: float | None) -> tuple[int, float]:
    """The action drawn with `uniform`, or the most probable one without, and its log-probability."""
    allowed = [a for a in range(len(logits)) if mask[a]]
    highest = max(logits[a] for a in allowed)
    weights = [math.exp(logits[a] - highest) if mask[a] else 0.0 for a in range(len(logits))]
    total = math.fsum(weights)
    if uniform is None:
        action = next(a for a in allowed if logits[a] == highest)
    else:
        action = next(a for a, sum_ in enumerate(accumulate(weights)) if sum_ > uniform * total)
    return action, logits[action] - highest - math.log(total)


def several(nvec: list[int], logits: list[float], mask: list[int], uniforms: list[float] | None) -> Any:
    """One categorical after the other."""
    actions: list[int] = []
    log_prob = 0.0
    start = 0
    for component, n in enumerate(nvec):
        part = slice(start, start + n)
        uniform = None if uniforms is None else uniforms[component]
        action, term = categorical(logits[part], mask[part], uniform)
        actions.append(action)
        log_prob += term
        start += n
    return actions, log_prob


def binary(logits: list[float], uniforms: list[float] | None) -> Any:
    """Independent switches."""
    bits: list[int] = []
    log_prob = 0.0
    for component, logit in enumerate(logits):
        p = 1.0 / (1.0 + math.exp(-logit))
        bit = logit > 0.0 if uniforms is None else uniforms[component] < p
        bits.append(int(bit))
        log_prob += math.log(p if bit else 1.0 - p)
    return bits, log_prob


def gaussian(outputs: list[float], uniforms: list[float] | None) -> Any:
    """Box-Muller, rounded to float32; the density is that of the rounded number."""
    size = len(outputs) // 2
    action: list[float] = []
    log_prob = 0.0
    for component in range(size):
        mean, log_std = outputs[component], outputs[size + component]
        z = 0.0
        if uniforms is not None:
            u0, u1 = uniforms[2 * component], uniforms[2 * component + 1]
            z = math.sqrt(-2.0 * math.log(1.0 - u0)) * math.cos(2.0 * math.pi * u1)
        number = float(np.float32(mean + math.exp(log_std) * z))
        action.append(number)
        standard = (number - mean) / math.exp(log_std)
        log_prob += -0.5 * standard * standard - log_std - 0.5 * math.log(2.0 * math.pi)
    return action, log_prob


def cases() -> dict[str, Any]:
    """What the file holds: per case the space, and rows of outputs, mask, uniforms and what follows."""
    random = np.random.Generator(np.random.PCG64(20))
    found: dict[str, Any] = {}
    for name, space in SPACES.items():
        for is_masked in (False, True) if "discrete" in name or name == "mixed" else (False,):
            rows = [_row(space, random, is_masked=is_masked) for _ in range(ROWS)]
            found[f"{name}_masked" if is_masked else name] = {"space": space, "rows": rows}
    return found


def _row(space: dict[str, Any], random: np.random.Generator, *, is_masked: bool) -> dict[str, Any]:
    sizes = {"discrete": (5, 1), "multi_discrete": (sum(NVEC), 3), "multi_binary": (4, 4), "box": (6, 6)}
    num_outputs, num_draws = sizes.get(space["kind"], (sum(NVEC) + 6, 9))
    outputs = (2.0 * random.standard_normal(num_outputs)).astype(np.float32)
    if space["kind"] in ("box", "mixed"):
        outputs[-3:] = random.uniform(-1.5, 0.7, 3)
    uniforms = [float(word) / 2**24 for word in random.integers(0, 2**24, num_draws)]
    mask = [1] * num_outputs
    if is_masked:
        mask = [int(bit) for bit in random.integers(0, 2, num_outputs)]
        start = 0
        if space["kind"] == "mixed":
            mask = mask[: sum(NVEC)]
        for n in [5] if space["kind"] == "discrete" else NVEC:
            mask[start + int(random.integers(n))] = 1
            start += n
    numbers = [float(x) for x in outputs]
    sampled, log_prob = _decide(space, numbers, mask, uniforms)
    mode, mode_log_prob = _decide(space, numbers, mask, None)
    decided = {"action": sampled, "log_prob": log_prob, "mode": mode, "mode_log_prob": mode_log_prob}
    return {"outputs": numbers, "mask": mask if is_masked else None, "uniforms": uniforms, **decided}


def _decide(
    space: dict[str, Any], outputs: list[float], mask: list[int], uniforms: list[float] | None
) -> Any:
    if space["kind"] == "discrete":
        return several([5], outputs, mask, uniforms)
    if space["kind"] == "multi_discrete":
        return several(NVEC, outputs, mask, uniforms)
    if space["kind"] == "mixed":
        first, rest = (None, None) if uniforms is None else (uniforms[:3], uniforms[3:])
        chosen, log_prob = several(NVEC, outputs[: sum(NVEC)], mask, first)
        moved, density = gaussian(outputs[sum(NVEC) :], rest)
        return [*chosen, *moved], log_prob + density
    return binary(outputs, uniforms) if space["kind"] == "multi_binary" else gaussian(outputs, uniforms)


if __name__ == "__main__":
    PATH.write_text(json.dumps(cases()) + "\n")
