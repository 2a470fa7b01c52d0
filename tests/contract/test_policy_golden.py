"""The golden policy is what this build's network and graph give."""

import base64
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

sys.path.insert(0, str(Path(__file__).parent))
import policy_golden

GOLDEN = json.loads(policy_golden.PATH.read_text())


def test_C9_torch_gives_the_golden_outputs():
    now = policy_golden.golden()
    for name in ("logits", "value", "log_probs"):
        np.testing.assert_allclose(now[name], GOLDEN[name], rtol=1e-5, atol=1e-5)


def test_C9_onnxruntime_gives_the_golden_outputs():
    session = onnxruntime.InferenceSession(base64.b64decode(GOLDEN["onnx"]))
    seen = np.array(GOLDEN["observations"], np.float32)
    logits, value = session.run(["logits", "value"], {"obs": seen})
    for got, name in ((logits, "logits"), (value, "value")):
        expected = np.array(GOLDEN[name])
        assert np.max(np.abs(np.asarray(got) - expected) / np.maximum(1.0, np.abs(expected))) < 1e-5
