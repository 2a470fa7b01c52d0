"""Names of an export's files."""

import json
from pathlib import Path

from attract.runs.exports import DOCUMENT_FILE, PART_BYTES, export_models, model_file, split_models


def test_a_sole_policy_is_policy_onnx_whatever_it_is_called():
    assert model_file("scout", ["scout"]) == "policy.onnx"
    assert export_models(Path("out"), ["main"]) == [Path("out/policy.onnx")]


def test_several_policies_have_files_of_their_own_names_in_order():
    assert model_file("keeper", ["scout", "keeper"]) == "keeper.onnx"
    assert export_models(Path("out"), ["scout", "keeper"]) == [
        Path("out/scout.onnx"),
        Path("out/keeper.onnx"),
    ]


def test_a_model_that_is_too_large_for_one_file_is_split_in_order(tmp_path: Path):
    small, large = bytes(PART_BYTES), bytes(range(256)) * 4096 + b"end"
    (tmp_path / "scout.onnx").write_bytes(small)
    (tmp_path / "heavy.onnx").write_bytes(large)
    (tmp_path / DOCUMENT_FILE).write_text('{"format": "attract-policy"}')
    written = split_models(tmp_path, [tmp_path / "scout.onnx", tmp_path / "heavy.onnx"])
    assert [path.name for path in written] == ["scout.onnx", "heavy.onnx.1", "heavy.onnx.2", "heavy.onnx.3"]
    assert b"".join(path.read_bytes() for path in written[1:]) == large
    assert not (tmp_path / "heavy.onnx").exists()
    assert json.loads((tmp_path / DOCUMENT_FILE).read_text()) == {
        "format": "attract-policy",
        "parts": {"heavy.onnx": 3},
    }


def test_what_fits_is_left_as_it_is(tmp_path: Path):
    (tmp_path / "policy.onnx").write_bytes(b"1")
    (tmp_path / DOCUMENT_FILE).write_text("{}")
    assert split_models(tmp_path, [tmp_path / "policy.onnx"]) == [tmp_path / "policy.onnx"]
    assert (tmp_path / DOCUMENT_FILE).read_text() == "{}"
