"""The files of an export by name; the learner writes them, the gateway serves them, people ship them."""

from collections.abc import Sequence
from pathlib import Path

DOCUMENT_FILE = "policy.json"


def model_file(policy_id: str, policy_ids: Sequence[str]) -> str:
    """Name of a policy's model in a run of these: `policy.onnx` of a sole one, else `<policy id>.onnx`."""
    return "policy.onnx" if len(policy_ids) == 1 else f"{policy_id}.onnx"


def export_models(folder: Path, policy_ids: Sequence[str]) -> list[Path]:
    """The model of each policy of a run that is exported into `folder`, whether it is there or not."""
    return [folder / model_file(policy_id, policy_ids) for policy_id in policy_ids]
