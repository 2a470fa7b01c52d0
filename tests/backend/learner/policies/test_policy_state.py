"""One policy's part of the training state: its streams, what it has seen, its checkpoint, what is undone."""

import dataclasses
from pathlib import Path

import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.errors import CheckpointError
from attract.learner.algorithms.algorithm import Algorithm, Learnable
from attract.learner.checkpoints.checkpoint import Checkpoint
from attract.learner.policies.policy_state import PolicyState, matching_state
from attract.learner.registry import choose_algorithm
from attract.learner.verification import Tolerance
from attract.settings.run import PolicySettings, RunSettings
from learner_world import describe_signs


def create(seed: int = 3, policy_id: str | None = None, hidden: int = 8, **ppo: object) -> PolicyState:
    choice = choose_algorithm(RunSettings.from_mapping({"ppo": ppo}))
    sizes = PolicySettings(hidden_sizes=(hidden,))
    return PolicyState.create(describe_signs(), sizes, choice, seed, torch.device("cpu"), policy_id)


def seen(value: float, count: int) -> RunningMoments:
    """Moments of that many observations, all of them `value`."""
    return RunningMoments.of(torch.full((count, 3), value), torch.ones(count, dtype=torch.bool))


def checkpoint(state: PolicyState) -> Checkpoint:
    """What a checkpoint would hold of it."""
    own = state.state()
    tensors = {name: tensor.detach().clone() for name, tensor in own.tensors.items()}
    optimizer = {name: tensor.clone() for name, tensor in own.optimizer.items()}
    return Checkpoint(Path("checkpoints/1"), 1, tensors, optimizer, dict(own.document))


def weights(state: PolicyState) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in state.policy.named_parameters()}


def are_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def step(state: PolicyState) -> None:
    """Change weights and optimizer."""
    state.algorithm.optimizer.zero_grad()
    _, value = state.policy({"obs": torch.ones(4, 3)})
    value.sum().backward()
    state.algorithm.optimizer.step()


def test_C8_each_of_several_policies_has_weights_of_its_own_that_its_name_decides() -> None:
    left, again, right = (create(policy_id=name) for name in ("left", "left", "right"))
    assert are_equal(weights(left), weights(again))
    assert not are_equal(weights(left), weights(right))
    assert not are_equal(weights(left), weights(create()))


def test_P14_an_algorithm_is_told_how_many_agents_play() -> None:
    received: list[Learnable] = []
    choice = choose_algorithm(RunSettings())

    def create_noted(learnable: Learnable) -> Algorithm:
        received.append(learnable)
        return choice.create(learnable)

    for num_agents in (1, 3):
        game = describe_signs().model_copy(update={"num_agents": num_agents})
        noted = dataclasses.replace(choice, create=create_noted)
        PolicyState.create(game, PolicySettings(hidden_sizes=(8,)), noted, 3, torch.device("cpu"), "left")
    assert [learnable.num_agents for learnable in received] == [1, 3]


def test_P7_what_was_seen_is_merged_and_the_policy_normalises_by_it_at_once() -> None:
    state = create()
    state.gather({"obs": seen(1.0, 30)})
    state.gather({"obs": seen(4.0, 10)})
    # (30 * 1 + 10 * 4) / 40 = 1.75
    assert state.statistics["obs"].count == 40
    assert state.statistics["obs"].mean.tolist() == [1.75] * 3
    assert state.policy.normalisers["obs"].mean.tolist() == [1.75] * 3
    state.gather({})
    assert state.statistics["obs"].count == 40, "a key that is left out has seen nothing"


def test_P7_statistics_that_were_set_reach_the_policy_only_when_applied() -> None:
    state = create()
    state.statistics = {**state.statistics, "obs": seen(2.0, 5)}
    assert state.policy.normalisers["obs"].mean.tolist() == [0.0] * 3
    state.apply_statistics()
    assert state.policy.normalisers["obs"].mean.tolist() == [2.0] * 3


def test_a_trainer_among_others_keeps_apart_what_it_has_seen_itself() -> None:
    state = create()
    state.gather({"obs": seen(1.0, 30)})
    state.begin_federated()
    state.gather({"obs": seen(4.0, 10)})
    assert state.federated is not None
    assert (state.federated.own["obs"].count, state.federated.common["obs"].count) == (10, 0)
    assert state.statistics["obs"].count == 40


def test_D2_what_a_trainer_has_seen_itself_survives_a_checkpoint_and_else_all_of_it_is_its_own() -> None:
    state = create()
    state.begin_federated()
    state.gather({"obs": seen(4.0, 10)})
    assert state.federated is not None
    state.federated.take_in(state.statistics)
    state.gather({"obs": seen(1.0, 30)})
    other = create(seed=9)
    other.begin_federated()
    other.adopt(checkpoint(state))
    other.restore(checkpoint(state))
    assert other.federated is not None
    assert (other.federated.own["obs"].count, other.federated.common["obs"].count) == (30, 10)

    alone = create()
    alone.gather({"obs": seen(4.0, 10)})
    joining = create(seed=9)
    joining.begin_federated()
    joining.adopt(checkpoint(alone))
    joining.restore(checkpoint(alone))
    assert joining.federated is not None
    assert (joining.federated.own["obs"].count, joining.federated.common["obs"].count) == (10, 0)


def test_D2_restoring_takes_the_optimizer_and_the_tolerance_and_adopting_does_not() -> None:
    state = create()
    state.tolerance = Tolerance(12, 3.25e-7)
    step(state)
    saved = checkpoint(state)
    other = create(seed=9)
    other.adopt(saved)
    assert are_equal(weights(state), weights(other))
    assert (other.tolerance, other.algorithm.state().optimizer) == (Tolerance(), {})
    other.restore(saved)
    assert other.tolerance == Tolerance(12, 3.25e-7)
    assert are_equal(state.algorithm.state().optimizer, other.algorithm.state().optimizer)
    step(state)
    step(other)
    assert are_equal(weights(state), weights(other))


def test_P8_undoing_brings_back_weights_and_optimizer_as_they_were() -> None:
    state = create()
    step(state)
    before, optimizer = (
        weights(state),
        {name: tensor.clone() for name, tensor in state.algorithm.state().optimizer.items()},
    )
    undo = state.algorithm.snapshot()
    step(state)
    assert not are_equal(before, weights(state))
    undo()
    assert are_equal(before, weights(state))
    assert are_equal(optimizer, state.algorithm.state().optimizer)


def test_a_checkpoint_whose_statistics_are_missing_is_refused() -> None:
    saved = checkpoint(create())
    gone = [name for name in saved.policy if name.startswith("observation_statistics")]
    assert gone
    for name in gone:
        del saved.policy[name]
    with pytest.raises(CheckpointError, match="a normaliser without its statistics"):
        create().adopt(saved)


def test_a_network_fits_a_checkpoint_by_its_tensors_whatever_else_lies_beside_them() -> None:
    state = create()
    saved = checkpoint(state)
    saved.policy["exploration.predictor.weight"] = torch.zeros(2)
    assert matching_state(saved, state.policy).keys() == state.policy.state_dict().keys()
    with pytest.raises(CheckpointError) as refused:
        matching_state(saved, create(hidden=16).policy)
    assert "trunk.0.bias: this network has [16], the checkpoint [8]" in str(refused.value)
    assert "exploration" not in str(refused.value)
