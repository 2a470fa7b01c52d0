"""What PufferLib's trainer is given, and how its time is counted. That it trains is seen where it exists."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from attract_benchmarks.baselines.order import BaselineRequest
from attract_benchmarks.baselines.puffer import TwoNetworks, train
from attract_benchmarks.harness.common_work import baseline_settings


class Environment:
    """Receives and sends."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.is_closed = False

    def recv(self) -> None:
        """Nothing came."""

    def send(self) -> None:
        """Nothing goes."""

    def close(self) -> None:
        self.is_closed = True


class Trainer:
    """As `PuffeRL`: one batch an evaluation."""

    made: list["Trainer"] = []

    def __init__(self, settings: dict[str, Any], environment: Environment, policy: nn.Module) -> None:
        self.settings, self.vecenv, self.policy = settings, environment, policy
        self.global_step = self.num_learned = 0
        self.folder = Path.cwd()
        self.utilization = types.SimpleNamespace(stop=lambda: None)
        Trainer.made.append(self)

    def evaluate(self) -> None:
        print("its dashboard")
        self.vecenv.recv()
        self.vecenv.send()
        self.global_step += self.settings["batch_size"]

    def train(self) -> None:
        self.num_learned += 1


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> type[Trainer]:
    def module(name: str, **members: Any) -> types.ModuleType:
        made = types.ModuleType(name)
        vars(made).update(members)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    def layer_init(layer: nn.Linear, std: float = 2**0.5) -> nn.Linear:
        nn.init.orthogonal_(layer.weight, std)
        return layer

    def make(game: Any, *, env_kwargs: dict[str, int], backend: str, num_envs: int) -> Environment:
        assert (game, backend, num_envs) == ("Cartpole", "Serial", 1)
        return Environment(**env_kwargs)

    for package in ("pufferlib", "pufferlib.ocean", "pufferlib.ocean.cartpole"):
        module(package, __path__=[])
    module("pufferlib.pufferl", PuffeRL=Trainer, ADVANTAGE_CUDA=True)
    module("pufferlib.vector", make=make)
    module("pufferlib.ocean.cartpole.cartpole", Cartpole="Cartpole")
    module("pufferlib.pytorch", layer_init=layer_init)
    Trainer.made = []
    return Trainer


def test_it_does_the_work_of_the_others_away_from_the_working_folder(
    trainer: type[Trainer], capsys: pytest.CaptureFixture[str]
) -> None:
    here = Path.cwd()
    report = train(BaselineRequest(16, baseline_settings(16), iterations=3, games="puffer"))
    (made,) = trainer.made
    given = made.settings
    assert (given["batch_size"], given["minibatch_size"], given["update_epochs"]) == (32_768, 4_096, 4)
    assert (given["learning_rate"], given["gamma"], given["gae_lambda"], given["clip_coef"]) == (
        1e-3,
        0.99,
        0.95,
        0.2,
    )
    assert given["total_timesteps"] == 3 * 32_768
    assert (made.vecenv.num_envs, made.vecenv.is_closed, made.num_learned) == (16, True, 3)
    # It leaves a link where it is imported.
    assert made.folder != here == Path.cwd()
    assert sys.modules["pufferlib.pufferl"].ADVANTAGE_CUDA is False
    assert [steps for _, steps in report.marks] == [32_768, 65_536, 98_304]
    assert set(report.seconds_of) == {"games", "inference", "learning"}
    # Its stdout is the report's alone.
    assert capsys.readouterr().out == ""


def test_its_policy_has_the_others_two_networks(trainer: type[Trainer]) -> None:
    train(BaselineRequest(4, {**baseline_settings(4), "n_steps": 64}, iterations=1, games="puffer"))
    policy = trainer.made[0].policy
    assert isinstance(policy, TwoNetworks)
    logits, values = policy.forward_eval(torch.zeros(5, 4))
    assert (logits.shape, values.shape) == ((5, 2), (5, 1))
    shapes = [tuple(parameter.shape) for parameter in policy.parameters() if parameter.dim() == 2]
    assert shapes == [(64, 4), (64, 64), (2, 64), (64, 4), (64, 64), (1, 64)]
