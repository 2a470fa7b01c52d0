"""torch's distributions against golden draws, which the worker's samplers are held to as well."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attract.policy.action_kinds.table import resolve_distribution

sys.path.insert(0, str(Path(__file__).parent))
import distributions_golden

GOLDEN: dict[str, Any] = json.loads(distributions_golden.PATH.read_text())


def test_C9_the_file_holds_what_its_formulas_give():
    now = distributions_golden.cases()
    assert now.keys() == GOLDEN.keys()
    for name, case in now.items():
        for row, kept in zip(case["rows"], GOLDEN[name]["rows"], strict=True):
            assert row["uniforms"] == kept["uniforms"]
            np.testing.assert_allclose(row["action"], kept["action"], rtol=1e-6)
            np.testing.assert_allclose(row["log_prob"], kept["log_prob"], rtol=1e-9)


@pytest.mark.parametrize("name", list(GOLDEN))
def test_C9_torch_draws_the_golden_actions_with_their_log_probabilities(name: str):
    case = GOLDEN[name]
    distribution = resolve_distribution(case["space"])
    rows = case["rows"]
    outputs = torch.tensor([row["outputs"] for row in rows], dtype=torch.float32)
    uniforms = torch.tensor([row["uniforms"] for row in rows], dtype=torch.float64)
    assert outputs.shape[1] == distribution.num_outputs
    assert uniforms.shape[1] == distribution.num_draws
    mask = None if rows[0]["mask"] is None else torch.tensor([row["mask"] for row in rows], dtype=torch.bool)
    for kind, drawn in (
        ("action", distribution.sample(outputs, uniforms, mask)),
        ("mode", distribution.mode(outputs, mask)),
    ):
        expected = torch.tensor([row[kind] for row in rows])
        assert torch.allclose(drawn.reshape(len(rows), -1).double(), expected.double(), rtol=1e-6, atol=1e-7)
        log_prob, _ = distribution.log_prob_and_entropy(outputs, drawn, mask)
        key = "log_prob" if kind == "action" else "mode_log_prob"
        expected = np.array([row[key] for row in rows])
        # Here the learner's float32; the worker computes in float64.
        np.testing.assert_allclose(log_prob.numpy(), expected, rtol=1e-5, atol=2e-6)
