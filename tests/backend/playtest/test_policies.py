import json
import shutil
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.playtest.policies import exported_policy, hashes, is_exported, run_policies, younger
from attract.runs.directory import RunDirectory
from attract.settings.run import RunSettings

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


class KnownModels:
    """As `RunModels`: a masked game's document, and models that name their version."""

    def document(self, run_id: str) -> bytes:
        inputs = {"obs": {"key": "obs"}, "action_mask": {}}
        return json.dumps({"policy_version": 12, "inputs": inputs, "game": {"action_mask": True}}).encode()

    async def model(self, run_id: str, version: int) -> bytes:
        return b"onnx %d" % version


async def test_a_run_has_its_best_version_and_two_younger_ones_without_masks_in_their_graphs(
    tmp_path: Path,
) -> None:
    directory = RunDirectory.create(tmp_path, "a")
    directory.write_config("counting", RunSettings.from_mapping({}).model_dump(mode="json"))
    for version in (0, 3, 6, 9, 12):
        (directory.checkpoints / str(version)).mkdir(parents=True)
    directory.mark("best", 9)
    directory.close()
    policies = await run_policies(KnownModels(), "a", tmp_path)  # type: ignore[arg-type]
    assert [(policy.name, policy.model) for policy in policies] == [
        ("trained", b"onnx 9"),
        ("younger-1", b"onnx 3"),
        ("younger-2", b"onnx 6"),
    ]
    documents = [json.loads(policy.document) for policy in policies]
    assert [document["policy_version"] for document in documents] == [9, 3, 6]
    # The game masks; a model that was made of a checkpoint has no input for it.
    assert all(document["inputs"] == {"obs": {"key": "obs"}} for document in documents)
    assert all(document["game"]["action_mask"] for document in documents)


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
