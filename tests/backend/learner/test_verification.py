from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attract.algorithm.distributions import ActionDistribution
from attract.experience.batch import Batch, load_batch
from attract.learner import verification
from attract.learner.policies.policy_state import PolicyState
from attract.learner.registry import choose_algorithm
from attract.learner.verification import (
    CALIBRATION_CHECKS,
    SlotEnds,
    Tolerance,
    Verifier,
    VersionHistory,
    largest_differences,
)
from attract.policy.export import OnnxPatcher
from attract.policy.network import Policy, build_distribution, build_policy
from attract.settings.run import PolicySettings, RunSettings
from batches import build, play
from learner_world import SignsFleet, describe_signs

HORIZON, SLOTS = 12, 6


@pytest.fixture
def world(tmp_path: Path):
    """Two versions of a policy in a history, and a batch: all slots played version 4, then 5."""
    fleet = SignsFleet(tmp_path / "store.bin", num_slots=SLOTS, horizon=HORIZON, seed=5)
    settings = PolicySettings(hidden_sizes=(8,))
    history = VersionHistory(
        build_policy(settings, fleet.description), build_distribution(fleet.description), num_versions=2
    )
    rows: list[int] = []
    for version in (4, 5):
        policy = build_policy(settings, fleet.description, seed=version)
        with torch.no_grad():
            policy.policy_head.weight.mul_(100.0)  # far from uniform, so that versions can be told apart
        history.remember(version, policy.state_dict())
        onnx = {"main": OnnxPatcher(policy).patched(policy.state_dict())}
        rows += fleet.play(onnx, version, invalid=0.5)
    yield history, load_batch(fleet.store, rows)
    fleet.close()


def spoil(batch: Batch, name: str, where: object, by: float) -> Batch:
    array = getattr(batch, name).clone()
    array[where] += by
    return replace(batch, **{name: array})


def test_C7_each_segment_is_recomputed_under_the_version_that_acted(world):
    history, batch = world
    assert batch.truncated.any() and batch.terminated.any() and not batch.valid.all()
    recomputed, known = history.recompute(batch)
    assert known.all()
    differences = largest_differences(batch, recomputed)
    assert differences.shape == (2 * SLOTS,)
    assert differences.max() < 1e-5
    # The same segments, judged by the other version, do not fit.
    swapped = replace(batch, policy_version=torch.where(batch.policy_version == 4, 5, 4))
    recomputed, _ = history.recompute(swapped)
    assert largest_differences(swapped, recomputed).min() > 1e-2


def first_step(batch: Batch, flag: torch.Tensor, column: int) -> int:
    return int((flag & batch.valid)[:, column].nonzero()[0])


@pytest.mark.parametrize("name", ["log_prob", "value", "final_value", "bootstrap_value"])
def test_C7_a_lie_about_any_number_that_is_used_shows_in_its_segment_alone(world, name):
    history, batch = world
    column = next(
        column
        for column in range(SLOTS)
        if batch.valid[-1, column] and (batch.truncated & batch.valid)[:, column].any()
    )
    where = {
        "log_prob": (first_step(batch, batch.valid, column), column),
        "value": (first_step(batch, batch.valid, column), column),
        "final_value": (first_step(batch, batch.truncated, column), column),
        "bootstrap_value": column,
    }[name]
    lie = spoil(batch, name, where, 0.05)
    recomputed, _ = history.recompute(lie)
    differences = largest_differences(lie, recomputed)
    # |v| stays below 2.5 here, so a lie of 0.05 is at least 0.02 relative to max(1, |v|).
    assert 0.02 < differences[column] < 0.0501
    differences[column] = 0.0
    assert differences.max() < 1e-5


def test_C7_numbers_of_invalid_steps_and_unused_final_values_do_not_matter(world):
    history, batch = world
    lie = spoil(batch, "final_value", ~batch.truncated, 50.0)
    lie = spoil(lie, "log_prob", ~batch.valid, 50.0)
    recomputed, _ = history.recompute(lie)
    assert largest_differences(lie, recomputed).max() < 1e-5


def test_C7_a_number_that_is_not_finite_differs_infinitely(world):
    history, batch = world
    step = first_step(batch, batch.valid, 2)
    lie = spoil(batch, "value", (step, 2), float("nan"))
    recomputed, _ = history.recompute(lie)
    assert largest_differences(lie, recomputed)[2] == torch.inf


