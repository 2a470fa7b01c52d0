"""The learner's use of its machine: device and threads."""

import torch

from attract.learner.process.threads import measured_threads
from attract.policy.dense_gradients import is_dense
from attract.policy.network import Policy, build_policy
from attract.processes.cores import usable_cores
from attract.schema.game import GameDescription
from attract.settings.run import RunSettings

SMALL_MACHINE_CORES = 4
MIN_GPU_WEIGHTS = 100_000
"""Weights of a dense network for which a minibatch computes longer than it takes to launch its 112 kernels.

An H100 takes 2.5 ms for the launches, whatever the network (docs/notebook/gpu.md). A CPU takes 1.4 ms for
4,096 steps of a network with 4,600 weights.
"""


def resolve_device(settings: RunSettings, game: GameDescription) -> torch.device:
    """The torch device of a run's learner.

    Raises: ConfigurationError: for an action space that cannot be trained.
    """
    if settings.device != "auto":
        return torch.device(settings.device)
    if not torch.cuda.is_available() or _is_small(build_policy(settings.policy, game)):
        return torch.device("cpu")
    return torch.device("cuda")


def threads_for(settings: RunSettings) -> int:
    """Torch threads of a run's learner: the number in its settings, else the fastest measured one.

    In `sync` the machine alone decides: sums of other threads are other bits, whatever was measured (C8).
    """
    if settings.learner_threads:
        return settings.learner_threads
    if settings.collection.schedule == "sync":
        return default_threads()
    return measured_threads(usable_cores(), settings.collection.num_workers)


def _is_small(policy: Policy) -> bool:
    return is_dense(policy) and sum(weight.numel() for weight in policy.parameters()) < MIN_GPU_WEIGHTS


def default_threads() -> int:
    """Torch threads without a measurement: one where browsers need the other cores."""
    cores = usable_cores()
    return 1 if cores <= SMALL_MACHINE_CORES else cores // 2
