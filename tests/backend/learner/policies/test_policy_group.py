import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from attract.errors import CheckpointError
from attract.learner.checkpoints.checkpoint import load_checkpoint
from attract.schema.learner import Begin, Dropped, Export, Published, Train, Warmup
from learner_world import LearnerHere, SignsFleet, begin_for, train_message

HORIZON, SLOTS = 16, 8
SEATS = ["left", "right"]


@pytest.fixture
def fleet(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store.bin", num_slots=SLOTS, horizon=HORIZON, seed=11)
    yield fleet
    fleet.close()


def begin_pair(fleet: SignsFleet, run_dir: Path, **changes) -> Begin:
    return begin_for(fleet, run_dir, collection={"seats": SEATS}, **changes)


def shares(rows: list[int]) -> dict[str, list[int]]:
    """Slots alternate between the seats."""
    return {"left": rows[::2], "right": rows[1::2]}


def warmed_up(here: LearnerHere, fleet: SignsFleet) -> Published:
    rows = fleet.play(None, 0)
    published = here.ask(Warmup(rows=rows, rows_by_policy=shares(rows)))
    assert isinstance(published, Published), published
    return published


def order(batch_id: int, rows: list[int], **changes) -> Train:
    return train_message(batch_id, rows, HORIZON, rows_by_policy=shares(rows), **changes)


def trained(here: LearnerHere, fleet: SignsFleet, last: Published, num_updates: int) -> Published:
    for _ in range(num_updates):
        last = here.ask(order(last.policy_version, fleet.play(last.onnx, last.policy_version)))
        assert isinstance(last, Published), last
    return last


def weights(run_dir: Path, version: int) -> dict[str, dict[str, torch.Tensor]]:
    checkpoint = load_checkpoint(run_dir / "checkpoints" / str(version))
    return {name: checkpoint.part(name).policy for name in SEATS}


def differ(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert one.keys() == other.keys()
    # What its slots have earned so far belongs to a run's games, and not to what another run starts from.
    names = [name for name in one if not name.startswith("return_statistics.slots.")]
    return any(not torch.equal(one[name], other[name]) for name in names)


def test_policies_begin_with_weights_of_their_own_and_all_learn(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_pair(fleet, tmp_path / "run")) as here:
        assert list(here.ready.onnx) == SEATS
        # Twice two trunks 3 x 8 + 8, two heads 8 x 2 + 2 and 8 + 1.
        assert here.ready.num_parameters == 2 * (2 * 32 + 18 + 9)
        first = warmed_up(here, fleet)
        last = trained(here, fleet, first, 2)
        assert last.policy_version == 2 and list(last.onnx) == SEATS
        assert last.metrics["train/loss/left"] != last.metrics["train/loss/right"]
        assert "train/loss" not in last.metrics and "train/learning_rate" in last.metrics
    versions = [weights(tmp_path / "run", version) for version in range(3)]
    assert differ(versions[0]["left"], versions[0]["right"])
    for name in SEATS:
        assert differ(versions[0][name], versions[1][name]) and differ(versions[1][name], versions[2][name])


def test_E9_each_policy_learns_from_its_own_rows_alone(tmp_path: Path):
    def after(name: str, foreign: float) -> dict[str, dict[str, torch.Tensor]]:
        """Version 1, the rows of `right` having had other rewards and observations."""
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=3)
        with LearnerHere(begin_pair(fleet, tmp_path / name)) as here:
            rows = fleet.play(warmed_up(here, fleet).onnx, 0)
            fleet.store["reward"][:, rows[1::2]] += foreign
            fleet.store["obs.obs"][:, rows[1::2]] += foreign
            assert isinstance(here.ask(order(0, rows, verify_rows=[])), Published)
        fleet.close()
        return weights(tmp_path / name, 1)

    plain, other = after("plain", 0.0), after("other", 1.0)
    assert not differ(plain["left"], other["left"])
    assert differ(plain["right"], other["right"])


def test_E9_each_policy_normalises_by_what_it_saw_alone(tmp_path: Path, fleet: SignsFleet):
    with LearnerHere(begin_pair(fleet, tmp_path / "run")) as here:
        rows = fleet.play(None, 0)
        fleet.store["obs.obs"][:, rows[1::2]] += 100.0
        here.ask(Warmup(rows=rows, rows_by_policy=shares(rows)))
    means = {name: tensors["normaliser.mean"] for name, tensors in weights(tmp_path / "run", 0).items()}
    assert (means["left"].abs() < 10).all() and ((means["right"] - 100).abs() < 10).all()


def test_C8_the_same_seed_and_rows_give_the_same_bits(tmp_path: Path):
    def run(name: str, seed: int) -> str:
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=2)
        with LearnerHere(begin_pair(fleet, tmp_path / name, seed=seed)) as here:
            last = trained(here, fleet, warmed_up(here, fleet), 3)
        fleet.close()
        return last.weights_sha256

    assert run("one", 7) == run("two", 7) != run("three", 8)


