"""PufferLib 3's own trainer on its own CartPole in C, timed: `python -m attract_benchmarks.baselines.puffer`.

Reads a `BaselineRequest` on stdin and prints a `BaselineReport`. Two networks of 64-64 tanh, as the others
have, and Adam instead of its Muon; segments are its own, of 64 steps. Its CartPole ends after 200 steps.
"""

import contextlib
import importlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attract_benchmarks.baselines.files import NUM_ACTIONS, NUM_INPUTS
from attract_benchmarks.baselines.order import BaselineReport, BaselineRequest
from attract_benchmarks.baselines.stopwatch import Stopwatch

SEGMENT_STEPS = 64


class TwoNetworks(nn.Module):
    """Policy and value apart, under the names that its trainer calls."""

    def __init__(self, layer_init: Any) -> None:
        """`layer_init`: its own orthogonal initialisation."""
        super().__init__()
        self.hidden_size = 64
        self._policy = _network(layer_init, NUM_ACTIONS, last_gain=0.01)
        self._value = _network(layer_init, 1, last_gain=1.0)

    def forward(self, observations: Tensor, _state: Any = None) -> tuple[Tensor, Tensor]:
        """Logits [rows, actions] and values [rows, 1]."""
        return self._policy(observations), self._value(observations)

    forward_eval = forward


def train(order: BaselineRequest) -> BaselineReport:
    """Train as ordered; the clock starts with the first rollout."""
    torch.set_num_threads(1)
    torch.manual_seed(order.seed)
    # Imported, it leaves a link in the working folder.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        trainer: Any = importlib.import_module("pufferlib.pufferl")
        vector: Any = importlib.import_module("pufferlib.vector")
        games: Any = importlib.import_module("pufferlib.ocean.cartpole.cartpole")
        layer_init: Any = importlib.import_module("pufferlib.pytorch").layer_init
        # Where CUDA's compiler is on the path, its advantages expect a GPU.
        trainer.ADVANTAGE_CUDA = False
        environment = vector.make(
            games.Cartpole, env_kwargs={"num_envs": order.num_environments}, backend="Serial", num_envs=1
        )
        settings = {**_settings(order), "data_dir": folder}
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            learner = trainer.PuffeRL(settings, environment, TwoNetworks(layer_init))
            report = _timed(learner, order)
        learner.utilization.stop()
        environment.close()
    return report


def _timed(learner: Any, order: BaselineRequest) -> BaselineReport:
    watch = Stopwatch()
    environment = learner.vecenv
    environment.recv = watch.timed("games", environment.recv)
    environment.send = watch.timed("games", environment.send)
    roll_out, learn = watch.timed("rollout", learner.evaluate), watch.timed("learning", learner.train)
    marks: list[tuple[float, int]] = []
    for _ in range(order.iterations):
        roll_out()
        learn()
        marks.append((watch.seconds, learner.global_step))
    seconds = watch.seconds_of
    inference = seconds["rollout"] - seconds["games"]
    parts = {"games": seconds["games"], "inference": inference, "learning": seconds["learning"]}
    return BaselineReport(marks, None, parts)


def _settings(order: BaselineRequest) -> dict[str, Any]:
    """Settings under its names. Its trainer is set to do what the others do: Adam, all segments alike."""
    given = order.settings
    batch = given["n_steps"] * order.num_environments
    return {
        "env": "puffer_cartpole",
        "seed": order.seed,
        "device": "cpu",
        "cpu_offload": False,
        "torch_deterministic": True,
        "precision": "float32",
        "compile": False,
        "use_rnn": False,
        "optimizer": "adam",
        "adam_beta1": 0.9,
        "adam_beta2": 0.999,
        "adam_eps": 1e-5,
        "anneal_lr": False,
        "total_timesteps": order.iterations * batch,
        "batch_size": batch,
        "bptt_horizon": SEGMENT_STEPS,
        "minibatch_size": min(given["batch_size"], batch),
        "max_minibatch_size": batch,
        "update_epochs": given["n_epochs"],
        "learning_rate": given["learning_rate"],
        "gamma": given["gamma"],
        "gae_lambda": given["gae_lambda"],
        "clip_coef": given["clip_range"],
        "vf_coef": 0.5,
        "vf_clip_coef": 10.0,
        "max_grad_norm": 0.5,
        "ent_coef": 0.0,
        "vtrace_rho_clip": 1.0,
        "vtrace_c_clip": 1.0,
        "prio_alpha": 0.0,
        "prio_beta0": 0.2,
        "checkpoint_interval": 1_000_000,
    }


def _network(layer_init: Any, outputs: int, *, last_gain: float) -> nn.Sequential:
    return nn.Sequential(
        layer_init(nn.Linear(NUM_INPUTS, 64)),
        nn.Tanh(),
        layer_init(nn.Linear(64, 64)),
        nn.Tanh(),
        layer_init(nn.Linear(64, outputs), std=last_gain),
    )


if __name__ == "__main__":
    train(BaselineRequest.read()).write()
    # Its thread that watches the machine is no daemon.
    sys.stdout.flush()
    os._exit(0)
