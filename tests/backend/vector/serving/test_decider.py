"""Decisions of ONNX sessions against torch's own, for every kind of action."""

import numpy as np
import onnxruntime
import pytest
import torch

from attract.errors import ConfigurationError, PolicyError
from attract.policy.action_kinds.table import resolve_distribution
from attract.policy.export import OnnxPatcher
from attract.policy.network import Policy, build_policy
from attract.schema.game import GameDescription
from attract.schema.messages import Seed
from attract.schema.philox import action_uniforms
from attract.schema.spaces import BoxSpace, DiscreteSpace, MultiBinarySpace, MultiDiscreteSpace
from attract.settings.run import PolicySettings
from attract.vector.batch import StepBatch
from attract.vector.serving.decider import OnnxDecider
from fake_worker import counting_description

SEED = Seed(low=5, high=6)
SLOTS = 40


def game(action, *, mask: bool = False) -> GameDescription:
    description = counting_description(observation_size=3, max_steps=None)
    return description.model_copy(update={"action": action, "action_mask": mask})


def batch_of(observation: np.ndarray, *, mask: np.ndarray | None = None, active=None) -> StepBatch:
    slots = np.arange(len(observation))
    zeros = np.zeros(len(observation), bool)
    return StepBatch(
        group=0,
        slots=slice(0, len(observation)),
        slot_id=slots,
        num_outcomes=0,
        slot_step=slots * 0,
        observation={"obs": observation},
        action_mask=mask,
        active=~zeros if active is None else active,
        episode=slots % 3,
        episode_step=slots * 2,
        reward=np.zeros(len(observation), np.float32),
        terminated=zeros,
        truncated=zeros,
        valid=zeros,
        executed_ticks=np.zeros(len(observation), np.uint16),
        final_column=np.zeros(0, np.int64),
        final_observation={},
        episodes=(),
        step_seconds=0.0,
    )


def made(description: GameDescription, settings: PolicySettings | None = None) -> tuple[Policy, OnnxDecider]:
    policy = build_policy(settings or PolicySettings(hidden_sizes=(8,)), description, seed=1)
    decider = OnnxDecider(description, SEED, state_size=policy.state_size, device="cpu")
    decider.add(7, OnnxPatcher(policy).patched(policy.state_dict()))
    return policy, decider


