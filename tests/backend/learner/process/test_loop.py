import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from attract.errors import CheckpointError
from attract.learner.checkpoints.checkpoint import load_checkpoint, versions_in
from attract.schema.learner import Counters, Dropped, Export, Exported, Published, Ready, Warmup
from attract.schema.spaces import (
    ActionSpace,
    BoxSpace,
    DictSpace,
    DiscreteSpace,
    MixedSpace,
    MultiBinarySpace,
    MultiDiscreteSpace,
    ObservationSpace,
)
from attract.settings.run import PolicySettings
from batches import PlayedFleet
from learner_world import LearnerHere, SignsFleet, begin_for, train_message
from policies import describe

HORIZON, SLOTS = 16, 8


@pytest.fixture
def fleet(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store.bin", num_slots=SLOTS, horizon=HORIZON, seed=11)
    yield fleet
    fleet.close()


def warmed_up(here: LearnerHere, fleet: SignsFleet) -> Published:
    assert isinstance(here.ready, Ready) and here.ready.needs_warmup
    published = here.ask(Warmup(rows=fleet.play(None, 0)))
    assert isinstance(published, Published)
    return published


def trained(
    here: LearnerHere, fleet: SignsFleet, last: Published, num_updates: int, **play
) -> list[Published]:
    """Updates played by the newest version each, as in `sync`."""
    published: list[Published] = []
    for _ in range(num_updates):
        rows = fleet.play(last.onnx, last.policy_version, **play)
        last = here.ask(train_message(last.policy_version, rows, HORIZON))
        assert isinstance(last, Published), last
        published.append(last)
    return published


def test_D1_an_update_is_said_to_be_done_before_its_version_is_published(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        published = trained(here, fleet, warmed_up(here, fleet), 2)
        assert [version.policy_version for version in here.trained] == [1, 2], (
            "each before it; none of the warm-up"
        )
        for early, late in zip(here.trained, published, strict=True):
            assert (early.batch_id, early.valid_steps) == (late.batch_id, late.valid_steps)
            known_late = {"time/checkpoint_seconds": late.metrics["time/checkpoint_seconds"]}
            assert early.metrics | known_late == late.metrics


def test_a_run_from_warm_up_to_a_better_policy(fleet: SignsFleet, tmp_path: Path):
    begin = begin_for(fleet, tmp_path / "run", ppo={"n_epochs": 4, "learning_rate": 0.01})
    with LearnerHere(begin) as here:
        assert here.ready.policy_version == 0
        # Two trunks 3 x 8 + 8, two heads 8 x 2 + 2 and 8 + 1.
        assert here.ready.num_parameters == 2 * 32 + 18 + 9
        assert here.ready.device == "cpu"
        first = warmed_up(here, fleet)
        assert first.policy_version == 0 and first.batch_id is None
        assert first.valid_steps == HORIZON * SLOTS
        published = trained(here, fleet, first, 40)
        last = published[-1]
        rows = fleet.play(last.onnx, 40)
        late = fleet.store["reward"][:, rows].mean()
    assert [version.policy_version for version in published] == list(range(1, 41))
    assert [version.batch_id for version in published] == list(range(40))
    assert all(version.rejected == [] for version in published)
    # Random play is right half the time.
    assert late > 0.8
    for name in (
        "train/policy_gradient_loss",
        "train/value_loss",
        "train/entropy_loss",
        "train/approx_kl",
        "train/clip_fraction",
        "train/explained_variance",
        "train/learning_rate",
        "train/clip_range",
        "train/policy_lag_mean",
        "train/policy_lag_max",
        "rollout/episode_desynchronisation",
        "time/update_seconds",
        "time/load_seconds",
        "time/idle_seconds",
        "time/checkpoint_seconds",
    ):
        assert name in last.metrics
    assert last.metrics["train/policy_lag_mean"] == 0.0


def test_P7_statistics_come_from_valid_steps_and_take_effect_with_the_next_version(
    fleet: SignsFleet, tmp_path: Path
):
    def observations(rows: list[int]) -> np.ndarray:
        valid = fleet.store["valid"][:, rows]
        return fleet.store["obs.obs"][:, rows][valid].astype(np.float64)

    run_dir = tmp_path / "run"
    with LearnerHere(begin_for(fleet, run_dir)) as here:
        rows = fleet.play(None, 0, invalid=0.5)
        seen = observations(rows)
        first = here.ask(Warmup(rows=rows))
        assert first.valid_steps == len(seen) < HORIZON * SLOTS
        zero = load_checkpoint(run_dir / "checkpoints" / "0").policy
        np.testing.assert_allclose(zero["normaliser.mean"], seen.mean(0), rtol=1e-6)
        np.testing.assert_allclose(zero["normaliser.inv_std"], 1 / seen.std(0), rtol=1e-6)

        rows = fleet.play(first.onnx, 0, invalid=0.5)
        second = here.ask(train_message(0, rows, HORIZON))
        seen = np.concatenate([seen, observations(rows)])
        one = load_checkpoint(run_dir / "checkpoints" / "1").policy
        np.testing.assert_allclose(one["normaliser.mean"], seen.mean(0), rtol=1e-6)
        np.testing.assert_allclose(one["normaliser.inv_std"], 1 / seen.std(0), rtol=1e-6)
        assert one["observation_statistics.count"] == len(seen)
        # C7 holds for the version before: it was judged with the statistics it had played with.
        assert second.rejected == []


def test_P7_without_normalisation_version_0_is_durable_and_ready_at_once(fleet: SignsFleet, tmp_path: Path):
    run_dir = tmp_path / "run"
    with LearnerHere(begin_for(fleet, run_dir, ppo={"normalize_observations": False})) as here:
        assert not here.ready.needs_warmup
        saved = load_checkpoint(run_dir / "checkpoints" / "0")
        assert saved.document["weights_sha256"] == here.ready.weights_sha256
        rows = fleet.play(here.ready.onnx, 0)
        assert isinstance(here.ask(train_message(0, rows, HORIZON)), Published)


def test_P7_a_warm_up_of_no_rows_plays_version_0_unnormalised(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        first = here.ask(Warmup(rows=[]))
        assert first.policy_version == 0 and first.valid_steps == 0
        zero = load_checkpoint(tmp_path / "run" / "checkpoints" / "0").policy
        assert zero["normaliser.mean"].tolist() == [0, 0, 0]
        assert zero["normaliser.inv_std"].tolist() == [1, 1, 1]
        trained(here, fleet, first, 1)


def test_C8_the_same_seed_and_rows_give_the_same_bits_after_every_update(tmp_path: Path):
    def hashes(name: str, seed: int) -> list[str]:
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=2)
        with LearnerHere(begin_for(fleet, tmp_path / name, seed=seed)) as here:
            first = warmed_up(here, fleet)
            published = trained(here, fleet, first, 6, invalid=0.5)
        fleet.close()
        return [version.weights_sha256 for version in (first, *published)]

    one, again, other = hashes("one", 1), hashes("again", 1), hashes("other", 2)
    assert one == again
    assert not set(one) & set(other)
    assert len(set(one)) == 7


def test_C7_a_row_that_lies_is_left_out_and_named(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        first = warmed_up(here, fleet)
        rows = fleet.play(first.onnx, 0)
        fleet.store["log_prob"][3, rows[2]] += 0.5
        fleet.store["value"][4, rows[5]] += 0.5  # another worker's, not asked to be verified: trusted
        fleet.store["worker_id"][rows[5]] = 1
        message = train_message(0, rows, HORIZON, verify_rows=[rows[1], rows[2]])
        published = here.ask(message)
        assert [rejection.row for rejection in published.rejected] == [rows[2]]
        assert published.rejected[0].largest_difference == pytest.approx(0.5, rel=0.01)
        assert published.valid_steps == (SLOTS - 1) * HORIZON
        assert published.metrics["train/verify_refused_share"] == 1 / SLOTS
        assert published.metrics["train/verify_refused_difference"] == pytest.approx(0.5, rel=0.01)


def test_T4_steps_of_a_row_left_out_are_collected_but_no_agent_steps(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        first = warmed_up(here, fleet)
        rows = fleet.play(first.onnx, 0)
        fleet.store["log_prob"][3, rows[2]] += 0.5
        here.ask(train_message(0, rows, HORIZON, verify_rows=[rows[2]]))
    counters = load_checkpoint(tmp_path / "run" / "checkpoints" / "1").document["counters"]
    assert counters["agent_steps"] == (SLOTS - 1) * HORIZON
    assert counters["collected_steps"] == SLOTS * HORIZON


def test_C7_all_rows_are_verified_and_trained_on_recomputed_numbers(tmp_path: Path):
    def weights(name: str, lie: float) -> tuple[str, list[int]]:
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=2)
        with LearnerHere(begin_for(fleet, tmp_path / name)) as here:
            first = warmed_up(here, fleet)
            rows = fleet.play(first.onnx, 0)
            fleet.store["log_prob"][:, rows] += lie
            published = here.ask(train_message(0, rows, HORIZON, verify="all", verify_rows=[]))
        fleet.close()
        assert isinstance(published, Published)
        return published.weights_sha256, [rejection.row for rejection in published.rejected]

    # A lie below the tolerance changes nothing: the learner trains on its own numbers.
    assert weights("honest", 0.0) == weights("sly", 5e-5)


def test_C7_a_segment_of_a_version_no_longer_known_is_left_out(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run", collection={"max_policy_lag": 1})) as here:
        versions = [first := warmed_up(here, fleet)]
        versions += trained(here, fleet, first, 2)
        # Version 2 is current. Slot 0 played version 1 (lag 1, still known), slot 1 version 0 (lag 2).
        rows = fleet.play(versions[1].onnx, 1)
        old = fleet.play(versions[0].onnx, 0)
        message = train_message(2, [rows[0], old[1]], HORIZON, verify_rows=[rows[0], old[1]])
        published = here.ask(message)
        assert [rejection.row for rejection in published.rejected] == [old[1]]
        assert published.rejected[0].largest_difference == float("inf")
        assert published.metrics["train/policy_lag_mean"] == 1.0


def test_P8_a_poisoned_batch_is_dropped_and_nothing_of_it_remains(tmp_path: Path):
    def hashes(name: str, poison: bool) -> list[str]:
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=2)
        with LearnerHere(begin_for(fleet, tmp_path / name)) as here:
            first = warmed_up(here, fleet)
            last = trained(here, fleet, first, 1)[-1]
            rows = fleet.play(last.onnx, 1)
            if poison:
                kept = fleet.store["reward"][0, rows[0]]
                for consecutive in (1, 2):
                    fleet.store["reward"][0, rows[0]] = np.inf
                    dropped = here.ask(train_message(1, rows, HORIZON))
                    assert isinstance(dropped, Dropped)
                    assert (dropped.batch_id, dropped.consecutive) == (1, consecutive)
                    assert "P8" in dropped.reason
                fleet.store["reward"][0, rows[0]] = kept
            published = [last, here.ask(train_message(1, rows, HORIZON))]
            published += trained(here, fleet, published[-1], 1)
            if poison:
                rows = fleet.play(published[-1].onnx, 3)
                fleet.store["reward"][0, rows[0]] = np.nan
                # A batch in between was good: the count starts again.
                assert here.ask(train_message(9, rows, HORIZON)).consecutive == 1
            assert sorted(versions_in(tmp_path / name / "checkpoints")) == [0, 1, 2, 3]
        fleet.close()
        return [version.weights_sha256 for version in published]

    assert hashes("clean", False) == hashes("poisoned", True)


def test_S5_a_batch_without_a_valid_step_is_dropped(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        first = warmed_up(here, fleet)
        rows = fleet.play(first.onnx, 0)
        fleet.store["valid"][:, rows] = False
        dropped = here.ask(train_message(0, rows, HORIZON))
        assert isinstance(dropped, Dropped) and "valid step" in dropped.reason


def test_P10_schedules_follow_agent_steps_and_go_on_at_resume(fleet: SignsFleet, tmp_path: Path):
    changes = {
        "ppo": {
            "learning_rate": 0.01,
            "learning_rate_schedule": "linear",
            "schedule_steps": 4 * HORIZON * SLOTS,
        },
    }
    with LearnerHere(begin_for(fleet, tmp_path / "run", **changes)) as here:
        first = warmed_up(here, fleet)
        rates = [version.metrics["train/learning_rate"] for version in trained(here, fleet, first, 2)]
    with LearnerHere(begin_for(fleet, tmp_path / "run", resume=True, **changes)) as here:
        published = trained(here, fleet, here.ready, 2)
        rates += [version.metrics["train/learning_rate"] for version in published]
    # A quarter of the run per update, each at its start: 1, 3/4, 1/2, 1/4 of 0.01.
    assert rates == pytest.approx([0.01, 0.0075, 0.005, 0.0025])


def test_D2_a_resumed_run_makes_the_same_updates_as_an_uninterrupted_one(tmp_path: Path):
    def run(name: str, parts: list[int]) -> list[str]:
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=2)
        hashes: list[str] = []
        last = None
        for number, updates in enumerate(parts):
            begin = begin_for(fleet, tmp_path / name, resume=number > 0, collection={"max_policy_lag": 1})
            with LearnerHere(begin) as here:
                if last is None:
                    last = warmed_up(here, fleet)
                else:
                    assert not here.ready.needs_warmup
                    assert here.ready.policy_version == last.policy_version
                    assert here.ready.weights_sha256 == last.weights_sha256
                    assert here.ready.onnx == last.onnx
                    assert here.ready.counters.updates == last.policy_version
                published = trained(here, fleet, last, updates, invalid=0.5)
                hashes += [version.weights_sha256 for version in published]
                last = published[-1]
        fleet.close()
        return hashes

    assert run("whole", [6]) == run("cut", [2, 3, 1])
    for version in range(7):
        for file in ("policy.safetensors", "optimizer.safetensors"):
            whole, cut = (
                (tmp_path / name / "checkpoints" / str(version) / file).read_bytes()
                for name in ("whole", "cut")
            )
            assert whole == cut


def test_D2_segments_of_the_version_before_still_count_after_a_resume(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        first = warmed_up(here, fleet)
        trained(here, fleet, first, 1)
    with LearnerHere(begin_for(fleet, tmp_path / "run", resume=True)) as here:
        rows = fleet.play(first.onnx, 0)
        published = here.ask(train_message(1, rows, HORIZON, verify_rows=rows))
        assert published.rejected == []


def test_D2_a_broken_version_before_the_newest_costs_only_its_late_segments(
    fleet: SignsFleet, tmp_path: Path
):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        first = trained(here, fleet, warmed_up(here, fleet), 1)[-1]
        trained(here, fleet, first, 1)
    (tmp_path / "run" / "checkpoints" / "1" / "policy.safetensors").unlink()
    with LearnerHere(begin_for(fleet, tmp_path / "run", resume=True)) as here:
        assert here.ready.policy_version == 2
        assert len(here.ready.notes) == 1 and "policy.safetensors" in here.ready.notes[0]
        rows = fleet.play(first.onnx, 1)
        published = here.ask(train_message(2, rows, HORIZON))
        assert [rejection.row for rejection in published.rejected] == rows[:1]


def test_D2_resume_passes_over_a_broken_checkpoint_and_says_so(fleet: SignsFleet, tmp_path: Path):
    checkpoints = tmp_path / "run" / "checkpoints"
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        published = trained(here, fleet, warmed_up(here, fleet), 3)
    (checkpoints / "3" / "optimizer.safetensors").write_bytes(b"")
    with LearnerHere(begin_for(fleet, tmp_path / "run", resume=True)) as here:
        assert here.ready.policy_version == 2
        assert here.ready.weights_sha256 == published[1].weights_sha256
        assert len(here.ready.notes) == 1 and "optimizer.safetensors" in here.ready.notes[0]
        again = trained(here, fleet, here.ready, 1)[-1]
        assert again.policy_version == 3
    assert (checkpoints / "3.broken-0").is_dir()
    assert load_checkpoint(checkpoints / "3").document["weights_sha256"] == again.weights_sha256


def test_D2_resuming_a_run_that_never_had_a_version_starts_it(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run", resume=True)) as here:
        assert here.ready.needs_warmup and here.ready.policy_version == 0


def test_D2_resuming_is_refused_when_no_checkpoint_is_whole(fleet: SignsFleet, tmp_path: Path):
    (tmp_path / "run" / "checkpoints" / "0").mkdir(parents=True)
    with pytest.raises(CheckpointError, match="none of its versions is intact"):
        LearnerHere(begin_for(fleet, tmp_path / "run", resume=True))


def test_D3_a_run_with_checkpoints_is_never_started_afresh(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        warmed_up(here, fleet)
    with pytest.raises(CheckpointError, match="not to be resumed"):
        LearnerHere(begin_for(fleet, tmp_path / "run"))


def test_initialize_from_starts_a_new_run_with_the_weights_and_normaliser_of_another(
    fleet: SignsFleet, tmp_path: Path
):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        source = trained(here, fleet, warmed_up(here, fleet), 2)[-1]
    begin = begin_for(
        fleet, tmp_path / "other", initialize_from=str(tmp_path / "run" / "checkpoints" / "2"), seed=123
    )
    with LearnerHere(begin) as here:
        assert not here.ready.needs_warmup
        assert here.ready.policy_version == 0 and here.ready.counters == Counters()
        assert here.ready.weights_sha256 == source.weights_sha256
        assert len(load_checkpoint(tmp_path / "other" / "checkpoints" / "0").optimizer) == 0
        trained(here, fleet, here.ready, 1)


def test_initialize_from_a_run_of_another_shape_is_refused_by_name(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        warmed_up(here, fleet)
    source = str(tmp_path / "run" / "checkpoints" / "0")
    begin = begin_for(fleet, tmp_path / "other", initialize_from=source, policy={"hidden_sizes": [9]})
    with pytest.raises(CheckpointError, match=r"trunk\.0\.weight: this network has \[9, 3\]"):
        LearnerHere(begin)


def test_C9_an_export_of_any_version_kept_agrees_with_the_version_published(
    fleet: SignsFleet, tmp_path: Path
):
    out = tmp_path / "export"
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        published = trained(here, fleet, warmed_up(here, fleet), 2)
        newest = here.ask(Export(out_dir=str(out), summary={"return": 0.5}))
        assert newest == Exported(policy_version=2, out_dir=str(out))
        earlier = here.ask(Export(out_dir=str(tmp_path / "earlier"), policy_version=1))
        assert earlier == Exported(policy_version=1, out_dir=str(tmp_path / "earlier"))
    observations = np.random.default_rng(0).normal(1, 2, (32, 3)).astype(np.float32)
    for folder, version in ((out, published[1]), (tmp_path / "earlier", published[0])):
        session = onnxruntime.InferenceSession(folder / "policy.onnx")
        action, logits, value = session.run(["action", "logits", "value"], {"obs": observations})
        published = onnxruntime.InferenceSession(version.onnx["main"])
        played = published.run(["logits", "value"], {"obs": observations})
        np.testing.assert_array_equal(logits, played[0])
        np.testing.assert_array_equal(value, played[1])
        np.testing.assert_array_equal(action, logits.argmax(1))
    described = json.loads((out / "policy.json").read_text())
    assert described["policy_version"] == 2 and described["training"] == {"return": 0.5}


def test_an_export_that_fails_says_why_and_training_goes_on(fleet: SignsFleet, tmp_path: Path):
    (tmp_path / "taken").write_text("a file")
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        first = warmed_up(here, fleet)
        gone = here.ask(Export(out_dir=str(tmp_path / "out"), policy_version=7))
        assert isinstance(gone, Exported) and "there is no such folder" in (gone.error or "")
        assert not (tmp_path / "out").exists()
        blocked = here.ask(Export(out_dir=str(tmp_path / "taken")))
        assert isinstance(blocked, Exported) and "exists" in (blocked.error or "")
        trained(here, fleet, first, 1)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_D2_a_run_on_cuda_trains_verifies_resumes_and_exports(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run", device="cuda")) as here:
        assert here.ready.device == "cuda"
        published = trained(here, fleet, warmed_up(here, fleet), 3)
        assert all(version.rejected == [] for version in published)
    with LearnerHere(begin_for(fleet, tmp_path / "run", device="auto", resume=True)) as here:
        assert here.ready.weights_sha256 == published[-1].weights_sha256
        trained(here, fleet, here.ready, 1)
        assert here.ask(Export(out_dir=str(tmp_path / "out"))).error is None


def test_messages_out_of_turn_are_refused(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "run")) as here:
        with pytest.raises(RuntimeError, match="expected warmup before training"):
            here.ask(train_message(0, [0], HORIZON))
        warmed_up(here, fleet)
        with pytest.raises(RuntimeError, match="expected warmup only after needs_warmup"):
            here.ask(Warmup(rows=[]))


VIEW = BoxSpace(shape=[6, 5, 3], dtype="uint8")
VIEWS = DictSpace(spaces={"view": VIEW, "speed": BoxSpace(shape=[2]), "item": DiscreteSpace(n=4)})
AIM = BoxSpace(shape=[2], low=-2, high=[1, 5])
KINDS: dict[str, tuple[ObservationSpace, ActionSpace, bool, dict[str, object]]] = {
    "continuous": (BoxSpace(shape=[3]), AIM, False, {}),
    "bits": (BoxSpace(shape=[3]), MultiBinarySpace(n=3), False, {}),
    "pixels": (BoxSpace(shape=[9, 9, 3], dtype="uint8"), DiscreteSpace(n=3), False, {"cnn": "impala"}),
    "masked lstm": (BoxSpace(shape=[3]), MultiDiscreteSpace(nvec=[2, 4]), True, {"recurrent": "lstm"}),
    "mixed": (BoxSpace(shape=[3]), MixedSpace(spaces={"aim": AIM, "b": DiscreteSpace(n=4)}), True, {}),
    "dictionary, continuous gru": (VIEWS, BoxSpace(shape=[2], low=-1, high=1), False, {"recurrent": "gru"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_C7_C9_every_kind_of_policy_trains_is_verified_resumed_and_exported(kind: str, tmp_path: Path):
    observation, action, action_mask, policy = KINDS[kind]
    game = describe(observation, action, action_mask=action_mask)
    settings = PolicySettings.from_mapping({"hidden_sizes": [8], "recurrent_size": 5, **policy})
    ppo = {"rollout_steps": 6, "minibatch_unit": "segment"} if settings.state_size else {}
    with PlayedFleet(tmp_path / "store.bin", game, settings) as fleet:
        begin = begin_for(fleet, tmp_path / "run", policy=settings.model_dump(), ppo=ppo)
        with LearnerHere(begin) as here:
            newest = here.ready
            if here.ready.needs_warmup:
                newest = here.ask(Warmup(rows=fleet.play(None, 0)))
            for update in range(2):
                played = fleet.play(here.learner._state.policies["main"].policy, newest.policy_version)
                message = train_message(update, played, fleet.horizon, verify="all")
                newest, before = here.ask(message), newest
                assert isinstance(newest, Published) and newest.rejected == [], newest
                assert newest.weights_sha256 != before.weights_sha256
            assert here.ask(Export(out_dir=str(tmp_path / "out"))).error is None
        with LearnerHere(begin.model_copy(update={"resume": True})) as again:
            assert again.ready.weights_sha256 == newest.weights_sha256
            assert again.ready.onnx == newest.onnx
    described = json.loads((tmp_path / "out" / "policy.json").read_text())
    session = onnxruntime.InferenceSession(tmp_path / "out" / "policy.onnx")
    assert {node.name for node in session.get_inputs()} == set(described["inputs"])
    assert {output.name for output in session.get_outputs()} == set(described["outputs"])
