"""Adam's state, running moments and random states, as checkpoints keep them."""

import base64
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from attract.algorithm.normalisation import RunningMoments
from attract.learner.algorithms.adam import Adam

_ADAM_KEYS = ("step", "exp_avg", "exp_avg_sq")
_MOMENTS = ("count", "mean", "squared_deviations")


def adam_tensors(optimizer: Adam, network: nn.Module) -> dict[str, Tensor]:
    """Adam's state by `<parameter>/<key>`; empty before the first step. Not copied."""
    return {
        f"{name}/{key}": optimizer.state[parameter][key]
        for name, parameter in network.named_parameters()
        for key in _ADAM_KEYS
        if parameter in optimizer.state
    }


def restore_adam(optimizer: Adam, network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Take over what `adam_tensors` gave.

    Raises: KeyError, ValueError: when something of a parameter is missing or spoilt.
    """
    state: dict[Tensor, dict[str, Tensor]] = {
        parameter: {
            key: tensors[f"{name}/{key}"].clone().to(parameter.device, torch.float32) for key in _ADAM_KEYS
        }
        for name, parameter in network.named_parameters()
        if f"{name}/step" in tensors
    }
    optimizer.state.clear()
    optimizer.state.update(state)


def moments_tensors(name: str, moments: RunningMoments) -> dict[str, Tensor]:
    """Moments by `<name>.<what>`, the count as float64. Not copied."""
    count = torch.tensor(moments.count, dtype=torch.float64)
    numbers = (count, moments.mean, moments.squared_deviations)
    return {f"{name}.{key}": number for key, number in zip(_MOMENTS, numbers, strict=True)}


def moments_of(name: str, tensors: Mapping[str, Tensor]) -> RunningMoments | None:
    """The inverse of `moments_tensors`; None when a tensor is missing."""
    names = [f"{name}.{key}" for key in _MOMENTS]
    if not tensors.keys() >= set(names):
        return None
    count, mean, squared = (tensors[name] for name in names)
    return RunningMoments(float(count), mean, squared)


def moments_by_name(tensors: Mapping[str, Tensor]) -> dict[str, RunningMoments]:
    """All moments among the tensors that `moments_tensors` gave, by name."""
    names = [name.removesuffix(f".{_MOMENTS[0]}") for name in tensors if name.endswith(f".{_MOMENTS[0]}")]
    found = {name: moments_of(name, tensors) for name in names}
    return {name: moments for name, moments in found.items() if moments is not None}


def random_state_of(generator: torch.Generator) -> str:
    """A generator's state as a JSON value."""
    return base64.b64encode(generator.get_state().numpy().tobytes()).decode()


def restore_random_state(generator: torch.Generator, state: str) -> None:
    """Take over what `random_state_of` gave. Raises: TypeError, ValueError, RuntimeError: it is spoilt."""
    generator.set_state(torch.frombuffer(bytearray(base64.b64decode(state)), dtype=torch.uint8))


def within(tensors: Mapping[str, Tensor], start: str) -> dict[str, Tensor]:
    """The tensors whose names begin with the prefix, without it."""
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
