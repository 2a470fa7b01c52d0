"""Models of versions that a run gives out."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from attract.errors import UnknownRunError
from attract.policy.export import OnnxPatcher
from attract.run import effects, versions
from attract.run import models as module
from attract.run.life import PauseReason
from attract.run.models import RunModels
from attract.run.policy_cache import KEPT, PolicyCache
from attract.runs.archive import RunArchive
from attract.runs.directory import RunDirectory
from attract.runs.exports import model_file
from attract.runs.metrics import MetricsStore, UpdateRow
from attract.schema.frames import decode_to_browser
from attract.schema.learner import Dropped
from attract.schema.messages import Policy
from attract.settings.run import RunSettings
from driven_core import small_config
from gateway_world import finished, gateway, until_update
from policies import create_policy, randomise, save_version
from run_simulation import RunSimulation

RETURNS = {0: None, 3: 1.5, 9: 4.0, 12: 3.5}


def past_run(runs_dir: Path, *seats: str, exported: int | None = 12) -> dict[tuple[str, int], bytes]:
    """A run that is over, with versions 0, 3, 9 and 12; the models that its learner had made of them."""
    directory = RunDirectory.create(runs_dir, "a")
    settings = RunSettings.from_mapping({"collection": {"seats": list(seats)}})
    directory.write_config("counting", settings.model_dump(mode="json"))
    ids, wanted = seats or ("main",), dict[tuple[str, int], bytes]()
    patcher = OnnxPatcher(create_policy())
    store = MetricsStore(directory.metrics_path)
    for version, mean in RETURNS.items():
        parts = {}
        for place, policy_id in enumerate(ids):
            policy = create_policy()
            randomise(policy, 10 * version + place)
            parts[policy_id] = policy.state_dict()
            wanted[policy_id, version] = patcher.patched(policy.state_dict())
        save_version(directory.checkpoints, version, parts)
        values = {} if mean is None else {"rollout/ep_rew_mean": mean}
        sha256, folder = "0" * 64, f"checkpoints/{version}"
        row = UpdateRow(version, 100 * version, 100 * version, 2.0 * version, version, folder, sha256, values)
        store.commit_update(row, {})
    store.add_metrics(9, {"eval/mean_reward": 5.0, "eval/std_reward": 0.5, "eval_sampled/mean_reward": 3.0})
    store.close()
    directory.mark("latest", 12)
    directory.mark("best", 9)
    if exported is not None:
        (directory.export / "policy.json").write_text(json.dumps({"policy_version": exported}))
        for policy_id in ids:
            model = directory.export / model_file(policy_id, ids)
            model.write_bytes(wanted[policy_id, exported])
    directory.close()
    return wanted


def models_of(runs_dir: Path) -> RunModels:
    return RunModels(RunArchive(runs_dir), lambda: None)


async def test_an_active_run_gives_its_newest_versions_and_a_past_one_what_it_exported(tmp_path: Path):
    async with gateway(tmp_path) as world, world.fleet().joined():
        models = world.service.models
        run_id = (await world.start()).run_id
        await until_update(world, 2)
        assert (world.runs_dir / run_id / "model.onnx").read_bytes() == b"onnx 0"
        newest = models.latest_version(run_id)
        assert newest >= 2 and await models.model(run_id, newest) == b"onnx %d" % newest
        await world.service.stop(run_id)
        result = await finished(world)
        version = models.latest_version(run_id)
        assert version == result.policy_version
        assert await models.model(run_id, version) == b"onnx %d" % version
        assert models.policy_ids(run_id) == ("main",)
        assert b"policy_version" in models.document(run_id)
        with pytest.raises(UnknownRunError, match=r"version 999 of run .* is not there any more"):
            await models.model(run_id, 999)
        with pytest.raises(UnknownRunError, match="no policy scout: name one of main"):
            await models.model(run_id, version, "scout")
        for ask in (models.policy_ids, models.latest_version, models.document, models.versions):
            with pytest.raises(UnknownRunError, match="gone"):
                ask("gone")
        with pytest.raises(UnknownRunError, match="gone"):
            await models.model("gone", 0)


def test_versions_are_listed_with_the_return_then_their_evaluations_and_marks(tmp_path: Path):
    past_run(tmp_path)
    view = models_of(tmp_path).versions("a")
    assert [version.policy_version for version in view.versions] == [0, 3, 9, 12]
    assert [version.return_mean for version in view.versions] == [None, 1.5, 4.0, 3.5]
    assert [version.agent_steps for version in view.versions] == [0, 300, 900, 1200]
    assert [version.update for version in view.versions] == [0, 3, 9, 12]
    assert [version.seconds for version in view.versions] == [0, 6, 18, 24]
    for mark, marked in (("best", 9), ("exported", 12), ("newest", 12)):
        assert [version.policy_version for version in view.versions if getattr(version, mark)] == [marked]
    evaluated = [version for version in view.versions if version.evaluations]
    assert [version.policy_version for version in evaluated] == [9]
    assert [(said.deterministic, said.return_mean, said.return_std) for said in evaluated[0].evaluations] == [
        (True, 5.0, 0.5),
        (False, 3.0, None),
    ]


def test_a_version_that_was_never_announced_is_not_listed(tmp_path: Path):
    past_run(tmp_path)
    directory = RunDirectory(tmp_path / "a", None)
    (directory.checkpoints / "13").mkdir()
    (directory.checkpoints / ".writing-14").mkdir()
    directory.mark("latest", 9)
    view = models_of(tmp_path).versions("a")
    assert [version.policy_version for version in view.versions] == [0, 3, 9]
    assert view.versions[-1].newest


def test_a_run_without_metrics_or_versions_has_an_empty_list(tmp_path: Path):
    directory = RunDirectory.create(tmp_path, "a")
    directory.write_config("counting", {})
    directory.close()
    assert models_of(tmp_path).versions("a").versions == []


async def test_the_model_of_any_version_is_made_of_its_checkpoint(tmp_path: Path):
    wanted = past_run(tmp_path)
    models = models_of(tmp_path)
    for version in RETURNS:
        assert await models.model("a", version) == wanted["main", version]


async def test_a_version_that_is_not_announced_yet_is_not_there(tmp_path: Path):
    past_run(tmp_path, exported=9)
    RunDirectory(tmp_path / "a", None).mark("latest", 9)
    with pytest.raises(UnknownRunError, match="version 12 of run a is not there"):
        await models_of(tmp_path).model("a", 12)


async def test_each_of_several_policies_is_made(tmp_path: Path):
    wanted = past_run(tmp_path, "left", "right")
    models = models_of(tmp_path)
    for policy_id in ("left", "right"):
        assert await models.model("a", 3, policy_id) == wanted[policy_id, 3]
    with pytest.raises(UnknownRunError, match="left, right"):
        await models.model("a", 3)


@pytest.mark.parametrize("damage", ["gone", "cut", "foreign"])
async def test_a_version_whose_checkpoint_is_gone_or_damaged_is_said_in_one_sentence(
    tmp_path: Path, damage: str
):
    past_run(tmp_path)
    folder = tmp_path / "a" / "checkpoints" / "3"
    if damage == "gone":
        shutil.rmtree(folder)
    elif damage == "cut":
        (folder / "policy.safetensors").write_bytes(b"1")
    else:
        (tmp_path / "a" / "model.onnx").write_bytes(b"no model")
    with pytest.raises(UnknownRunError, match="version 3 of run a") as refused:
        await models_of(tmp_path).model("a", 3)
    assert "\n" not in str(refused.value) and str(tmp_path) not in str(refused.value)


@pytest.mark.parametrize("seats", [(), ("left", "right")])
async def test_a_run_that_was_killed_before_its_export_has_the_model_that_it_kept(
    tmp_path: Path, seats: tuple[str, ...]
):
    wanted = past_run(tmp_path, *seats, exported=None)
    directory = RunDirectory(tmp_path / "a", None)
    directory.keep_model(next(iter(wanted.values())))
    directory.keep_model(b"a second one changes nothing")
    models = models_of(tmp_path)
    for policy_id, version in wanted:
        assert await models.model("a", version, policy_id) == wanted[policy_id, version]


async def test_a_run_without_any_model_says_what_makes_one(tmp_path: Path):
    past_run(tmp_path, exported=None)
    with pytest.raises(UnknownRunError, match="attract export a --out DIR --version 3"):
        await models_of(tmp_path).model("a", 3)


async def test_a_model_is_kept_until_others_need_its_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wanted = past_run(tmp_path)
    made: list[str] = []

    def note(folder: Path, policy_id: str, template: bytes) -> bytes:
        made.append(folder.name)
        return version_model(folder, policy_id, template)

    version_model = module.version_model
    monkeypatch.setattr(module, "version_model", note)
    monkeypatch.setattr(module, "MAX_CACHED_BYTES", 2 * len(wanted["main", 0]))
    models = models_of(tmp_path)
    for version in (0, 3, 0, 9, 0, 3):
        await models.model("a", version)
    # There is room for two: 9 takes the place of 3, since 0 was asked for later.
    assert made == ["0", "3", "9", "3"]


async def test_a_version_made_anew_after_a_rollback_is_another(tmp_path: Path):
    past_run(tmp_path)
    models, folder = models_of(tmp_path), tmp_path / "a" / "checkpoints"
    old = await models.model("a", 3)
    shutil.rmtree(folder / "3")
    policy = create_policy()
    randomise(policy, 77)
    save_version(folder, 3, {"main": policy.state_dict()})
    new = await models.model("a", 3)
    assert new != old and new == OnnxPatcher(policy).patched(policy.state_dict())


async def test_other_work_goes_on_while_a_model_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    past_run(tmp_path)
    loop, others = asyncio.get_running_loop(), asyncio.Event()

    def slow(folder: Path, policy_id: str, template: bytes) -> bytes:
        # Needs the event loop: on it this would never end.
        asyncio.run_coroutine_threadsafe(others.wait(), loop).result(10)
        return b"made"

    monkeypatch.setattr(module, "version_model", slow)
    asking = asyncio.create_task(models_of(tmp_path).model("a", 3))
    loop.call_later(0.05, others.set)
    assert await asking == b"made"


def test_a_version_is_encoded_once_and_its_bytes_are_the_message():
    cache = PolicyCache("r")
    cache.keep(3, b"onnx 3")
    frame = cache.frame("main", 3)
    assert cache.frame("main", 3) is frame
    assert decode_to_browser(frame) == Policy(run_id="r", policy_version=3, onnx=b"onnx 3")
    assert cache.onnx(3) == b"onnx 3"


def test_only_the_newest_are_kept_per_policy():
    cache = PolicyCache("r")
    cache.keep(0, b"other", policy_id="other")
    for version in range(KEPT + 3):
        cache.keep(version, b"onnx")
    assert cache.onnx(2) is None
    assert cache.onnx(3) == b"onnx"
    assert cache.onnx(0, policy_id="other") == b"other"
    with pytest.raises(KeyError):
        cache.frame("main", 2)


def test_P8_the_third_undone_update_in_a_row_pauses_and_the_second_does_not() -> None:
    core = RunSimulation(small_config()).run_core
    core.handle(versions.dropped, 1.0, Dropped(batch_id=1, reason="nan", consecutive=2))
    assert PauseReason.DROPPED_UPDATES not in core.progress.life.reasons
    core.handle(versions.dropped, 2.0, Dropped(batch_id=1, reason="nan", consecutive=3))
    assert PauseReason.DROPPED_UPDATES in core.progress.life.reasons
    assert "3 updates in a row were undone" in (core.progress.life.error or "")


def test_D1_nothing_is_announced_of_a_row_that_was_not_asked_for() -> None:
    core = RunSimulation(small_config()).run_core
    assert effects.PublishRow() not in core.handle(versions.row_committed, 1.0)
