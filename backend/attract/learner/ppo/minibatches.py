"""Cuts a batch into minibatches, and gives their inputs to the network and the losses."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from attract.algorithm.losses import normalise_advantages
from attract.algorithm.priorities import draw_segments, importance_weights, segment_probabilities
from attract.experience.batch import Batch, finite_where_invalid, start_states, upload
from attract.learner.ppo.estimates import Estimates
from attract.policy.network import Policy
from attract.policy.observation_inputs import Preprocessed
from attract.settings.ppo import PpoSettings

LARGEST_COPY_BYTES = 256 << 20
"""Observations up to this size are put in an epoch's order as a whole."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps that are learned from, [N, ...] each in time-major order: valid, and past any burn-in."""

    actions: Tensor
    log_probs: Tensor
    values: Tensor
    advantages: Tensor
    value_targets: Tensor
    action_masks: Tensor | None
    weights: Tensor | None
    """Importance weights of their segments (rule P3)."""

    def select(self, index: Tensor) -> "Steps":
        """The entries of one minibatch."""
        return Steps(
            self.actions.index_select(0, index),
            self.log_probs.index_select(0, index),
            self.values.index_select(0, index),
            self.advantages.index_select(0, index),
            self.value_targets.index_select(0, index),
            None if self.action_masks is None else self.action_masks.index_select(0, index),
            None if self.weights is None else self.weights.index_select(0, index),
        )

    def split(self, sizes: list[int]) -> Iterator["Steps"]:
        """Runs of steps of these lengths, one after the other; views."""
        arrays = (
            self.actions,
            self.log_probs,
            self.values,
            self.advantages,
            self.value_targets,
            self.action_masks,
            self.weights,
        )
        absent = (None,) * len(sizes)
        runs = [absent if array is None else array.split(sizes) for array in arrays]
        return (Steps(*run) for run in zip(*runs, strict=True))


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Steps of one optimizer step."""

    index: Tensor
    """[n] int64, places among the steps that are learned from."""
    steps: Steps
    """Their data, in that order; advantages as the loss takes them (rule P1)."""
    columns: Tensor | None = None
    """[k] int64, the whole segments these steps are from, in time-major order; None: single steps."""
    places: Tensor | None = None
    """[n] int64, where these steps stand among those of `columns` past the burn-in, time-major; None: single
    steps, or all of these."""
    gathered: Preprocessed | None = None
    """Their observations, where a whole epoch's were put in order at once; None: still to be gathered."""


class Inputs(Protocol):
    """The observations of a batch, ready for the network."""

    def forward(self, policy: Policy, minibatch: Minibatch) -> tuple[Tensor, Tensor]:
        """[n, num_outputs] and [n] values of the minibatch's steps, with gradient."""
        ...


class StepInputs:
    """For feed-forward policies: any steps, in any order."""

    def __init__(self, preprocessed: Preprocessed) -> None:
        self._preprocessed = preprocessed

    def forward(self, policy: Policy, minibatch: Minibatch) -> tuple[Tensor, Tensor]:
        """See `Inputs`."""
        return policy.forward_preprocessed(self._of(minibatch))

    def features(self, policy: Policy, minibatch: Minibatch) -> Tensor:
        """[n, num_features] of the minibatch's steps, for a policy whose features depend on no weights."""
        return policy.features(self._of(minibatch))

    def split(self, order: Tensor, sizes: list[int]) -> Iterator[Preprocessed | None]:
        """The observations of these steps, cut into runs of these lengths; None each when they are large.

        One copy an epoch costs less than one a minibatch, but it takes the memory of all observations again.
        """
        if sum(array.nbytes for array in self._preprocessed.values()) > LARGEST_COPY_BYTES:
            return iter([None] * len(sizes))
        runs = {key: array.split(sizes) for key, array in self._gather(order).items()}
        return ({key: run[place] for key, run in runs.items()} for place in range(len(sizes)))

    def _of(self, minibatch: Minibatch) -> Preprocessed:
        gathered = minibatch.gathered
        return self._gather(minibatch.index) if gathered is None else gathered

    def _gather(self, index: Tensor) -> Preprocessed:
        return {key: array.index_select(0, index) for key, array in self._preprocessed.items()}


