import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.learner.checkpoints.checkpoint import load_checkpoint, write_checkpoint
from attract.learner.checkpoints.tensor_namespaces import with_prefixes
from attract.learner.group.averaging import Averaging
from attract.learner.group.shares import FederatedStatistics, Lineage, Round, Share, average_shares
from attract.learner.policies.policy_state import PolicyState
from attract.learner.policies.training_state import TrainingState
from attract.learner.process.rounds import average, join
from attract.learner.registry import choose_algorithm
from attract.settings.run import PolicySettings, RunSettings
from learner_world import describe_signs

PPO = choose_algorithm(RunSettings())


class WithOther(Averaging):
    """A second trainer in the same thread, whose share is always this one."""

    def __init__(self, other: Share) -> None:
        self.other = other
        self.lineages: list[Lineage] = []

    def join(self, share: Share) -> Round:
        return Round(Share(self.other.weights, share.optimizer, share.gathered), Lineage(0, "begun"), (0,))

    def average(self, share: Share, lineage: Lineage) -> Round:
        self.lineages.append(lineage)
        result = average_shares([self.other, share])
        return Round(result, Lineage(lineage.rounds + 1, f"after {lineage.rounds + 1}"), (0, 1))


def sole(state: TrainingState) -> PolicyState:
    """The state of its one policy."""
    (one,) = state.policies.values()
    return one


def trained_state(seed: int) -> TrainingState:
    """One step of Adam and ten observations after the start."""
    state = TrainingState.create(
        describe_signs(),
        PolicySettings(hidden_sizes=(4,)),
        choose_algorithm(RunSettings()),
        seed,
        torch.device("cpu"),
    )
    empty = dict(sole(state).statistics)
    sole(state).federated = FederatedStatistics(common=empty, own=empty)
    generator = torch.Generator().manual_seed(seed)
    observations = torch.randn(10, 3, generator=generator) + seed
    for parameter in sole(state).policy.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    sole(state).algorithm.optimizer.step()
    seen = type(sole(state).statistics["obs"]).of(observations, torch.ones(10, dtype=torch.bool))
    sole(state).gather({"obs": seen})
    return state


def share_of(state: TrainingState) -> Share:
    assert sole(state).federated is not None
    weights = {name: parameter.detach().clone() for name, parameter in sole(state).policy.named_parameters()}
    optimizer = {name: tensor.clone() for name, tensor in sole(state).algorithm.state().optimizer.items()}
    return Share(weights, optimizer, sole(state).federated.own, sole(state).federated.common)


def test_a_round_leaves_both_trainers_with_the_same_state():
    states = [trained_state(1), trained_state(2)]
    shares = [share_of(state) for state in states]
    assert states[0].weights_sha256() != states[1].weights_sha256()
    average(states[0], WithOther(shares[1]), [1])
    average(states[1], WithOther(shares[0]), [1])
    assert states[0].weights_sha256() == states[1].weights_sha256()
    name = sorted(shares[0].weights)[0]
    mean = (shares[0].weights[name] + shares[1].weights[name]) / 2
    assert torch.allclose(dict(sole(states[0]).policy.named_parameters())[name], mean)
    assert sole(states[0]).statistics["obs"].count == 20
    left, right = (sole(state).algorithm.state().optimizer for state in states)
    assert all(torch.equal(left[key], right[key]) for key in left)


def test_rounds_are_done_in_order_and_none_when_none_is_due():
    state = trained_state(1)
    before, other = state.weights_sha256(), WithOther(share_of(trained_state(2)))
    assert average(state, other, []) == ()
    assert (state.weights_sha256(), other.lineages) == (before, [])
    assert average(state, other, [3, 4]) == (0, 1)
    assert other.lineages == [Lineage(), Lineage(1, "after 1")]
    assert state.lineage == Lineage(2, "after 2")


def test_to_begin_together_is_to_take_over_the_weights_alone():
    state, first = trained_state(1), trained_state(2)
    before = {name: tensor.clone() for name, tensor in sole(state).algorithm.state().optimizer.items()}
    join(state, WithOther(share_of(first)))
    for name, parameter in sole(first).policy.named_parameters():
        assert torch.equal(dict(sole(state).policy.named_parameters())[name], parameter)
    assert all(
        torch.equal(tensor, before[name]) for name, tensor in sole(state).algorithm.state().optimizer.items()
    )
    assert sole(state).statistics["obs"].count == 10


