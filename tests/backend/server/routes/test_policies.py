"""Models of a run: which can be had, under which names, and for how long."""

import json
from pathlib import Path

from attract.runs.directory import RunDirectory
from attract.settings.run import RunSettings
from gateway_world import GatewayWorld, until_update


async def test_a_run_says_which_models_can_be_had_and_is_listed_without_its_settings(world: GatewayWorld):
    view = await world.start()
    # No learner has a policy yet: asking for version 0 would fail.
    assert view.newest_model is None
    await world.service.stop(view.run_id)
    run_id = await world.trained()
    assert world.service.view(run_id).newest_model == 3
    document = await world.client.get(f"/api/runs/{run_id}/policy.json")
    assert document.json()["policy_version"] == 3
    listed = (await world.client.get("/api/runs?q=is:all")).json()["runs"]
    assert [game["title"] for game in listed] == ["Counting", "Counting"]
    assert not {"description", "reports"} & set(listed[0])


async def test_policies_are_immutable_and_latest_resolves_relative_to_itself(world: GatewayWorld):
    run_id = await world.trained()
    latest = await world.client.get(f"/api/runs/{run_id}/policy/latest.onnx")
    assert latest.status_code == 307
    assert latest.headers["location"] == "3.onnx"
    assert latest.headers["cache-control"] == "no-store"
    onnx = await world.client.get(f"/api/runs/{run_id}/policy/3.onnx")
    assert onnx.content == b"onnx 3"
    assert "immutable" in onnx.headers["cache-control"]
    for version in ("99", "x", "-1"):
        assert (await world.client.get(f"/api/runs/{run_id}/policy/{version}.onnx")).status_code == 404


async def test_the_versions_of_a_run_are_listed_live_and_past(world: GatewayWorld):
    async with world.fleet().joined():
        run_id = (await world.start(total_steps=64_000)).run_id
        await until_update(world, 2)
        answer = await world.client.get(f"/api/runs/{run_id}/versions")
        live = answer.json()["versions"]
        await world.service.stop(run_id)
    assert [version["policy_version"] for version in live[:3]] == [0, 1, 2]
    assert [version["newest"] for version in live] == [*[False] * (len(live) - 1), True]
    assert not any(version["exported"] for version in live)
    view = (await world.client.get(f"/api/runs/{run_id}/versions")).json()
    assert view["run_id"] == run_id
    past = view["versions"]
    assert [version["agent_steps"] for version in past[:3]] == [0, 64, 128]
    assert len(past) >= len(live) and [version["exported"] for version in past][-2:] == [False, True]
    assert (await world.client.get("/api/runs/gone/versions")).status_code == 404
    async with world.anonymous() as anonymous:
        assert (await anonymous.get(f"/api/runs/{run_id}/versions")).status_code == 401
    async with world.anonymous(authorization=f"Bearer {world.guard.issue('viewer')}") as viewer:
        assert (await viewer.get(f"/api/runs/{run_id}/versions")).status_code == 200


async def test_a_version_whose_checkpoint_is_damaged_is_not_found(world: GatewayWorld):
    # The fake learner's checkpoints hold no tensors.
    run_id = await world.trained()
    answer = await world.client.get(f"/api/runs/{run_id}/policy/1.onnx")
    assert answer.status_code == 404
    assert answer.json()["error"].startswith(f"version 1 of run {run_id} cannot be played: ")


async def test_each_of_several_policies_is_asked_for_by_name(world: GatewayWorld):
    directory = RunDirectory.create(world.runs_dir, "duo")
    settings = RunSettings.from_mapping({"collection": {"seats": ["left", "right"]}})
    directory.write_config("counting", settings.model_dump(mode="json"))
    (directory.export / "policy.json").write_text(json.dumps({"policy_version": 4}))
    (directory.export / "left.onnx").write_bytes(b"onnx left")
    directory.close()
    url = "/api/runs/duo/policy"
    # Until all are there, there is no export.
    assert (await world.client.get(f"{url}/4.onnx", params={"policy": "left"})).status_code == 404
    (directory.export / "right.onnx").write_bytes(b"onnx right")
    for name in ("left", "right"):
        onnx = await world.client.get(f"{url}/4.onnx", params={"policy": name})
        assert onnx.content == f"onnx {name}".encode() and "immutable" in onnx.headers["cache-control"]
    latest = await world.client.get(f"{url}/latest.onnx", params={"policy": "right"})
    assert latest.headers["location"] == "4.onnx?policy=right"
    for query in ({}, {"policy": "up"}):
        answer = await world.client.get(f"{url}/4.onnx", params=query)
        assert answer.status_code == 404
        assert "left, right" in answer.json()["error"]


async def test_links_in_a_run_folder_are_not_followed(world: GatewayWorld, tmp_path: Path):
    run_id = await world.trained(64)
    secret = tmp_path / "secret"
    secret.write_text("secret of this machine")
    for name in ("policy.onnx", "policy.json"):
        model = world.runs_dir / run_id / "export" / name
        version = (await world.client.get(f"/api/runs/{run_id}")).json()["newest_model"]
        kept = model.read_bytes()
        model.unlink()
        model.symlink_to(secret)
        for path in (f"/policy/{version}.onnx", "/policy.json"):
            answer = await world.client.get(f"/api/runs/{run_id}{path}")
            assert "secret" not in answer.text.replace(str(secret), "")
            # The document beside a linked model is whole; anything that needs the link is a damaged run.
            is_whole = (name, path) == ("policy.onnx", "/policy.json")
            assert answer.status_code == (200 if is_whole else 422)
        model.unlink()
        model.write_bytes(kept)
