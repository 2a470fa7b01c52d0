"""A run back at an earlier version."""

import contextlib
import json
from pathlib import Path

import pytest

from attract.errors import ConfigurationError
from attract.run.rollback import roll_back
from attract.runs.archive import VIEW
from attract.runs.checkpoint_document import DOCUMENT_FILE, sealed
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore, UpdateRow


def test_C10_a_run_goes_back_and_is_free_again_afterwards(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "a")
    directory.write_config("cartpole", {})
    for version in range(4):
        (directory.checkpoints / str(version)).mkdir()
    directory.mark("latest", 3)
    (directory.export / "policy.onnx").write_bytes(b"of version 3")
    with pytest.raises(ConfigurationError):
        roll_back(tmp_path, "a", 1)
    directory.close()
    assert roll_back(tmp_path, "latest", 1) == ("a", 1)
    assert directory.versions() == [0, 1]
    # What is on the dashboard's button, and would be shipped, is not of a version that was set aside.
    assert not list(directory.export.iterdir())
    (kept,) = directory.path.glob("export.broken-*")
    assert (kept / "policy.onnx").read_bytes() == b"of version 3"
    assert roll_back(tmp_path, "a", 0) == ("a", 0)


def test_C10_the_runs_numbers_end_with_the_version_that_it_went_back_to(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, "a")
    directory.write_config("cartpole", {})
    with contextlib.closing(MetricsStore(directory.metrics_path)) as store:
        for version in range(1, 4):
            folder = directory.checkpoints / str(version)
            folder.mkdir()
            counters = {"updates": version, "agent_steps": 100 * version, "episodes": 10 * version}
            (folder / DOCUMENT_FILE).write_text(json.dumps(sealed(version, {"counters": counters})))
            values = {"rollout/ep_rew_mean": 5.0 * version}
            facts = {VIEW: {"policy_version": version, "agent_steps": 100 * version, "settings": {"seed": 1}}}
            row = UpdateRow(
                update=version,
                agent_steps=100 * version,
                collected_steps=100 * version,
                seconds=2.0 * version,
                policy_version=version,
                checkpoint=f"checkpoints/{version}",
                weights_sha256="0" * 64,
                values=values,
            )
            store.commit_update(row, facts)
    directory.mark("latest", 3)
    directory.close()
    assert roll_back(tmp_path, "a", 2) == ("a", 2)
    with contextlib.closing(MetricsStore(directory.metrics_path)) as store:
        assert [update for update, _, _ in store.rows()] == [1, 2]
        view = store.fact(VIEW)
    assert (view["policy_version"], view["agent_steps"], view["elapsed_seconds"]) == (2, 200, 4.0)
    assert view["episode_return_mean"] == 10.0
    assert view["settings"] == {"seed": 1}
