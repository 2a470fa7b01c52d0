from dataclasses import replace

import pytest
import torch

from attract.algorithm.normalisation import RunningMoments
from attract.learner.checkpoints.checkpoint import to_bytes
from attract.learner.group.shares import (
    FederatedStatistics,
    Share,
    average_shares,
    is_like,
    share_of,
    tensors_of,
)


def moments(*values: float) -> RunningMoments:
    return RunningMoments.of(
        torch.tensor([[value] for value in values]), torch.ones(len(values), dtype=torch.bool)
    )


def share(weight: float, step: float, *seen: float) -> Share:
    return Share(
        weights={"layer.weight": torch.tensor([[weight, 2 * weight]]), "bias": torch.tensor([weight])},
        optimizer={
            "bias/step": torch.tensor(step),
            "bias/exp_avg": torch.tensor([10 * weight]),
            "bias/exp_avg_sq": torch.tensor([100 * weight]),
        },
        gathered={"obs": moments(*seen)},
    )


def test_weights_and_adams_moments_are_means_and_its_steps_the_largest():
    average = average_shares([share(1.0, 4.0, 1.0), share(2.0, 7.0, 1.0), share(6.0, 5.0, 1.0)])
    assert average.weights["layer.weight"].tolist() == [[3.0, 6.0]]  # (1 + 2 + 6) / 3
    assert average.weights["bias"].tolist() == [3.0]
    assert average.optimizer["bias/step"].item() == 7.0
    assert average.optimizer["bias/exp_avg"].tolist() == [30.0]
    assert average.optimizer["bias/exp_avg_sq"].tolist() == [300.0]
    assert average.weights["bias"].dtype == torch.float32


def test_moments_are_those_of_all_observations_together():
    average = average_shares([share(1.0, 1.0, 1.0, 2.0), share(1.0, 1.0, 6.0)])
    together = moments(1.0, 2.0, 6.0)
    gathered = average.gathered["obs"]
    assert gathered.count == 3
    assert gathered.mean.item() == pytest.approx(3.0)
    assert gathered.squared_deviations.item() == pytest.approx(
        together.squared_deviations.item()
    )  # 4 + 1 + 9


def test_a_share_goes_through_bytes_bit_for_bit():
    generator = torch.Generator().manual_seed(1)
    one = Share(
        weights={"b": torch.randn(3, 2, generator=generator), "a": torch.randn(4, generator=generator)},
        optimizer={"a/step": torch.tensor(3.0), "a/exp_avg": torch.randn(4, generator=generator)},
        gathered={
            "x": RunningMoments.of(torch.randn(5, 2, 2, generator=generator), torch.ones(5, dtype=torch.bool))
        },
    )
    back = share_of(to_bytes(tensors_of(one)))
    assert is_like(back, one)
    for name in ("a", "b"):
        assert torch.equal(back.weights[name], one.weights[name])
    assert torch.equal(back.optimizer["a/exp_avg"], one.optimizer["a/exp_avg"])
    assert back.optimizer["a/step"].shape == ()
    assert back.gathered["x"].count == 5
    assert torch.equal(back.gathered["x"].mean, one.gathered["x"].mean)
    assert torch.equal(back.gathered["x"].squared_deviations, one.gathered["x"].squared_deviations)


def test_P7_what_was_seen_before_a_round_is_not_counted_again_in_the_next():
    empty = {"obs": RunningMoments.empty((1,))}
    trainers = [FederatedStatistics(empty, empty) for _ in range(2)]
    seen = [[[1.0, 2.0], [3.0]], [[10.0], [20.0, 30.0]]]
    for number in range(2):
        for trainer, numbers in zip(trainers, seen, strict=True):
            trainer.add({"obs": moments(*numbers[number])})
        average = average_shares([Share({}, {}, trainer.own, trainer.common) for trainer in trainers])
        for trainer in trainers:
            trainer.take_in(average.common)
    for trainer in trainers:
        assert trainer.common["obs"].count == 6
        assert trainer.own["obs"].count == 0
        assert trainer.common["obs"].mean.item() == pytest.approx(11.0)  # 66 / 6
    assert torch.equal(
        trainers[0].common["obs"].squared_deviations, trainers[1].common["obs"].squared_deviations
    )


def test_shares_of_other_names_or_shapes_are_not_averaged():
    one = share(1.0, 4.0, 1.0)
    assert is_like(one, share(2.0, 7.0, 1.0, 2.0))
    assert not is_like(one, replace(one, optimizer={}))
    assert not is_like(one, replace(one, weights={**one.weights, "bias": torch.ones(2)}))
    assert not is_like(one, replace(one, gathered={}))
