"""The bound is one only if the loop that gives it does all the work: then it ends in the same weights."""

import dataclasses

import pytest
import torch

from attract_benchmarks.speed.bare_fused_ppo import BareFusedPpo
from attract_benchmarks.speed.bare_ppo import BarePpo
from attract_benchmarks.speed.ready_update import ReadyUpdate, cartpole_work


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("max_grad_norm", [0.05, None])
def test_it_ends_in_the_weights_of_the_bare_loop_by_autograd(
    shared: bool, max_grad_norm: float | None
) -> None:
    work = cartpole_work(shared_trunk=shared, num_steps=2048)
    # Several minibatches, drawn alike, with gradients that are cut and that are not.
    changes = {"minibatch_steps": 512, "max_grad_norm": max_grad_norm}
    work = dataclasses.replace(work, ppo=work.ppo.model_copy(update=changes))
    ready = ReadyUpdate(work, torch.device("cpu"))
    found: list[list[torch.Tensor]] = []
    start = [parameter.detach().clone() for parameter in ready.policy.parameters()]
    for bare in (BareFusedPpo(ready), BarePpo(ready)):
        torch.manual_seed(4)
        bare.update()
        found.append([parameter.detach() for parameter in bare.network.parameters()])
    for one, other, before in zip(*found, start, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
        # Sixteen steps of Adam at 1e-3: it has gone somewhere.
        assert float((one - before).abs().max()) > 1e-3


def test_a_round_leaves_the_first_weights_behind() -> None:
    bare = BareFusedPpo(ReadyUpdate(cartpole_work(num_steps=1024), torch.device("cpu")))
    before = [parameter.detach().clone() for parameter in bare.network.parameters()]
    assert bare.run() > 0
    assert all(torch.equal(one, other) for one, other in zip(bare.network.parameters(), before, strict=True))