def test_P8_when_one_policy_cannot_be_updated_all_stay(tmp_path: Path):
    def hashes(name: str, poisoned: str | None) -> list[str]:
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=2)
        with LearnerHere(begin_pair(fleet, tmp_path / name)) as here:
            last = trained(here, fleet, warmed_up(here, fleet), 1)
            rows = fleet.play(last.onnx, 1)
            if poisoned is not None:
                row = shares(rows)[poisoned][0]
                kept = fleet.store["reward"][0, row]
                fleet.store["reward"][0, row] = np.inf
                dropped = here.ask(order(1, rows))
                assert isinstance(dropped, Dropped) and "P8" in dropped.reason
                fleet.store["reward"][0, row] = kept
            found = [last.weights_sha256, here.ask(order(1, rows)).weights_sha256]
        fleet.close()
        return found

    clean = hashes("clean", None)
    assert hashes("first", "left") == clean and hashes("second", "right") == clean


@pytest.mark.parametrize("poisoned", SEATS)
def test_P8_what_a_dropped_update_saw_does_not_count_when_a_policy_is_away_next(
    tmp_path: Path, poisoned: str
):
    def hashes(name: str, *, drops: bool) -> list[str]:
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=2)
        with LearnerHere(begin_pair(fleet, tmp_path / name)) as here:
            rows = fleet.play(warmed_up(here, fleet).onnx, 0)
            if drops:
                row = shares(rows)[poisoned][0]
                kept = fleet.store["reward"][0, row]
                fleet.store["reward"][0, row] = np.inf
                assert isinstance(here.ask(order(0, rows)), Dropped)
                fleet.store["reward"][0, row] = kept
            # One of them was updated before the other could not be; now it is away.
            fleet.store["valid"][:, shares(rows)["left"]] = False
            alone = here.ask(order(0, rows))
            last = trained(here, fleet, alone, 2)
        fleet.close()
        found = [alone.weights_sha256, last.weights_sha256]
        for version in (1, 3):
            document = load_checkpoint(tmp_path / name / "checkpoints" / str(version)).document
            for policy_id, own in document["policies"].items():
                # A dropped update's rows were verified all the same.
                own.pop("verification")
                found.append(f"{version}/{policy_id}: {json.dumps(own)}")
        return found

    assert hashes("dropped", drops=True) == hashes("clean", drops=False)


def test_S5_a_policy_without_a_valid_step_stays_and_goes_on_to_the_version(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_pair(fleet, tmp_path / "run")) as here:
        rows = fleet.play(warmed_up(here, fleet).onnx, 0)
        fleet.store["valid"][:, rows[1::2]] = False
        published = here.ask(order(0, rows))
        assert isinstance(published, Published) and published.policy_version == 1
        assert "train/loss/left" in published.metrics and "train/loss/right" not in published.metrics
        rows = fleet.play(published.onnx, 1)
        fleet.store["valid"][:, rows] = False
        assert isinstance(here.ask(order(1, rows)), Dropped)
    before, after = weights(tmp_path / "run", 0), weights(tmp_path / "run", 1)
    assert differ(before["left"], after["left"]) and not differ(before["right"], after["right"])


def test_C7_rows_are_judged_by_the_policy_that_played_them(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_pair(fleet, tmp_path / "run")) as here:
        first = warmed_up(here, fleet)
        rows = fleet.play(first.onnx, 0)
        honest = here.ask(order(0, rows, verify="all"))
        assert isinstance(honest, Published) and honest.rejected == []
        rows = fleet.play(honest.onnx, 1)
        fleet.store["log_prob"][0, rows[3]] += 0.5
        published = here.ask(order(1, rows, verify_rows=rows))
        assert [rejection.row for rejection in published.rejected] == [rows[3]]
        # Played by the other one.
        swapped = dict(zip(SEATS, reversed(published.onnx.values()), strict=True))
        rows = fleet.play(swapped, 2)
        assert isinstance(here.ask(order(2, rows, verify_rows=rows)), Dropped)