def test_C7_versions_older_than_the_lag_allows_are_forgotten_and_said_to_be_unknown(world):
    history, batch = world
    history.remember(6, history._states[5])
    assert 4 not in history and 5 in history and 6 in history
    recomputed, known = history.recompute(batch)
    assert known.tolist() == [False] * SLOTS + [True] * SLOTS
    torch.testing.assert_close(recomputed.value[:, :SLOTS], batch.value[:, :SLOTS], equal_nan=True)


def test_C7_recomputed_numbers_replace_what_was_claimed(world):
    history, batch = world
    honest, _ = history.recompute(batch)
    lie = spoil(spoil(batch, "log_prob", batch.valid, 3.0), "bootstrap_value", slice(None), 9.0)
    recomputed, _ = history.recompute(lie)
    valid = batch.valid
    assert torch.equal(recomputed.log_prob[valid], honest.log_prob[valid])
    assert torch.equal(recomputed.value[valid], honest.value[valid])
    assert torch.equal(recomputed.bootstrap_value, honest.bootstrap_value)
    assert recomputed.reward is lie.reward


def test_S2_keeping_some_segments_keeps_each_one_whole_and_in_order(world):
    _, batch = world
    chosen = torch.zeros(2 * SLOTS, dtype=torch.bool)
    chosen[[1, 3, 8]] = True
    kept = batch.keep_segments(chosen)
    finals, all_finals = kept.finals, batch.finals
    assert finals is not None and all_finals is not None
    assert kept.rows == (batch.rows[1], batch.rows[3], batch.rows[8])
    assert kept.slot_id.tolist() == [1, 3, 2] and kept.policy_version.tolist() == [4, 4, 5]
    for new, old in enumerate([1, 3, 8]):
        np.testing.assert_array_equal(kept.observation["obs"][:, new], batch.observation["obs"][:, old])
        np.testing.assert_array_equal(kept.reward[:, new], batch.reward[:, old])
        mine, theirs = finals.column == new, all_finals.column == old
        assert finals.step[mine].tolist() == all_finals.step[theirs].tolist()
        np.testing.assert_array_equal(finals.observation["obs"][mine], all_finals.observation["obs"][theirs])
    assert len(finals.step) == sum(int((all_finals.column == old).sum()) for old in [1, 3, 8]) > 0


def test_C7_tolerance_is_ten_times_the_largest_calibration_difference():
    tolerance = Tolerance()
    assert tolerance.accept(4e-5)
    # Ten times the floor is no rounding: refused even while calibrating, and not learnt from.
    assert not tolerance.accept(1.1e-3)
    for _ in range(CALIBRATION_CHECKS - 1):
        assert tolerance.accept(1e-6)
    assert tolerance.limit == pytest.approx(4e-4)
    assert tolerance.accept(3.9e-4) and not tolerance.accept(4.1e-4)
    # Calibration is over: what is accepted later moves nothing.
    assert tolerance.limit == pytest.approx(4e-4)


def test_C7_tolerance_is_at_least_1e_4():
    tolerance = Tolerance()
    for _ in range(CALIBRATION_CHECKS):
        assert tolerance.accept(1e-7)
    assert tolerance.accept(1e-4) and not tolerance.accept(1.01e-4)


def test_C7_correctness_R5_who_is_wrong_from_the_start_makes_no_room_for_more():
    tolerance = Tolerance()
    for _ in range(CALIBRATION_CHECKS):
        assert tolerance.accept(9e-4)
    assert tolerance.accept(1e-3) and not tolerance.accept(1.01e-3)


def claims(batch: Batch, version: int = 3) -> Batch:
    """What a worker sends of a batch that `played_batches` played."""
    segments = len(batch.slot_id)
    return replace(batch, policy_version=torch.full((segments,), version), rows=tuple(range(segments)))


def judged(**network: Any) -> tuple[VersionHistory, Policy, ActionDistribution]:
    policy, distribution = build(**network)
    history = VersionHistory(policy, distribution, num_versions=2)
    history.remember(3, policy.state_dict())
    return history, policy, distribution