class SegmentInputs:
    """For recurrent policies: whole segments, unrolled from the state they began with (rules S3, S4).

    The first `burn_in_steps` of each only bring its state up to the current weights: no gradient, no loss.
    """

    def __init__(
        self, preprocessed: Preprocessed, state: Tensor, reset_after: Tensor, burn_in_steps: int
    ) -> None:
        self._preprocessed = preprocessed
        self._state = state
        self._reset_after = reset_after
        self._burn_in_steps = burn_in_steps

    def forward(self, policy: Policy, minibatch: Minibatch) -> tuple[Tensor, Tensor]:
        """See `Inputs`."""
        columns, burn_in = minibatch.columns, self._burn_in_steps
        if columns is None:
            raise RuntimeError("expected whole segments for a recurrent policy, got single steps")
        preprocessed = {key: array.index_select(1, columns) for key, array in self._preprocessed.items()}
        reset_after = self._reset_after.index_select(1, columns)
        state = self._state.index_select(0, columns)
        if burn_in > 0:
            state = self._burnt_in(policy, preprocessed, state, reset_after[:burn_in])
        outputs, values, _ = policy.unroll(
            {key: array[burn_in:] for key, array in preprocessed.items()}, state, reset_after[burn_in:]
        )
        outputs, values, places = outputs.flatten(0, 1), values.flatten(), minibatch.places
        if places is None:
            return outputs, values
        return outputs.index_select(0, places), values.index_select(0, places)

    @torch.no_grad()
    def _burnt_in(
        self, policy: Policy, preprocessed: Preprocessed, state: Tensor, reset_after: Tensor
    ) -> Tensor:
        first = {key: array[: self._burn_in_steps] for key, array in preprocessed.items()}
        _, _, after = policy.unroll(first, state, reset_after)
        return after[-1].masked_fill(reset_after[-1].unsqueeze(1), 0.0)


