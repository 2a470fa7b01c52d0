"""What algorithms share: Adam against torch's own, their parameters in one piece, rewards in scale."""

import dataclasses
import subprocess
import sys

import pytest
import torch
from torch import nn

from attract.algorithm.normalisation import RunningMoments
from attract.experience.batch import Batch
from attract.experience.layout import RECURRENT_STATE
from attract.learner.algorithms import batch_evaluation, reward_scale
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.algorithm import Report, run_metrics
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.learner.algorithms.flat_parameters import FlatParameters
from attract.learner.algorithms.reward_scale import SlotReturns, scaled
from attract.schema.spaces import BoxSpace, DictSpace, DiscreteSpace, MultiBinarySpace, SetSpace
from batches import build, play


def test_E9_what_is_told_of_several_policies_is_told_apart():
    shared = {"train/learning_rate": 1e-3}
    reports = {
        name: Report({"train/loss": loss, "train/prio_beta": loss}, shared)
        for name, loss in (("scout", 0.1), ("keeper", 0.2))
    }
    metrics = run_metrics(reports, is_sole=False)
    assert (metrics["train/loss/scout"], metrics["train/loss/keeper"]) == (0.1, 0.2)
    assert metrics["train/prio_beta/keeper"] == 0.2
    assert metrics["train/learning_rate"] == 1e-3 and "train/loss" not in metrics
    # One that stayed as it was says nothing, and the other keeps its name.
    alone = run_metrics({"scout": reports["scout"]}, is_sole=False)
    assert "train/loss/scout" in alone and "train/loss" not in alone
    assert run_metrics({"main": reports["scout"]}, is_sole=True) == {
        "train/loss": 0.1,
        "train/prio_beta": 0.1,
        **shared,
    }


SHAPES = ((64, 128), (128,), (3, 8, 8, 16), ())


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def groups(tensors: list[nn.Parameter]) -> list[dict[str, object]]:
    return [{"params": tensors[:2], "rate": 1.0}, {"params": tensors[2:], "lr": 0.03}]


@pytest.mark.parametrize("is_grouped", [False, True])
def test_each_step_is_that_of_torch_bit_for_bit(is_grouped: bool):
    own, others = parameters(), parameters()
    ours = Adam(groups(own) if is_grouped else own, lr=0.01, eps=1e-5)
    theirs = torch.optim.Adam(groups(others) if is_grouped else others, lr=0.01, eps=1e-5, fused=True)
    generator = torch.Generator().manual_seed(2)
    for number in range(20):
        for optimizer in (ours, theirs):
            # Rates change over a run.
            optimizer.param_groups[0]["lr"] = 0.01 / (number + 1)
            optimizer.zero_grad()
        for place, (one, other) in enumerate(zip(own, others, strict=True)):
            gradient = torch.randn(one.shape, generator=generator)
            # A parameter without a gradient neither moves nor grows older.
            if (number + place) % 3 > 0:
                one.grad, other.grad = gradient, gradient.clone()
        ours.step()
        theirs.step()
        for one, other in zip(own, others, strict=True):
            assert torch.equal(one, other)
    for one, other in zip(own, others, strict=True):
        assert ours.state[one].keys() == theirs.state[other].keys()
        for key, tensor in theirs.state[other].items():
            assert torch.equal(ours.state[one][key], tensor)
            assert ours.state[one][key].dtype == tensor.dtype