KINDS: dict[str, tuple[dict[str, Any], int]] = {
    "masked": ({}, 3),
    "several choices, masked": ({"action": {"kind": "multi_discrete", "nvec": [2, 4]}}, 6),
    "bits": ({"action": {"kind": "multi_binary", "n": 3}}, 0),
    "continuous": ({"action": {"kind": "box", "shape": [2], "low": -1, "high": 1}}, 0),
    "mixed, masked": (
        {
            "action": {
                "kind": "mixed",
                "spaces": {
                    "aim": {"kind": "box", "shape": [2], "low": -1, "high": 1},
                    "button": {"kind": "discrete", "n": 4},
                },
            }
        },
        4,
    ),
    "lstm": ({"recurrent": "lstm"}, 0),
    "gru, masked": ({"recurrent": "gru", "shared_trunk": False}, 3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_C7_every_kind_of_policy_is_recomputed(kind: str):
    network, masks = KINDS[kind]
    history, policy, distribution = judged(**network)
    batch = claims(play(policy, distribution, slots=5, runs=3, invalid=0.5, masks=masks))
    recomputed, known = history.recompute(batch)
    assert known.all() and largest_differences(batch, recomputed).max() < 1e-5
    lie = spoil(batch, "log_prob", (first_step(batch, batch.valid, 4), 4), 0.01)
    differences = largest_differences(lie, history.recompute(lie)[0])
    assert differences[4] > 1e-3
    differences[4] = 0.0
    assert differences.max() < 1e-5


def column_that_goes_on(batch: Batch) -> int:
    """A segment whose predecessor is in the batch and did not end with its last step."""
    over = batch.terminated | batch.truncated | ~batch.valid
    return next(
        column
        for column in range(batch.num_segments)
        if batch.first_step[column] > 0 and not over[-1, column - 1] and batch.valid[0, column]
    )


def with_state(batch: Batch, column: int, by: float) -> Batch:
    state = batch.recurrent_state["state"].clone()
    state[column] += by
    return replace(batch, recurrent_state={"state": state})


@pytest.mark.parametrize("recurrent", ["lstm", "gru"])
def test_C7_a_lie_about_the_recurrent_state_shows_and_is_not_trained_on(recurrent: str):
    history, policy, distribution = judged(recurrent=recurrent)
    batch = claims(play(policy, distribution, slots=5, runs=3))
    column = column_that_goes_on(batch)
    lie = with_state(batch, column, 0.5)
    recomputed, _ = history.recompute(lie)
    assert largest_differences(lie, recomputed)[column] > 0.1
    torch.testing.assert_close(
        recomputed.recurrent_state["state"][column], batch.recurrent_state["state"][column]
    )
    # A slot's first step begins with zeros, whatever is claimed.
    lie = with_state(batch, 0, 0.5)
    recomputed, _ = history.recompute(lie)
    assert largest_differences(lie, recomputed)[0] > 0.1
    assert not recomputed.recurrent_state["state"][0].any()


def test_C7_S3_a_state_is_compared_with_the_end_of_a_segment_of_an_earlier_batch():
    history, policy, distribution = judged(recurrent="lstm")
    batch = claims(play(policy, distribution, slots=5, runs=2, ends=0.0))
    first, second = batch.first_step == 0, batch.first_step > 0
    history.recompute(batch.keep_segments(first))
    later = batch.keep_segments(second)
    recomputed, _ = history.recompute(later)
    assert 0 < largest_differences(later, recomputed).max() < 1e-5
    lie = with_state(later, 2, 0.5)
    history.recompute(batch.keep_segments(first))
    recomputed, _ = history.recompute(lie)
    assert largest_differences(lie, recomputed)[2] > 0.1
    torch.testing.assert_close(recomputed.recurrent_state, later.recurrent_state)
    # Where nothing is known of what came before, the claimed state stands.
    fresh, _, _ = judged(recurrent="lstm")
    recomputed, _ = fresh.recompute(lie)
    torch.testing.assert_close(recomputed.recurrent_state, lie.recurrent_state)


def test_C7_no_more_slots_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verification, "MAX_SLOTS_REMEMBERED", 3)
    history, policy, distribution = judged(recurrent="gru")
    history.recompute(claims(play(policy, distribution, slots=5, runs=2)))
    assert history._ends.slots.tolist() == [2, 3, 4] and history._ends.steps.tolist() == [12] * 3


def test_C7_correctness_6_ends_of_slots_are_those_of_a_dictionary():
    draw = np.random.default_rng(6)
    none = torch.empty(0, dtype=torch.int64)
    ends = SlotEnds(none, none, torch.empty(0, 1))
    known: dict[int, tuple[int, float]] = {}
    for update in range(60):
        # Up to three segments of each of some slots, in any order; 30 of 40 slots are remembered.
        pairs = list({(int(slot), 8 * int(step)) for slot, step in draw.integers(0, (40, 3), (20, 2))})
        draw.shuffle(pairs)
        slots, steps = (
            torch.tensor(column) + offset
            for column, offset in zip(zip(*pairs, strict=True), (2**30, 8 * update), strict=True)
        )
        states = torch.tensor(draw.normal(size=(len(pairs), 1)), dtype=torch.float32)
        asked = slots + torch.tensor(draw.integers(-1, 2, len(pairs)))
        expected = [
            known[slot][1] if slot in known and known[slot][0] == step else -9.0
            for slot, step in zip(asked.tolist(), steps.tolist(), strict=True)
        ]
        got = ends.states_at(asked, steps, torch.full_like(states, -9.0))
        assert got.squeeze(1).tolist() == pytest.approx(expected)
        ends = ends.followed_by(SlotEnds.of(slots, steps, states).newest(), at_most=30)
        for slot, step, state in sorted(
            zip(slots.tolist(), steps.tolist(), states.squeeze(1).tolist(), strict=True)
        ):
            known.pop(slot, None)
            known[slot] = (step, state)
        for slot in list(known)[:-30]:
            del known[slot]
        assert ends.slots.tolist() == list(known)
        assert ends.steps.tolist() == [step for step, _ in known.values()]


def test_C7_correctness_R9_of_a_worker_that_was_wrong_once_every_segment_is_recomputed():
    choice, game = choose_algorithm(RunSettings()), describe_signs()
    state = PolicyState.create(game, PolicySettings(hidden_sizes=(8,)), choice, 3, torch.device("cpu"))
    distribution = build_distribution(game)
    verifier = Verifier(state.policy, distribution, 2)
    verifier.remember(3, state.policy.state_dict())
    honest = claims(play(state.policy, distribution, slots=6, runs=2))
    # Three workers of four segments each; the second says that it was surer than it was.
    worker_id = torch.arange(12) // 4
    lies = replace(
        honest, worker_id=worker_id, log_prob=honest.log_prob + 0.5 * (worker_id == 1) * honest.valid
    )
    kept, refused = verifier.verify(lies, [0, 5, 10], state.tolerance, extent="sample")
    assert sorted(refusal.row for refusal in refused) == [4, 5, 6, 7]
    assert kept.rows == (0, 1, 2, 3, 8, 9, 10, 11)
    # From then on too, though none of its segments is asked for; one that is right is trained on.
    half = replace(lies, log_prob=torch.where(torch.arange(12) == 6, honest.log_prob, lies.log_prob))
    kept, refused = verifier.verify(half, [0, 10], state.tolerance, extent="sample")
    assert sorted(refusal.row for refusal in refused) == [4, 5, 7] and 6 in kept.rows


def test_C7_log_probabilities_are_compared_where_they_are_learned_from_and_values_everywhere():
    game, distribution = describe_signs(), build_distribution(describe_signs())
    state = PolicyState.create(
        game, PolicySettings(hidden_sizes=(8,)), choose_algorithm(RunSettings()), 3, torch.device("cpu")
    )
    honest = claims(play(state.policy, distribution, slots=2, runs=1))
    surer = replace(honest, log_prob=honest.log_prob + 0.5 * honest.valid)
    worth_more = replace(honest, value=honest.value + 0.5 * honest.valid)
    for compares_log_probs, batch, num_refused in (
        (True, surer, 2),
        (False, surer, 0),
        (False, worth_more, 2),
    ):
        verifier = Verifier(state.policy, distribution, 2, compares_log_probs=compares_log_probs)
        verifier.remember(3, state.policy.state_dict())
        assert len(verifier.verify(batch, [0, 1], Tolerance(), extent="sample")[1]) == num_refused


def test_C7_an_algorithm_with_a_replay_buffer_learns_from_no_log_probabilities():
    game = describe_signs()
    for algorithm, uses in (("ppo", True), ("dqn", False)):
        choice = choose_algorithm(RunSettings.model_validate({"algorithm": algorithm}))
        state = PolicyState.create(game, PolicySettings(), choice, 3, torch.device("cpu"))
        assert state.algorithm.uses_log_probs is uses
