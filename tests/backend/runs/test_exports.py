"""Names of an export's files."""

from pathlib import Path

from attract.runs.exports import export_models, model_file


def test_a_sole_policy_is_policy_onnx_whatever_it_is_called():
    assert model_file("scout", ["scout"]) == "policy.onnx"
    assert export_models(Path("out"), ["main"]) == [Path("out/policy.onnx")]


def test_several_policies_have_files_of_their_own_names_in_order():
    assert model_file("keeper", ["scout", "keeper"]) == "keeper.onnx"
    assert export_models(Path("out"), ["scout", "keeper"]) == [
        Path("out/scout.onnx"),
        Path("out/keeper.onnx"),
    ]
