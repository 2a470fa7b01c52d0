"""How the learner uses the machine it runs on: device, threads, and what is worth loading early."""

import torch

from attract.processes.cores import usable_cores

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


def default_threads() -> int:
    """Torch threads when none were asked for: one where browsers need the other cores."""
    cores = usable_cores()
    return 1 if cores <= SMALL_MACHINE_CORES else cores // 2