def test_D2_what_was_seen_since_the_last_round_goes_through_a_checkpoint(tmp_path):
    state, other = trained_state(1), WithOther(share_of(trained_state(2)))
    average(state, other, [1])
    more = trained_state(3)
    assert sole(more).federated is not None
    sole(state).gather(sole(more).federated.own)
    (tmp_path / "checkpoints").mkdir()
    path = write_checkpoint(tmp_path / "checkpoints", state.snapshot({}))
    resumed = trained_state(4)
    resumed.restore(load_checkpoint(path))
    assert resumed.lineage == Lineage(1, "after 1")
    assert sole(resumed).federated is not None
    assert (sole(resumed).federated.common["obs"].count, sole(resumed).federated.own["obs"].count) == (20, 10)
    average(state, other, [2])
    average(resumed, other, [2])
    assert resumed.weights_sha256() == state.weights_sha256()


def test_what_a_trainer_saw_alone_is_its_own_when_it_joins_others_later(tmp_path):
    alone = trained_state(1)
    sole(alone).federated = None
    (tmp_path / "checkpoints").mkdir()
    path = write_checkpoint(tmp_path / "checkpoints", alone.snapshot({}))
    joined = TrainingState.create(
        describe_signs(),
        PolicySettings(hidden_sizes=(4,)),
        choose_algorithm(RunSettings()),
        5,
        torch.device("cpu"),
    )
    empty = dict(sole(joined).statistics)
    sole(joined).federated = FederatedStatistics(common=empty, own=empty)
    joined.restore(load_checkpoint(path))
    assert (sole(joined).federated.common["obs"].count, sole(joined).federated.own["obs"].count) == (0, 10)


def test_a_trainer_that_is_alone_has_no_rounds():
    state = trained_state(1)
    sole(state).federated = None
    with pytest.raises(RuntimeError, match="alone"):
        average(state, WithOther(share_of(trained_state(2))), [1])


def test_several_policies_are_averaged_each_with_its_namesake():
    def pair(seed: int) -> TrainingState:
        state = TrainingState.create(
            describe_signs(),
            PolicySettings(hidden_sizes=(4,)),
            choose_algorithm(RunSettings()),
            seed,
            torch.device("cpu"),
            ("left", "right"),
        )
        for number, policy in enumerate(state.policies.values()):
            policy.begin_federated()
            for parameter in policy.policy.parameters():
                parameter.grad = torch.ones_like(parameter)
            policy.algorithm.optimizer.step()
            seen = torch.full((10, 3), float(seed + number))
            policy.gather({"obs": RunningMoments.of(seen, torch.ones(10, dtype=torch.bool))})
        return state

    def shares(state: TrainingState) -> dict[str, Share]:
        alone = {}
        for name, policy in state.policies.items():
            weights = {key: tensor.detach().clone() for key, tensor in policy.policy.named_parameters()}
            optimizer = {key: tensor.clone() for key, tensor in policy.algorithm.state().optimizer.items()}
            assert policy.federated is not None
            alone[name] = Share(weights, optimizer, policy.federated.own, policy.federated.common)
        return alone

    first, second = pair(1), pair(2)
    expected = {name: average_shares([shares(second)[name], shares(first)[name]]) for name in first.policies}
    other = Share(
        *(
            with_prefixes({name: getattr(share, part) for name, share in shares(second).items()})
            for part in ("weights", "optimizer", "gathered", "common")
        )
    )
    average(first, WithOther(other), [1])
    for name, policy in first.policies.items():
        for key, parameter in policy.policy.named_parameters():
            assert torch.equal(parameter, expected[name].weights[key])
        for key, tensor in policy.algorithm.state().optimizer.items():
            assert torch.equal(tensor, expected[name].optimizer[key])
        assert policy.statistics["obs"].count == 20
    means = [policy.statistics["obs"].mean[0].item() for policy in first.policies.values()]
    assert means == [1.5, 2.5]