def test_P8_an_undo_point_takes_back_steps_rates_and_gradients():
    own = parameters()
    optimizer = Adam(own[:3], lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        torch.stack([tensor.square().sum() for tensor in own[:3]]).sum().backward()
        optimizer.step()

    step()
    undo = optimizer.undo_point()
    before = {key: tensor.clone() for key, tensor in optimizer.state[own[0]].items()}
    optimizer.param_groups[0]["lr"] = 1.0
    step()
    undo()
    assert optimizer.param_groups[0]["lr"] == 0.01
    assert all(tensor.grad is None for tensor in own)
    for key, tensor in before.items():
        assert torch.equal(optimizer.state[own[0]][key], tensor)


LEARNS = """
import sys
sys.path[:] = {path!r}
import torch
from attract.learner.algorithms.algorithm import Learnable, Progress
from attract.learner.process import loop  # noqa: F401
from attract.learner.registry import choose_algorithm
from attract.policy.network import build_distribution, build_policy
from attract.schema.spaces import BoxSpace, DiscreteSpace
from attract.settings.run import RunSettings
from batches import play
from policies import describe

for name in ("ppo", "dqn", "sac"):
    action = BoxSpace(shape=[2], low=-1.0, high=1.0) if name == "sac" else DiscreteSpace(n=3)
    game = describe(BoxSpace(shape=[4]), action)
    settings = RunSettings.model_validate({{"algorithm": name, "sac": {{"replay_ratio": 0.05}}}})
    algorithm, distribution = choose_algorithm(settings), build_distribution(game)
    policy = build_policy(settings.policy, game, num_bins=algorithm.num_bins)
    learner = algorithm.create(Learnable(policy, distribution, 1))
    assert type(learner).__name__.lower() == name
    for version in range(2):
        batch = play(policy, distribution, horizon=64, slots=24, runs=1)
        report = learner.update(batch.at_version(version), Progress(version))
        learner.commit()
    assert "train/loss" in report.metrics
print(sorted(module for module in sys.modules if module.startswith("torch._dynamo")))
"""


def test_no_learner_imports_the_compiler_of_torch():
    script = LEARNS.format(path=sys.path)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (found.stdout, found.returncode) == ("[]\n", 0), found.stderr


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
    "a set": ({"observation": SetSpace(max=3, shape=[2]), "recurrent": "gru"}, {}),
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


def network(seed: int = 1) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2))


def adam(layers: nn.Module) -> Adam:
    return Adam(layers.parameters(), lr=1e-2, eps=1e-5)