def test_D2_a_resumed_run_makes_the_same_updates_as_an_uninterrupted_one(tmp_path: Path):
    def run(name: str, parts: list[int]) -> str:
        fleet = SignsFleet(tmp_path / f"{name}.bin", num_slots=SLOTS, horizon=HORIZON, seed=5)
        begin, last = begin_pair(fleet, tmp_path / name), None
        for number, updates in enumerate(parts):
            with LearnerHere(begin.model_copy(update={"resume": number > 0})) as here:
                if last is not None:
                    assert here.ready.weights_sha256 == last.weights_sha256
                    assert here.ready.onnx == last.onnx
                last = trained(here, fleet, last or warmed_up(here, fleet), updates)
        fleet.close()
        assert last is not None
        return last.weights_sha256

    assert run("whole", [4]) == run("halves", [1, 3])


def test_D2_a_run_is_not_resumed_with_other_policies(fleet: SignsFleet, tmp_path: Path):
    begin = begin_pair(fleet, tmp_path / "run")
    with LearnerHere(begin) as here:
        warmed_up(here, fleet)
    for seats in (["left", "up"], []):
        with pytest.raises(CheckpointError, match="the checkpoint left, right"):
            LearnerHere(begin_for(fleet, tmp_path / "run", collection={"seats": seats}, resume=True))


def test_a_run_of_several_policies_starts_from_one_or_from_its_namesakes(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_for(fleet, tmp_path / "one")) as here:
        here.ask(Warmup(rows=fleet.play(None, 0)))
    one = load_checkpoint(tmp_path / "one" / "checkpoints" / "0")
    source = str(one.path)
    with LearnerHere(begin_pair(fleet, tmp_path / "both", initialize_from=source)) as here:
        rows = fleet.play(here.ready.onnx, 0)
        assert isinstance(here.ask(order(0, rows)), Published)
    both = weights(tmp_path / "both", 0)
    assert not differ(both["left"], both["right"]) and not differ(both["left"], one.policy)
    source = str(tmp_path / "both" / "checkpoints" / "1")
    with LearnerHere(begin_pair(fleet, tmp_path / "again", initialize_from=source)):
        pass
    again, trained_once = weights(tmp_path / "again", 0), weights(tmp_path / "both", 1)
    for name in SEATS:
        assert not differ(again[name], trained_once[name])
    with pytest.raises(CheckpointError, match="no policy 'up'; it has left, right"):
        LearnerHere(begin_for(fleet, tmp_path / "up", collection={"seats": ["up"]}, initialize_from=source))


def test_C9_an_export_holds_every_policy_and_who_plays_whom(fleet: SignsFleet, tmp_path: Path):
    out = tmp_path / "out"
    with LearnerHere(begin_pair(fleet, tmp_path / "run")) as here:
        first = warmed_up(here, fleet)
        last = trained(here, fleet, first, 1)
        assert here.ask(Export(out_dir=str(out), summary={"return": 0.5})).error is None
        earlier = Export(out_dir=str(tmp_path / "earlier"), policy_version=0)
        assert here.ask(earlier).error is None
    assert sorted(path.name for path in out.iterdir()) == ["left.onnx", "policy.json", "right.onnx"]
    document = json.loads((out / "policy.json").read_text())
    assert document["seats"] == SEATS and document["policy_version"] == 1
    assert document["training"] == {"return": 0.5} and document["game"]["id"] == "Signs-v1"
    observations = np.random.default_rng(0).normal(1, 2, (32, 3)).astype(np.float32)
    for folder, version in ((out, last), (tmp_path / "earlier", first)):
        for name in SEATS:
            shipped = onnxruntime.InferenceSession(folder / f"{name}.onnx")
            logits, _ = shipped.run(["logits", "action"], {"obs": observations})
            played = onnxruntime.InferenceSession(version.onnx[name])
            np.testing.assert_array_equal(logits, played.run(["logits"], {"obs": observations})[0])
            assert json.loads(shipped.get_modelmeta().custom_metadata_map["policy_id"]) == name
    for name in SEATS:
        own = document["policies"][name]
        assert own["file"] == f"{name}.onnx"
        assert set(own["inputs"]) == {"obs"} and "value" in own["outputs"]
    means = [document["policies"][name]["inputs"]["obs"]["normalisation"]["mean"] for name in SEATS]
    assert means[0] != means[1]


def test_rows_of_policies_that_are_not_there_are_refused(fleet: SignsFleet, tmp_path: Path):
    with LearnerHere(begin_pair(fleet, tmp_path / "run")) as here:
        warmed_up(here, fleet)
        with pytest.raises(RuntimeError, match="expected rows of"):
            here.ask(train_message(0, [0, 1], HORIZON))