@pytest.mark.parametrize(
    ("action", "masked"),
    [
        (DiscreteSpace(n=4), False),
        (DiscreteSpace(n=4), True),
        (MultiDiscreteSpace(nvec=[2, 3]), True),
        (MultiBinarySpace(n=3), False),
        (BoxSpace(shape=[2], low=-2.0, high=2.0), False),
    ],
)
def test_C5_actions_are_those_that_the_seeded_stream_draws_from_torchs_outputs(action, masked: bool):
    description = game(action, mask=masked)
    policy, decider = made(description)
    rng = np.random.default_rng(0)
    observation = rng.normal(size=(SLOTS, 3)).astype(np.float32)
    distribution = resolve_distribution(action.model_dump(mode="json"))
    mask = None
    if masked:
        mask = rng.random((SLOTS, distribution.num_outputs)) < 0.6
        mask[:, 0] = mask[:, -1] = True
        if isinstance(action, MultiDiscreteSpace):
            mask[:, 2] = True
    batch = batch_of(observation, mask=mask)
    decision = decider.decide(7, batch, np.zeros((SLOTS, 0), np.float32))
    with torch.no_grad():
        prepared = policy.preprocess({"obs": torch.from_numpy(observation)})
        outputs, value = policy.forward_preprocessed(prepared)
    uniforms = action_uniforms(SEED, batch.slot_id, batch.episode, batch.episode_step, distribution.num_draws)
    torch_mask = None if mask is None else torch.from_numpy(mask)
    expected = distribution.sample(outputs, torch.from_numpy(uniforms), torch_mask)
    log_prob, _ = distribution.log_prob_and_entropy(outputs, expected, torch_mask)
    assert decision.action.dtype == (np.float32 if isinstance(action, BoxSpace) else np.int32)
    np.testing.assert_allclose(decision.action, expected.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(decision.log_prob, log_prob.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(decision.value, value.numpy(), rtol=1e-5, atol=1e-5)
    assert len(np.unique(decision.action)) > 1


def test_E9_no_action_is_drawn_for_a_slot_that_takes_no_part():
    _, decider = made(game(DiscreteSpace(n=4)))
    observation = np.zeros((SLOTS, 3), np.float32)
    active = np.arange(SLOTS) % 2 == 0
    playing = decider.decide(7, batch_of(observation), np.zeros((SLOTS, 0), np.float32))
    decision = decider.decide(7, batch_of(observation, active=active), np.zeros((SLOTS, 0), np.float32))
    assert decision.action[~active].tolist() == [0] * (SLOTS // 2)
    assert decision.log_prob[~active].tolist() == [0.0] * (SLOTS // 2)
    np.testing.assert_array_equal(decision.action[active], playing.action[active])


def test_S4_a_recurrent_policy_hands_on_its_state_and_a_value_advances_nothing():
    settings = PolicySettings(hidden_sizes=(8,), recurrent="gru", recurrent_size=4)
    policy, decider = made(game(DiscreteSpace(n=4)), settings)
    observation = np.random.default_rng(0).normal(size=(SLOTS, 3)).astype(np.float32)
    state = np.zeros((SLOTS, policy.state_size), np.float32)
    first = decider.decide(7, batch_of(observation), state)
    assert first.state.shape == state.shape
    assert not np.array_equal(first.state, state)
    values = decider.values(7, {"obs": observation}, first.state)
    again = decider.decide(7, batch_of(observation), first.state)
    np.testing.assert_array_equal(values, again.value)
    assert not np.allclose(first.value, again.value)


def test_versions_are_kept_while_they_are_named_and_the_two_newest_always():
    policy, decider = made(game(DiscreteSpace(n=4)))
    onnx = OnnxPatcher(policy).patched(policy.state_dict())
    for version in (8, 9, 10):
        decider.add(version, onnx)
    decider.keep({8})
    state, batch = np.zeros((SLOTS, 0), np.float32), batch_of(np.zeros((SLOTS, 3), np.float32))
    for version in (8, 9, 10):
        decider.decide(version, batch, state)
    with pytest.raises(PolicyError, match="not here"):
        decider.decide(7, batch, state)


def test_what_is_no_model_and_what_gives_no_number_is_refused():
    description = game(DiscreteSpace(n=4))
    policy, decider = made(description)
    with pytest.raises(PolicyError, match="version 8 cannot be run"):
        decider.add(8, b"no model")
    with torch.no_grad():
        policy.value_head.bias.fill_(float("nan"))
    decider.add(9, OnnxPatcher(policy).patched(policy.state_dict()))
    with pytest.raises(PolicyError, match="not finite"):
        decider.decide(9, batch_of(np.zeros((SLOTS, 3), np.float32)), np.zeros((SLOTS, 0), np.float32))


def test_cuda_that_is_not_there_is_refused_with_what_mends_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(ConfigurationError, match="onnxruntime-gpu"):
        OnnxDecider(game(DiscreteSpace(n=4)), SEED, device="cuda")


def test_correctness_6_cuda_computes_without_tf32_and_the_cpu_in_its_place_is_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    """No GPU here: what is asked of ONNX Runtime is looked at, and a session that fell back to the CPU."""
    available = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: available)
    asked: list[object] = []
    plain = onnxruntime.InferenceSession

    def on_the_cpu(model: bytes, options: object, providers: list[object]):
        asked.append(providers)
        return plain(model, options, providers=["CPUExecutionProvider"])

    monkeypatch.setattr("onnxruntime.InferenceSession", on_the_cpu)
    description = game(DiscreteSpace(n=4))
    policy, _ = made(description)
    onnx = OnnxPatcher(policy).patched(policy.state_dict())
    with pytest.raises(ConfigurationError, match="could not load its CUDA provider"):
        OnnxDecider(description, SEED, device="cuda").add(1, onnx)
    assert asked[-1] == [("CUDAExecutionProvider", {"use_tf32": "0"}), "CPUExecutionProvider"]
    # Where the choice is left to us, the CPU will do.
    OnnxDecider(description, SEED, device="auto").add(1, onnx)
    assert asked[-1] == [("CUDAExecutionProvider", {"use_tf32": "0"}), "CPUExecutionProvider"]
    OnnxDecider(description, SEED, device="cpu").add(1, onnx)
    assert asked[-1] == ["CPUExecutionProvider"]


@pytest.mark.parametrize("recurrent", ["none", "gru"])
def test_correctness_R7_a_pass_is_bounded_by_its_bytes(recurrent, monkeypatch: pytest.MonkeyPatch):
    settings = PolicySettings(hidden_sizes=(8,), recurrent=recurrent, recurrent_size=4)
    description = game(DiscreteSpace(n=4))
    policy, whole = made(description, settings)
    # Three floats a row: seven rows at once, five passes of seven and one of five.
    monkeypatch.setattr("attract.vector.serving.decider.PASS_BYTES", 7 * 16 * 12 + 1)
    _, cut = made(description, settings)
    random = np.random.default_rng(0)
    observation = random.normal(size=(SLOTS, 3)).astype(np.float32)
    state = random.normal(size=(SLOTS, policy.state_size)).astype(np.float32)
    rows: list[int] = []
    run = cut._run_at_once
    monkeypatch.setattr(cut, "_run_at_once", lambda *given: rows.append(len(given[2])) or run(*given))
    got, expected = (decider.decide(7, batch_of(observation), state) for decider in (cut, whole))
    assert rows == [7] * 5 + [5]
    np.testing.assert_array_equal(got.action, expected.action)
    for name in ("log_prob", "value", "state"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=0, atol=1e-6)