def gradients(layers: nn.Module, step: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    return [torch.randn(parameter.shape, generator=generator) for parameter in layers.parameters()]


def test_steps_are_those_of_torch_and_the_vector_is_gone_afterwards() -> None:
    own, others = network(), network()
    own_adam = adam(own)
    other_adam = torch.optim.Adam(others.parameters(), lr=1e-2, eps=1e-5, fused=True)
    parameters = list(own.parameters())
    homes = [parameter.data_ptr() for parameter in parameters]
    for update in range(2):
        with FlatParameters(own_adam, [[parameter] for parameter in parameters]) as flat:
            for step in range(3):
                found = gradients(own, 10 * update + step)
                for parameter, gradient in zip(parameters, found, strict=True):
                    flat.view(flat.gradients, parameter).copy_(gradient)
                norm = flat.step(0.5)
                for parameter, gradient in zip(others.parameters(), found, strict=True):
                    parameter.grad = gradient.clone()
                expected = nn.utils.clip_grad_norm_(others.parameters(), 0.5)
                other_adam.step()
                assert float(norm) == pytest.approx(float(expected), rel=1e-6)
        assert [parameter.data_ptr() for parameter in parameters] == homes
    for parameter, other in zip(parameters, others.parameters(), strict=True):
        torch.testing.assert_close(parameter, other, rtol=0, atol=1e-6)
        state, known = own_adam.state[parameter], other_adam.state[other]
        assert float(state["step"]) == float(known["step"]) == 6
        torch.testing.assert_close(state["exp_avg_sq"], known["exp_avg_sq"], rtol=1e-5, atol=1e-9)


def test_what_has_no_gradient_neither_moves_nor_grows_older() -> None:
    layers = network()
    optimizer = adam(layers)
    still, *moving = layers.parameters()
    before = still.detach().clone()
    with FlatParameters(optimizer, [[parameter] for parameter in layers.parameters()], still=[still]) as flat:
        flat.gradients.fill_(1.0)
        flat.step(100.0)
    assert torch.equal(still, before)
    assert not optimizer.state.get(still)
    assert all(float(optimizer.state[parameter]["step"]) == 1 for parameter in moving)


def test_parameters_of_a_block_are_one_matrix() -> None:
    first, second = nn.Linear(4, 3), nn.Linear(4, 1)
    optimizer = Adam([first.weight, second.weight], lr=1e-3)
    with FlatParameters(optimizer, [[first.weight, second.weight]]) as flat:
        joined = flat.view(flat.weights, first.weight, second.weight)
        assert torch.equal(joined, torch.cat([first.weight, second.weight]))


def batch_of(rewards: list[list[float]], slots: list[int], first_steps: list[int], ended=()) -> Batch:
    """[T][S] rewards; `ended` are places (step, column) that terminated."""
    array = torch.tensor(rewards)
    over = torch.zeros(array.shape, dtype=torch.bool)
    for step, column in ended:
        over[step, column] = True
    zeros = torch.zeros_like(array)
    return Batch(
        observation={"obs": zeros.unsqueeze(-1)},
        action=zeros.long(),
        log_prob=zeros,
        value=zeros,
        reward=array,
        terminated=over,
        truncated=torch.zeros_like(over),
        valid=torch.ones_like(over),
        final_value=zeros,
        bootstrap_value=zeros[0],
        slot_id=torch.tensor(slots),
        first_step=torch.tensor(first_steps),
        policy_version=torch.zeros(len(slots), dtype=torch.int64),
        worker_id=torch.zeros(len(slots), dtype=torch.int64),
    )


def test_P11_a_slot_goes_on_where_its_last_segment_ended():
    slots = SlotReturns()
    first = slots.see(batch_of([[1.0, 1.0], [1.0, 1.0]], [7, 9], [0, 0], ended=[(1, 1)]), 0.5)
    assert first.moments.mean.item() == pytest.approx(1.25)  # 1, 1.5 of each
    slots.take_over(first)
    # Slot 7 brings 1.5 along: 1 + 0.75; slot 9 has ended: 1.
    second = slots.see(batch_of([[1.0, 1.0]], [7, 9], [2, 2]), 0.5)
    assert second.moments.mean.item() == pytest.approx((1.75 + 1.0) / 2)
    # A segment between is missing: restart.
    hole = slots.see(batch_of([[1.0]], [7], [4]), 0.5)
    assert hole.moments.mean.item() == 1.0


def test_P8_P11_what_was_seen_counts_only_once_it_was_learned_from():
    slots = SlotReturns()
    seen = slots.see(batch_of([[4.0]], [1], [0]), 0.5)
    again = slots.see(batch_of([[4.0]], [1], [1]), 0.5)
    assert again.moments.mean.item() == 4.0  # nothing was taken over
    slots.take_over(seen)
    assert slots.see(batch_of([[4.0]], [1], [1]), 0.5).moments.mean.item() == 6.0


def test_D2_P11_slots_go_into_a_checkpoint_and_come_back():
    slots, restored = SlotReturns(), SlotReturns()
    slots.take_over(slots.see(batch_of([[1.0, 2.0]], [3, 5], [8, 9]), 0.5))
    restored.restore(slots.tensors())
    next_batch = batch_of([[1.0, 1.0]], [5, 3], [10, 9])
    assert restored.see(next_batch, 0.5).carried == slots.see(next_batch, 0.5).carried
    assert restored.see(next_batch, 0.5).carried == {5: (11, 2.0), 3: (10, 1.5)}


def test_slots_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reward_scale, "MAX_SLOTS", 2)
    slots = SlotReturns()
    for slot in (1, 2, 1, 3):
        slots.take_over(slots.see(batch_of([[1.0]], [slot], [0]), 0.5))
    assert slots.tensors()["slot"].tolist() == [1, 3]  # 2 was heard of longest ago


def test_P11_the_batch_itself_counts_in_what_it_is_divided_by():
    seen = SlotReturns().see(batch_of([[3.0, 0.0]], [0, 1], [0, 0]), 0.9)
    so_far = RunningMoments.of(torch.zeros(7), torch.ones(7, dtype=torch.bool))
    rewards, divisor = scaled(torch.tensor([[3.0, 0.0]]), so_far, seen)
    assert divisor == pytest.approx((8 / 9) ** 0.5)  # of 3 and eight zeros: 9 / 9 - (1 / 3)^2
    assert rewards.tolist() == [[pytest.approx(3.0 / divisor), 0.0]]
