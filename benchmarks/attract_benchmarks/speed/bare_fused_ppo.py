"""The bare loop with the learner's own arithmetic: what a core could do that had nothing else to do."""

import math

import torch
from torch import Tensor

from attract.learner.algorithms.flat_parameters import FlatParameters
from attract.learner.ppo.update import create_optimizer
from attract.policy.dense_gradients import DensePolicy, parameter_blocks
from attract.policy.network import Policy
from attract_benchmarks.speed.bare_ppo import BarePpo
from attract_benchmarks.speed.ready_update import RATES, ReadyUpdate


class BareFusedPpo(BarePpo):
    """The passes of `BarePpo` with the gradients of dense layers written out, on a CPU.

    Args:
        ready: whose work is done again; its policy, which must be dense, is copied.
    """

    network: Policy

    def __init__(self, ready: ReadyUpdate) -> None:
        super().__init__(ready)

    @torch.inference_mode()
    def update(self) -> None:
        """All passes over the batch, with a fresh optimizer."""
        optimizer = create_optimizer(self.network, RATES.learning_rate)
        with FlatParameters(optimizer, parameter_blocks(self.network)) as flat:

            def views(*block: Tensor) -> tuple[Tensor, Tensor]:
                return flat.view(flat.weights, *block), flat.view(flat.gradients, *block)

            dense = DensePolicy(self.network, views)
            for index in self.minibatches():
                self._step(dense, index)
                flat.step(self._ppo.max_grad_norm or math.inf)

    def _step(self, dense: DensePolicy, index: Tensor) -> None:
        """Set the gradients of the same losses."""
        low, high = 1.0 - RATES.clip_range, 1.0 + RATES.clip_range
        observations = self._observations.index_select(0, index)
        outputs = dense.forward(observations)
        chosen = self._actions.index_select(0, index).unsqueeze(0)
        log_probs = torch.log_softmax(outputs[:-1], 0)
        ratio = (log_probs.gather(0, chosen).squeeze(0) - self._log_probs.index_select(0, index)).exp()
        advantages = self._normalised(index)
        unclipped = ratio * advantages
        counts = unclipped <= ratio.clamp(low, high) * advantages
        by_log_prob = (unclipped * counts).div_(len(index))
        # d log p_a / d logit_j = [j = a] - p_j, and the surrogate is to grow.
        by_outputs = torch.empty_like(outputs)
        torch.mul(log_probs.exp_(), by_log_prob, out=by_outputs[:-1])
        by_outputs[:-1].scatter_add_(0, chosen, by_log_prob.neg_().unsqueeze(0))
        torch.sub(outputs[-1], self._targets.index_select(0, index), out=by_outputs[-1])
        by_outputs[-1].mul_(self._value_coef / len(index))
        dense.backward(observations, by_outputs)
