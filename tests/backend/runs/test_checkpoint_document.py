"""A checkpoint's document: sealed by its hash, and refused when it is not what was written."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from attract.errors import CheckpointError
from attract.runs.checkpoint_document import DOCUMENT_FILE, read_document, read_exactly, sealed


def written(folder: Path, document: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / DOCUMENT_FILE).write_text(json.dumps(document))
    return folder


def refusal(path: Path) -> str:
    with pytest.raises(CheckpointError) as refused:
        read_document(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


def test_what_was_sealed_is_read_whatever_the_order_of_its_keys(tmp_path: Path):
    document = sealed(7, {"counters": {"updates": 3}, "seed": 1})
    assert (document["format_version"], document["policy_version"]) == (1, 7)
    assert read_document(written(tmp_path / "7", document)) == document
    backwards = dict(reversed(document.items()))
    assert read_document(written(tmp_path / "7", backwards)) == document


def test_a_hash_is_that_of_the_canonical_text():
    # printf '{"a":1,"format":"attract-checkpoint","format_version":1,"policy_version":0}' | sha256sum
    assert sealed(0, {"a": 1})["sha256"] == (
        "3eb5d9aac78ecc1daaa39756dfbec2b84a33cc7ea60a5a38bc4da80413caa790"
    )


@pytest.mark.parametrize("change", [{"policy_version": 8}, {"seed": 2}, {"more": 1}, {"sha256": "0" * 64}])
def test_a_changed_document_is_refused(tmp_path: Path, change: dict[str, Any]):
    document = sealed(7, {"seed": 1}) | change
    assert "SHA-256 differs" in refusal(written(tmp_path / "7", document))


def test_what_is_missing_cut_short_or_of_another_format_is_refused(tmp_path: Path):
    assert "no such folder" in refusal(tmp_path / "7")
    (tmp_path / "7").mkdir()
    assert DOCUMENT_FILE in refusal(tmp_path / "7")
    (tmp_path / "7" / DOCUMENT_FILE).write_text('{"format": "attract-ch')
    assert "is not valid JSON" in refusal(tmp_path / "7")
    assert "must hold a JSON object" in refusal(written(tmp_path / "7", [1]))
    assert "not a checkpoint's" in refusal(written(tmp_path / "7", {"format": "other"}))
    newer = sealed(7, {}) | {"format_version": 2}
    assert "format 2; this version reads 1" in refusal(written(tmp_path / "7", newer))


def test_a_file_of_another_size_is_refused_before_it_is_read(tmp_path: Path):
    path = tmp_path / "policy.safetensors"
    path.write_bytes(b"12345")
    assert read_exactly(path, 5) == b"12345"
    with pytest.raises(CheckpointError, match="has 5 bytes, expected 6"):
        read_exactly(path, 6)
    os.truncate(path, (16 << 20) + 1)
    with pytest.raises(CheckpointError, match="too many"):
        read_exactly(path, None)
