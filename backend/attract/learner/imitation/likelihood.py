"""The cloning loss: how unlikely a policy finds what was demonstrated."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attract.algorithm.distributions import ActionDistribution
from attract.errors import ConfigurationError
from attract.experience.batch import Batch, finite_where_invalid
from attract.experience.layout import RECURRENT_STATE
from attract.learner.algorithms.batch_evaluation import evaluate_batch
from attract.policy.network import Policy
from attract.policy.observation_inputs import Preprocessed

IMPOSSIBLE = -1e8
"""Log-probabilities below are of actions that the mask forbids."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The policy's outputs at some of the demonstrated steps, with gradient."""

    log_probs: Tensor
    """[n] float32, of the actions that were demonstrated."""
    values: Tensor
    """[n] float32."""
    steps: Tensor
    """[n] int64, places in the flattened [T, S]."""


class CloningLoss:
    """Reads a batch of demonstrations with a policy; on the policy's device.

    A recurrent policy is unrolled along whole segments, each from the state that the weights of the last
    `refresh` led to (rules S3, S4); of any other policy single steps are drawn.

    Args:
        policy: whose weights the gradient is of; not changed.
        distribution: of the game's actions.
        batch: of demonstrations.
        minibatch_steps: steps drawn at a time; of a recurrent policy the segments that hold as many.

    Raises: ConfigurationError: an action was demonstrated that its mask forbids.
    """

    def __init__(
        self, policy: Policy, distribution: ActionDistribution, batch: Batch, minibatch_steps: int
    ) -> None:
        self._policy = policy
        self._distribution = distribution
        self._minibatch_steps = minibatch_steps
        self._is_recurrent = policy.state_size > 0
        self.batch = replace(
            batch, observation=finite_where_invalid(batch.observation, batch.valid), recurrent_state={}
        )
        self._valid_steps = batch.valid.flatten().nonzero().squeeze(1)
        self._check_allowed()
        self._preprocessed: Preprocessed = {}
        self._states = torch.zeros(batch.valid.shape[1], policy.state_size, device=batch.valid.device)
        self._after = torch.zeros_like(self._states)
        self.refresh()

    @property
    def num_steps(self) -> int:
        """Demonstrated steps that are learned from."""
        return self._valid_steps.numel()

    @torch.no_grad()
    def refresh(self) -> None:
        """Take in the policy's normalisation as it is now and, of a recurrent one, the states it leads to."""
        self._preprocessed = self._policy.preprocess(self.batch.observation)
        if not self._is_recurrent:
            return
        horizon = self.batch.valid.shape[0]
        for first_step in sorted(set(self.batch.first_step.tolist())):
            columns = (self.batch.first_step == first_step).nonzero().squeeze(1)
            if first_step > 0:
                self._states[columns] = self._after[self._before(columns, first_step - horizon)]
            part = {key: array[:, columns] for key, array in self._preprocessed.items()}
            resets = self.batch.reset_after[:, columns]
            _, _, after = self._policy.unroll(part, self._states[columns], resets)
            self._after[columns] = after[-1].masked_fill(resets[-1].unsqueeze(1), 0.0)

    def sample(self, generator: torch.Generator) -> Tensor:
        """Mean negative log-likelihood, nats, of a random minibatch; with gradient."""
        return -self.outputs(next(self.minibatches(generator))).log_probs.mean()

    def minibatches(self, generator: torch.Generator) -> Iterator[Tensor]:
        """Every valid step once in random order, as `outputs` takes them; [n] int64 each.

        Args:
            generator: on the CPU; drawn from once.
        """
        device = self.batch.valid.device
        if self._is_recurrent:
            num_segments = self.batch.valid.shape[1]
            at_once = max(1, self._minibatch_steps * num_segments // max(1, self.num_steps))
            order = torch.randperm(num_segments, generator=generator)
            parts = (part for part in order.split(at_once))
            return (part.to(device) for part in parts if bool(self.batch.valid[:, part.to(device)].any()))
        order = torch.randperm(self.num_steps, generator=generator).to(device)
        return iter(self._valid_steps[order].split(self._minibatch_steps))

    def outputs(
        self, chosen: Tensor, varied: Callable[[Preprocessed], Preprocessed] = lambda part: part
    ) -> Chosen:
        """The policy's outputs for these steps, or for segments if it is recurrent; with gradient.

        Args:
            chosen: as `minibatches` gives them.
            varied: what the policy sees in the place of what was seen then.
        """
        batch = self.batch
        if self._is_recurrent:
            part = {key: array[:, chosen] for key, array in self._preprocessed.items()}
            outputs, values, _ = self._policy.unroll(
                varied(part), self._states[chosen], batch.reset_after[:, chosen]
            )
            num_segments = batch.valid.shape[1]
            rows = torch.arange(batch.valid.shape[0], device=chosen.device).unsqueeze(1)
            kept = batch.valid[:, chosen]
            steps = (rows * num_segments + chosen)[kept]
            outputs, values = outputs[kept], values[kept]
        else:
            steps = chosen
            part = {key: array.flatten(0, 1)[steps] for key, array in self._preprocessed.items()}
            outputs, values = self._policy.forward_preprocessed(varied(part))
        masks = None if batch.action_mask is None else batch.action_mask.flatten(0, 1)[steps]
        log_probs, _ = self._distribution.log_prob_and_entropy(
            outputs, batch.action.flatten(0, 1)[steps], masks
        )
        return Chosen(log_probs, values, steps)

    def mean(self) -> float:
        """Mean negative log-likelihood over all steps, nats, unrolled from the beginnings."""
        return self.mean_and_deviation()[0]

    @torch.no_grad()
    def mean_and_deviation(self) -> tuple[float, float]:
        """`mean`, and the standard deviation over the steps."""
        self.refresh()
        found = evaluate_batch(self._policy, self._distribution, self.with_states())
        log_probs = found.log_probs[self.batch.valid]
        return -float(log_probs.mean()), float(log_probs.std(correction=0))

    def with_states(self) -> Batch:
        """The batch with the states of the last `refresh`."""
        return (
            replace(self.batch, recurrent_state={RECURRENT_STATE: self._states})
            if self._is_recurrent
            else self.batch
        )

    def _before(self, columns: Tensor, first_step: int) -> Tensor:
        """The segments of the same slots that begin at `first_step`."""
        earlier = (self.batch.first_step == first_step).nonzero().squeeze(1)
        column_of = dict(zip(self.batch.slot_id[earlier].tolist(), earlier.tolist(), strict=True))
        return torch.tensor([column_of[slot] for slot in self.batch.slot_id[columns].tolist()])

    @torch.no_grad()
    def _check_allowed(self) -> None:
        if self.batch.action_mask is None:
            return
        masks = self.batch.action_mask.flatten(0, 1)[self._valid_steps]
        actions = self.batch.action.flatten(0, 1)[self._valid_steps]
        even = torch.zeros(len(actions), self._distribution.num_outputs, device=actions.device)
        log_probs, _ = self._distribution.log_prob_and_entropy(even, actions, masks)
        num_forbidden = int((log_probs < IMPOSSIBLE).sum())
        if num_forbidden:
            raise ConfigurationError(
                f"{num_forbidden} of {len(actions)} demonstrated actions were forbidden by the game's mask",
                fix="record the episodes again",
            )
