"""The learner's use of its machine: device, threads, and modules that are worth loading early."""

import torch

from attract.learner.process.threads import measured_threads
from attract.processes.cores import usable_cores
from attract.settings.run import RunSettings

SMALL_MACHINE_CORES = 4


def warm_up() -> None:
    """Step a tiny network once: torch imports its compiler, for a second, with the first optimizer."""
    network = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    network(torch.zeros(1, 2)).sum().backward()
    optimizer.step()


def resolve_device(name: str) -> torch.device:
    """The torch device for `auto`, `cpu` or `cuda`."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def threads_for(settings: RunSettings) -> int:
    """Torch threads of a run's learner: the number in its settings, else the fastest measured one.

    In `sync` the machine alone decides: sums of other threads are other bits, whatever was measured (C8).
    """
    if settings.learner_threads:
        return settings.learner_threads
    if settings.collection.schedule == "sync":
        return default_threads()
    return measured_threads(usable_cores(), settings.collection.num_workers)


def default_threads() -> int:
    """Torch threads without a measurement: one where browsers need the other cores."""
    cores = usable_cores()
    return 1 if cores <= SMALL_MACHINE_CORES else cores // 2