class Minibatches:
    """A batch as its minibatches: made at the start of an update (rules P2, P3, S5).

    Args:
        policy: prepares the observations; its statistics are those the update began with (P7).
        batch: at least one of its valid steps is past the burn-in.
        settings: sizes and units.
        min_deviation: that advantages are divided by, from updates before this one (rule P1).

    Raises: ValueError: when there is nothing to learn from.
    """

    def __init__(
        self, policy: Policy, batch: Batch, settings: PpoSettings, min_deviation: float = 0.0
    ) -> None:
        self._batch = batch
        self._settings = settings
        self._min_deviation = min_deviation
        self._is_recurrent = is_recurrent = policy.state_size > 0
        self.unit = settings.unit_for(is_recurrent=is_recurrent)
        self._is_learned = batch.valid
        if is_recurrent and settings.burn_in_steps > 0:
            self._is_learned = batch.valid.clone()
            self._is_learned[: settings.burn_in_steps] = False
        learned = self._is_learned.flatten()
        self.num_steps = int(learned.sum())
        if self.num_steps == 0:
            raise ValueError("expected a batch with at least one valid step to learn from, got none")
        self._num_parts = settings.minibatches_for(self.num_steps)
        self._chosen = None if self.num_steps == learned.numel() else learned.nonzero().squeeze(1)
        self.inputs = self._segment_inputs(policy) if is_recurrent else self._step_inputs(policy)
        actions = self._flat(batch.action)
        self._actions = actions if actions.is_floating_point() else actions.long()
        self._log_probs = self._flat(batch.log_prob)
        self._action_masks = None if batch.action_mask is None else self._flat(batch.action_mask)

    def steps(self, estimates: Estimates, weights: Tensor | None = None) -> Steps:
        """Inputs of the losses; `weights` are [S], one for each segment."""
        by_step = None if weights is None else weights.float().expand(self._batch.valid.shape)
        return Steps(
            self._actions,
            self._log_probs,
            self._flat(estimates.values),
            self._flat(estimates.advantages),
            self._flat(estimates.value_targets),
            self._action_masks,
            None if by_step is None else self._flat(by_step),
        )

    def priorities(self, estimates: Estimates) -> Tensor | None:
        """[S] float64 on the CPU, how likely each segment is drawn; None: each comes once (P2)."""
        if self._settings.prio_alpha == 0.0:
            return None
        # A segment that is valid in its burn-in alone has nothing to learn from.
        return segment_probabilities(estimates.advantages, self._is_learned, self._settings.prio_alpha).cpu()

    def weights(self, probabilities: Tensor, beta: float) -> Tensor:
        """[S] float64, on the batch's device."""
        return importance_weights(probabilities, beta).to(self._batch.valid.device)

    def epoch(
        self, generator: torch.Generator, probabilities: Tensor | None, steps: Steps
    ) -> Iterator[Minibatch]:
        """One pass: every unit once in random order, or as many segments drawn as could be (P3).

        Draws all it needs from the generator before it gives the first.

        Args:
            generator: on the CPU.
            probabilities: from `priorities`.
            steps: of the whole batch, from `steps`; advantages not normalised.
        """
        num_parts = self._num_parts
        if self.unit == "step":
            return self._of_steps(shuffled_partition(self.num_steps, num_parts, generator), steps)
        num_segments = self._batch.valid.shape[1]
        if probabilities is None:
            parts = shuffled_partition(num_segments, min(num_parts, num_segments), generator)
        else:
            num_segments = int((probabilities > 0).sum())
            draws = draw_segments(probabilities, num_segments, generator)
            parts = torch.tensor_split(draws, min(num_parts, num_segments))
        return self._of_segments(iter(parts), steps)

    def _of_steps(self, parts: tuple[Tensor, ...], steps: Steps) -> Iterator[Minibatch]:
        # All that a pass reads is put in its order once; its minibatches are then views.
        sizes = [part.numel() for part in parts]
        order = upload(torch.cat(parts), self._batch.valid.device)
        shuffled = steps.select(order)
        shuffled = replace(shuffled, advantages=self._normalised_parts(shuffled.advantages, sizes))
        inputs = self.inputs
        observations = inputs.split(order, sizes) if isinstance(inputs, StepInputs) else [None] * len(sizes)
        for index, chosen, gathered in zip(
            order.split(sizes), shuffled.split(sizes), observations, strict=True
        ):
            yield Minibatch(index, chosen, gathered=gathered)

    def _of_segments(self, parts: Iterator[Tensor], steps: Steps) -> Iterator[Minibatch]:
        # Which steps they are is worked out on the CPU, where the draws are: a device is not waited for.
        is_learned, device = self._is_learned.cpu(), self._batch.valid.device
        past_burn_in = is_learned[self._settings.burn_in_steps :] if self._is_recurrent else is_learned
        # Where each learned step stands among them; read only where one is.
        numbers = (past_burn_in.flatten().cumsum(0) - 1).view_as(past_burn_in)
        are_all = bool(past_burn_in.all())
        for columns in parts:
            index, places = numbers.index_select(1, columns).flatten(), None
            if not are_all:
                places = past_burn_in.index_select(1, columns).flatten().nonzero().squeeze(1)
                index, places = index.index_select(0, places), upload(places, device)
            if index.numel() > 0:
                index = upload(index, device)
                chosen = steps.select(index)
                chosen = replace(chosen, advantages=self._normalised(chosen.advantages))
                yield Minibatch(index, chosen, upload(columns, device), places)

    def _normalised_parts(self, advantages: Tensor, sizes: list[int]) -> Tensor:
        # Parts differ by at most one step: they are the rows of at most two rectangles.
        num_long = sizes.count(sizes[0])
        blocks = advantages.split((num_long * sizes[0], advantages.numel() - num_long * sizes[0]))
        normalised = [
            self._normalised(block.view(-1, size)).flatten()
            for block, size in zip(blocks, (sizes[0], sizes[-1]), strict=True)
            if block.numel() > 0
        ]
        return torch.cat(normalised)

    def _normalised(self, advantages: Tensor) -> Tensor:
        """[..., n], each row those of one minibatch, as the loss takes them (rule P1)."""
        if not self._settings.normalize_advantage:
            return advantages
        return normalise_advantages(advantages, self._min_deviation)

    def _step_inputs(self, policy: Policy) -> Inputs:
        observations = {key: self._flat(array) for key, array in self._batch.observation.items()}
        return StepInputs(policy.preprocess(observations))

    def _segment_inputs(self, policy: Policy) -> Inputs:
        batch, settings = self._batch, self._settings
        return SegmentInputs(
            policy.preprocess(finite_where_invalid(batch.observation, batch.valid)),
            start_states(batch, policy.state_size, from_zero=settings.recurrent_start == "zero"),
            batch.reset_after,
            settings.burn_in_steps,
        )

    def _flat(self, array: Tensor) -> Tensor:
        """[N, ...]: the learned steps of a [T, S, ...]."""
        steps = array.flatten(0, 1)
        return steps if self._chosen is None else steps.index_select(0, self._chosen)


def shuffled_partition(num_units: int, num_parts: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Every unit once, in random order, cut into parts that differ by at most one (rules P2, S5).

    Args:
        num_units: steps or segments, >= num_parts.
        generator: on the CPU, so that every device gets the same order.

    Returns: `num_parts` [n] int64 index tensors on the CPU.
    """
    order = torch.randperm(num_units, generator=generator)
    return torch.tensor_split(order, num_parts)
