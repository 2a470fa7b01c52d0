"""Adam in one fused kernel, by itself: torch's own optimizers import its compiler, which takes a second."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

import torch
from torch import Tensor

BETAS: Final = (0.9, 0.999)


class Adam:
    """Adam without weight decay, bit for bit `torch.optim.Adam(fused=True)`; owned by what it trains.

    Args:
        parameters: [...] float32 tensors of one device; or groups of them, each a mapping of `params` and the
            numbers that are the group's own.
        lr: step size.
        eps: added to the root of the second moment.

    Source: Kingma and Ba 2014 (arXiv:1412.6980), algorithm 1.
    """

    def __init__(
        self, parameters: Iterable[Tensor] | Iterable[Mapping[str, Any]], lr: float, eps: float = 1e-8
    ) -> None:
        given = list(parameters)
        groups = (
            [{"params": given}]
            if given and isinstance(given[0], Tensor)
            else cast("list[Mapping[str, Any]]", given)
        )
        self.param_groups: list[dict[str, Any]] = [
            {"lr": lr, "betas": BETAS, "eps": eps, **group, "params": list(group["params"])}
            for group in groups
        ]
        """`params`, `lr`, `betas` and `eps` of each group, and its own numbers; `lr` may be set."""
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)
        """By parameter, once it has stepped: `step`, [] float32; `exp_avg` and `exp_avg_sq` of its shape."""

    def zero_grad(self) -> None:
        """Remove all gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step of each parameter that has a gradient."""
        for group in self.param_groups:
            moved = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not moved:
                continue
            states = [self.state[parameter] or self._begun(parameter) for parameter in moved]
            ages = [state["step"] for state in states]
            torch.ops.aten._foreach_add_.Scalar(ages, 1)
            torch.ops.aten._fused_adam_.default(
                moved,
                [parameter.grad for parameter in moved],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],
                ages,
                lr=group["lr"],
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                weight_decay=0.0,
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
            )

    def undo_point(self) -> Callable[[], None]:
        """A function that undoes all later changes to state and numbers, and removes the gradients."""
        kept = {
            parameter: {key: tensor.clone() for key, tensor in state.items()}
            for parameter, state in self.state.items()
        }
        numbers = [dict(group) for group in self.param_groups]

        def undo() -> None:
            self.state.clear()
            self.state.update(kept)
            for group, before in zip(self.param_groups, numbers, strict=True):
                group.update(before)
            self.zero_grad()

        return undo

    def _begun(self, parameter: Tensor) -> dict[str, Tensor]:
        state = self.state[parameter]
        state["step"] = torch.zeros((), device=parameter.device)
        state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        return state
