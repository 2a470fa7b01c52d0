import json
import shutil
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.playtest.policies import exported_policy, hashes, is_exported, younger

TRAINED = Path(__file__).parents[3] / "web" / "page-games" / "meteors" / "trained"


def test_an_export_has_one_policy_with_its_document_and_model() -> None:
    (policy,) = exported_policy(TRAINED)
    assert policy.name == "trained"
    assert json.loads(policy.document)["game"]["id"] == "Meteors-v1"
    assert policy.model == (TRAINED / "policy.onnx").read_bytes()
    assert set(hashes([policy])) == {"trained"}


def test_the_parts_of_a_split_model_are_joined(tmp_path: Path) -> None:
    shutil.copy(TRAINED / "policy.json", tmp_path)
    model = (TRAINED / "policy.onnx").read_bytes()
    document = json.loads((tmp_path / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps({**document, "parts": {"policy.onnx": 2}}))
    (tmp_path / "policy.onnx.1").write_bytes(model[:1000])
    (tmp_path / "policy.onnx.2").write_bytes(model[1000:])
    (policy,) = exported_policy(tmp_path)
    assert policy.model == model


def test_several_policies_are_refused(tmp_path: Path) -> None:
    document = json.loads((TRAINED / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps({**document, "policies": {"red": {}, "blue": {}}}))
    assert is_exported(str(tmp_path))
    with pytest.raises(ConfigurationError, match="several policies"):
        exported_policy(tmp_path)


@pytest.mark.parametrize(
    ("versions", "best", "expected"),
    [
        (list(range(31)), 30, [10, 20]),
        ([0, 5, 30, 40], 30, [5]),
        ([0, 30], 30, []),
        ([0, 1, 2, 29, 30], 30, [2, 29]),
    ],
)
def test_younger_versions_lie_at_thirds_of_the_way_to_the_best(
    versions: list[int], best: int, expected: list[int]
) -> None:
    assert younger(versions, best) == expected
