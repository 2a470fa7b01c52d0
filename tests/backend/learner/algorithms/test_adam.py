"""Our Adam against torch's own, and that no learner imports torch's compiler."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from attract.learner.algorithms.adam import Adam

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
    policy, distribution = build_policy(settings.policy, game), build_distribution(game)
    learner = choose_algorithm(settings).create(Learnable(policy, distribution, 1))
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
