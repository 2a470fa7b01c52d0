import pytest
import torch

from attract.learner.checkpoint import load_checkpoint, write_checkpoint
from attract.learner.federated import FederatedStatistics, Share, average_shares
from attract.learner.rounds import average, join
from attract.learner.state import TrainingState
from attract.settings import PolicySettings, PpoSettings
from learner_world import describe_signs


class WithOther:
    """A second trainer in the same thread, whose share is always this one."""

    def __init__(self, other: Share) -> None:
        self.other = other
        self.rounds: list[int] = []
        self.is_over = False

    def join(self, share: Share) -> Share:
        return Share(self.other.weights, share.optimizer, share.gathered)

    def average(self, round_number: int, share: Share) -> Share | None:
        if self.is_over:
            return None
        self.rounds.append(round_number)
        return average_shares([self.other, share])

    def leave(self) -> None:
        pass

    def close(self) -> None:
        pass


def trained_state(seed: int) -> TrainingState:
    """One step of Adam and ten observations after the start."""
    state = TrainingState.create(
        describe_signs(), PolicySettings(hidden_sizes=(4,)), PpoSettings(), seed, torch.device("cpu")
    )
    empty = dict(state.statistics)
    state.federated = FederatedStatistics(common=empty, own=empty)
    generator = torch.Generator().manual_seed(seed)
    observations = torch.randn(10, 3, generator=generator) + seed
    for parameter in state.policy.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    state.optimizer.step()
    seen = type(state.statistics["obs"]).of(observations, torch.ones(10, dtype=torch.bool))
    state.gather({"obs": seen})
    return state


def share_of(state: TrainingState) -> Share:
    assert state.federated is not None
    weights = {name: one.detach().clone() for name, one in state.policy.named_parameters()}
    optimizer = {name: one.clone() for name, one in state.optimizer_tensors().items()}
    return Share(weights, optimizer, state.federated.own)


def test_a_round_leaves_both_trainers_with_the_same_state():
    states = [trained_state(1), trained_state(2)]
    shares = [share_of(state) for state in states]
    assert states[0].weights_sha256() != states[1].weights_sha256()
    average(states[0], WithOther(shares[1]), [1])
    average(states[1], WithOther(shares[0]), [1])
    assert states[0].weights_sha256() == states[1].weights_sha256()
    name = sorted(shares[0].weights)[0]
    mean = (shares[0].weights[name] + shares[1].weights[name]) / 2
    assert torch.allclose(dict(states[0].policy.named_parameters())[name], mean)
    assert states[0].statistics["obs"].count == 20
    left, right = (state.optimizer_tensors() for state in states)
    assert all(torch.equal(left[key], right[key]) for key in left)


def test_rounds_are_done_in_order_and_none_when_none_is_due():
    state = trained_state(1)
    before, other = state.weights_sha256(), WithOther(share_of(trained_state(2)))
    average(state, other, [])
    assert (state.weights_sha256(), other.rounds) == (before, [])
    average(state, other, [3, 4])
    assert other.rounds == [3, 4]


def test_nothing_changes_once_it_is_over():
    state, other = trained_state(1), WithOther(share_of(trained_state(2)))
    before, other.is_over = state.weights_sha256(), True
    average(state, other, [1, 2])
    assert (state.weights_sha256(), state.statistics["obs"].count, other.rounds) == (before, 10, [])


def test_to_begin_together_is_to_take_over_the_weights_alone():
    state, first = trained_state(1), trained_state(2)
    before = {name: one.clone() for name, one in state.optimizer_tensors().items()}
    join(state, WithOther(share_of(first)))
    for name, parameter in first.policy.named_parameters():
        assert torch.equal(dict(state.policy.named_parameters())[name], parameter)
    assert all(torch.equal(one, before[name]) for name, one in state.optimizer_tensors().items())
    assert state.statistics["obs"].count == 10


def test_D2_what_was_seen_since_the_last_round_goes_through_a_checkpoint(tmp_path):
    state, other = trained_state(1), WithOther(share_of(trained_state(2)))
    average(state, other, [1])
    more = trained_state(3)
    assert more.federated is not None
    state.gather(more.federated.own)
    (tmp_path / "checkpoints").mkdir()
    path = write_checkpoint(tmp_path / "checkpoints", state.snapshot({}))
    resumed = trained_state(4)
    resumed.restore(load_checkpoint(path))
    assert resumed.federated is not None
    assert (resumed.federated.common["obs"].count, resumed.federated.own["obs"].count) == (20, 10)
    average(state, other, [2])
    average(resumed, other, [2])
    assert resumed.weights_sha256() == state.weights_sha256()


def test_what_a_trainer_saw_alone_is_its_own_when_it_joins_others_later(tmp_path):
    alone = trained_state(1)
    alone.federated = None
    (tmp_path / "checkpoints").mkdir()
    path = write_checkpoint(tmp_path / "checkpoints", alone.snapshot({}))
    joined = TrainingState.create(
        describe_signs(), PolicySettings(hidden_sizes=(4,)), PpoSettings(), 5, torch.device("cpu")
    )
    empty = dict(joined.statistics)
    joined.federated = FederatedStatistics(common=empty, own=empty)
    joined.restore(load_checkpoint(path))
    assert (joined.federated.common["obs"].count, joined.federated.own["obs"].count) == (0, 10)


def test_a_trainer_that_is_alone_has_no_rounds():
    state = trained_state(1)
    state.federated = None
    with pytest.raises(RuntimeError, match="alone"):
        average(state, WithOther(share_of(trained_state(2))), [1])
