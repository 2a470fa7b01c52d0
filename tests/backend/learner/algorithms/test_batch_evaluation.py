import dataclasses

import pytest
import torch

from attract.experience.batch import Batch
from attract.experience.layout import RECURRENT_STATE
from attract.learner.algorithms import batch_evaluation
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace
from batches import build, play

MANY = DictSpace(
    spaces={
        "bits": MultiBinarySpace(n=3),
        "hand": DiscreteSpace(n=4),
        "map": BoxSpace(shape=[12, 12, 2], dtype="uint8"),
        "place": BoxSpace(shape=[2]),
    }
)
KINDS = {
    "feed-forward": ({}, {}),
    "lstm": ({"recurrent": "lstm"}, {}),
    "gru, separate trunks": ({"recurrent": "gru", "shared_trunk": False}, {}),
    "several entries and bits": (
        {"observation": MANY, "action": {"kind": "multi_binary", "n": 3}, "recurrent": "lstm"},
        {},
    ),
    "continuous": (
        {"action": {"kind": "box", "shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}},
        {},
    ),
    "masked": ({"recurrent": "gru"}, {"masks": 3}),
    "masked components": ({"action": {"kind": "multi_discrete", "nvec": [2, 4]}}, {"masks": 6}),
}


def assert_as_played(policy, distribution, batch: Batch, **options) -> None:
    """The batch_evaluation says what the policy said while it played, wherever a number is read."""
    said = evaluate_batch(policy, distribution, batch, **options)
    valid, finals = batch.valid, batch.truncated & ~batch.terminated
    for name, where in (("log_probs", valid), ("values", valid), ("final_values", finals)):
        got, expected = getattr(said, name)[where], getattr(batch, name.removesuffix("s"))[where]
        torch.testing.assert_close(
            got, expected, rtol=1e-5, atol=1e-5, msg=lambda text, n=name: f"{n}: {text}"
        )
    torch.testing.assert_close(
        said.bootstrap_value[valid[-1]], batch.bootstrap_value[valid[-1]], rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("kind", KINDS)
def test_S3_S4_E4_a_batch_is_evaluated_as_it_was_played(kind):
    network, playing = KINDS[kind]
    policy, distribution = build(**network)
    batch = play(policy, distribution, slots=5, runs=3, invalid=0.5, **playing)
    assert not bool(batch.valid.all()) and bool((batch.truncated & ~batch.terminated)[-1].any())
    assert_as_played(policy, distribution, batch)


def test_cutting_a_batch_in_pieces_changes_nothing(monkeypatch):
    policy, distribution = build(recurrent="lstm")
    batch = play(policy, distribution, slots=5, runs=3, ends=0.3)
    whole = evaluate_batch(policy, distribution, batch)
    # Two segments of 6 steps at a time: 15 segments in 8 pieces.
    monkeypatch.setattr(batch_evaluation, "CHUNK_STEPS", 13)
    pieces = evaluate_batch(policy, distribution, batch)
    for field in dataclasses.fields(whole):
        got, expected = getattr(pieces, field.name), getattr(whole, field.name)
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("recurrent", ["none", "gru"])
@pytest.mark.parametrize("chunk_steps", [6, 18, 10_000])
def test_E4_every_final_follows_the_weights_wherever_a_pass_is_cut(recurrent, chunk_steps, monkeypatch):
    policy, distribution = build(recurrent=recurrent)
    batch = play(policy, distribution, slots=5, runs=2, ends=0.3)
    # Other weights than those that recorded: no number of the batch's own may be left.
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(-0.7)
    # One segment of 6 steps at a time, or three, or all.
    monkeypatch.setattr(batch_evaluation, "CHUNK_STEPS", chunk_steps)
    said = evaluate_batch(policy, distribution, batch)
    states = batch.state if policy.state_size else torch.zeros(10, 0)
    _, _, after = policy.unroll(policy.preprocess(batch.observation), states, batch.reset_after)
    finals = batch.finals
    # First and later segments of a pass.
    assert finals is not None and {3, 4, 5, 6} <= set(finals.column.tolist())
    expected = policy.values_at(policy.preprocess(finals.observation), after[finals.step, finals.column])
    got = said.final_values[finals.step, finals.column]
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
    recorded = batch.final_value[finals.step, finals.column]
    assert ((got - recorded).abs() > 1e-3).all()


def test_S4_the_next_segment_begins_without_memory_where_an_episode_ended():
    policy, distribution = build(recurrent="lstm")
    batch = play(policy, distribution, slots=6, runs=2, invalid=0.5, ends=0.3)
    said = evaluate_batch(policy, distribution, batch)
    ended = batch.reset_after[-1]
    assert ended.any() and not ended.all()
    assert not said.next_states[ended].any() and said.next_states[~ended].any(1).all()
    # For each slot the second segment shows where the first ended.
    assert batch.state is not None
    torch.testing.assert_close(said.next_states[0::2], batch.state[1::2], rtol=1e-5, atol=1e-6)


def test_S3_from_zero_the_stored_states_are_not_read():
    policy, distribution = build(recurrent="gru")
    batch = play(policy, distribution, ends=0.0)
    assert batch.state is not None and bool((batch.state != 0).any())
    zeros = dataclasses.replace(batch, recurrent_state={RECURRENT_STATE: torch.zeros_like(batch.state)})
    expected = evaluate_batch(policy, distribution, zeros)
    got = evaluate_batch(policy, distribution, dataclasses.replace(batch, recurrent_state={}), from_zero=True)
    assert torch.equal(got.values, expected.values)
    # And it makes a difference.
    assert not torch.allclose(got.values, batch.value, atol=1e-3)


def test_S3_a_recurrent_policy_needs_the_states():
    policy, distribution = build(recurrent="gru")
    batch = dataclasses.replace(play(policy, distribution), recurrent_state={})
    with pytest.raises(ValueError, match=r"expected states of shape \(8, 5\), got None"):
        evaluate_batch(policy, distribution, batch)


def test_correctness_R7_a_pass_is_bounded_by_its_bytes(monkeypatch):
    image = BoxSpace(shape=[64, 64, 3], dtype="uint8")
    policy, distribution = build(observation=image, cnn="impala")
    batch = play(policy, distribution, horizon=4, slots=6, runs=1)
    whole = evaluate_batch(policy, distribution, batch)
    # The first convolution alone gives 64 x 64 x 16 floats of each step.
    per_step = batch_evaluation.step_bytes(policy, batch)
    assert 4 * 64 * 64 * 16 < per_step < 4 << 20
    sizes = []
    unroll = policy.unroll
    monkeypatch.setattr(policy, "unroll", lambda *given: sizes.append(given[2].shape) or unroll(*given))
    monkeypatch.setattr(batch_evaluation, "CHUNK_BYTES", 9 * per_step)
    parts = evaluate_batch(policy, distribution, batch)
    assert [tuple(size) for size in sizes] == [(4, 2)] * 3, "two whole segments of four steps, not nine steps"
    torch.testing.assert_close(parts.values, whole.values)
    torch.testing.assert_close(parts.log_probs, whole.log_probs)
    # A segment is never cut, and what is small goes through at once.
    sizes.clear()
    monkeypatch.setattr(batch_evaluation, "CHUNK_BYTES", 1)
    evaluate_batch(policy, distribution, batch)
    assert [tuple(size) for size in sizes] == [(4, 1)] * 6
    small, _ = build()
    assert batch_evaluation.step_bytes(small, play(*build(), slots=2)) < 8192
