"""The cloning loss around an algorithm: its weight, its gradient, and nothing once it has faded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attract.experience.batch import Batch, load_batch
from attract.learner.algorithms.algorithm import ExtraLoss, Learnable, Progress, Report
from attract.learner.imitation.cloning import WithCloning
from attract.learner.policies.policy_state import PolicyState
from attract.learner.registry import choose_algorithm
from attract.policy.network import build_distribution, build_policy
from attract.settings.cloning import CloningSettings
from attract.settings.run import PolicySettings, RunSettings
from batches import demonstrated_signs
from learner_world import SignsFleet, SolePolicy, describe_signs


class Asked:
    """An `Algorithm` that only keeps the extra loss that it is given."""

    moments: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.extra: ExtraLoss | None = None

    def update(self, batch: Batch, progress: Progress, extra_loss: ExtraLoss | None = None) -> Report:
        self.extra = extra_loss
        return Report({"train/loss": 2.0})


@pytest.fixture
def batch(tmp_path: Path):
    fleet = SignsFleet(tmp_path / "store", num_slots=8, horizon=16, seed=1)
    yield load_batch(fleet.store, fleet.play(None, 0))
    fleet.close()


def around(inner: Asked, **settings: object) -> tuple[WithCloning, Learnable]:
    game = describe_signs()
    policy = build_policy(PolicySettings(hidden_sizes=(4,)), game, seed=1)
    learnable = Learnable(policy, build_distribution(game), seed=3)
    chosen = CloningSettings.model_validate(settings)
    return WithCloning(learnable, inner, chosen, demonstrated_signs()), learnable


def extra_of(inner: Asked) -> Tensor:
    assert inner.extra is not None
    return inner.extra(torch.Generator().manual_seed(0))


def test_P10_its_weight_falls_in_a_line_and_then_the_algorithm_is_as_it_is_without(batch: Batch):
    inner = Asked()
    wrapped, _ = around(inner, coef=0.4, share=0.5)
    one, weights = batch.at_version(0), []
    for steps in (0, 100, 200, 250, 900):
        report = wrapped.update(one, Progress(agent_steps=steps, schedule_steps=500))
        weights.append(report.metrics.get("train/cloning_coef"))
        assert (inner.extra is None) == (steps >= 250)
    assert weights[:3] == pytest.approx([0.4, 0.24, 0.08]) and weights[3:] == [None, None]
    assert wrapped.coef(Progress(agent_steps=10_000)) == 0.4


def test_what_is_added_is_the_weight_times_the_mean_negative_log_likelihood(batch: Batch):
    inner = Asked()
    wrapped, learnable = around(inner, coef=0.4, minibatch_steps=10_000)
    wrapped.update(batch.at_version(0), Progress())
    demonstrated = demonstrated_signs()
    outputs, _ = learnable.policy({"obs": demonstrated.observation["obs"][demonstrated.valid]})
    taken = demonstrated.action[demonstrated.valid].unsqueeze(1)
    expected = -0.4 * torch.log_softmax(outputs, 1).gather(1, taken).mean()
    assert extra_of(inner).item() == pytest.approx(expected.item(), rel=1e-5)


def test_an_extra_loss_from_outside_is_added_too(batch: Batch):
    inner = Asked()
    wrapped, _ = around(inner)
    wrapped.update(batch.at_version(0), Progress())
    alone = extra_of(inner)
    wrapped.update(batch.at_version(0), Progress(), lambda _: torch.tensor(5.0))
    assert (extra_of(inner) - alone).item() == pytest.approx(5.0)


def test_around_ppo_what_was_demonstrated_is_learned_where_rewards_say_nothing(batch: Batch):
    ppo = {"learning_rate": 1e-2, "target_kl": None, "entropy_coef": 0.0, "minibatch_steps": 32}
    likelihoods: dict[str, list[float]] = {}
    for name, coef in (("with", 1.0), ("without", 0.0)):
        settings = RunSettings.from_mapping({"ppo": ppo, "cloning": {"coef": coef}})
        choice = choose_algorithm(settings, demonstrations={None: demonstrated_signs()})
        updater = SolePolicy(choice)
        for version in range(15):
            metrics = updater.update(batch, Progress(version)).metrics
            likelihoods.setdefault(name, []).append(metrics.get("train/cloning_loss", float("nan")))
            updater.gather(batch)
    assert likelihoods["with"][-1] < 0.15 < 0.4 < likelihoods["with"][0]
    assert all(likelihood != likelihood for likelihood in likelihoods["without"])


def test_D2_a_checkpoint_is_the_inner_algorithms_alone():
    game = describe_signs()
    plain = choose_algorithm(RunSettings())
    cloning = choose_algorithm(RunSettings(), demonstrations={None: demonstrated_signs()})
    states = [
        PolicyState.create(game, PolicySettings(hidden_sizes=(4,)), choice, 3, torch.device("cpu"))
        for choice in (plain, cloning)
    ]
    plain_state, cloning_state = (state.state() for state in states)
    assert plain_state.tensors.keys() == cloning_state.tensors.keys()
    assert plain_state.document == cloning_state.document
