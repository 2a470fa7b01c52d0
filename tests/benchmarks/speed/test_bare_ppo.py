"""The bare loop is a fair opponent only if it does the same work: then it ends in the same weights."""

import dataclasses

import pytest
import torch

from attract_benchmarks.speed.bare_ppo import BarePpo
from attract_benchmarks.speed.ready_update import ReadyUpdate, cartpole_work


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("plain", [True, False])
def test_on_one_minibatch_it_ends_in_the_weights_of_the_real_update(shared: bool, plain: bool) -> None:
    work = cartpole_work(shared_trunk=shared, num_steps=2048)
    # All steps at once: the order in which they are drawn does not matter.
    work = dataclasses.replace(work, ppo=work.ppo.model_copy(update={"minibatch_steps": 2048}))
    ready = ReadyUpdate(work, torch.device("cpu"))
    bare = BarePpo(ready, plain=plain)
    start = [parameter.detach().clone() for parameter in ready.policy.parameters()]
    ready.update()
    bare.update()
    for one, other, before in zip(ready.policy.parameters(), bare.network.parameters(), start, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        # Four steps of Adam at 1e-3: it has gone somewhere.
        assert float((one.detach() - before).abs().max()) > 1e-3
