"""The files of an export by name; the learner writes them, the gateway serves them, people ship them."""

import json
from collections.abc import Sequence
from pathlib import Path

from attract.files import MAX_JSON_BYTES, parse_object, read_file, write_atomically

DOCUMENT_FILE = "policy.json"
PART_BYTES = 512 * 1024
"""No file of a page that is to be shown anywhere is larger, as far as it is ours."""


def model_file(policy_id: str, policy_ids: Sequence[str]) -> str:
    """Name of a policy's model in a run of these: `policy.onnx` of a sole one, else `<policy id>.onnx`."""
    return "policy.onnx" if len(policy_ids) == 1 else f"{policy_id}.onnx"


def export_models(folder: Path, policy_ids: Sequence[str]) -> list[Path]:
    """The model of each policy of a run that is exported into `folder`, whether it is there or not."""
    return [folder / model_file(policy_id, policy_ids) for policy_id in policy_ids]


def split_models(folder: Path, models: Sequence[Path]) -> list[Path]:
    """Put parts of at most `PART_BYTES` in the place of each larger model, and say so in `folder`'s document.

    Returns: what lies there now: each model, or its parts `NAME.1`, `NAME.2` ..., which `agent.js` joins.
    """
    path = folder / DOCUMENT_FILE
    document = parse_object(read_file(path, MAX_JSON_BYTES), path)
    written: list[Path] = []
    parts: dict[str, int] = {}
    for model in models:
        data = model.read_bytes()
        if len(data) <= PART_BYTES:
            written.append(model)
            continue
        starts = range(0, len(data), PART_BYTES)
        parts[model.name] = len(starts)
        for number, start in enumerate(starts, 1):
            part = model.with_name(f"{model.name}.{number}")
            write_atomically(part, data[start : start + PART_BYTES])
            written.append(part)
        model.unlink()
    if parts:
        text = json.dumps({**document, "parts": parts}, indent=2, sort_keys=True)
        write_atomically(folder / DOCUMENT_FILE, f"{text}\n".encode())
    return written
