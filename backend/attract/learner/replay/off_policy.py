"""The state between updates of an algorithm that learns from a replay buffer, and the order of one update."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, cast

import torch
from torch import Tensor, nn

from attract.algorithm.annealing import scheduled
from attract.algorithm.normalisation import RunningMoments
from attract.algorithm.returns import reward_divisor, scaled_rewards
from attract.errors import NonFiniteUpdateError
from attract.experience.batch import Batch
from attract.learner.algorithms.adam import Adam
from attract.learner.algorithms.algorithm import AlgorithmState, ExtraLoss, Learnable, Progress, Report
from attract.learner.algorithms.reward_scale import RETURNS, SeenReturns, SlotReturns
from attract.learner.checkpoints.state_tensors import (
    adam_tensors,
    random_state_of,
    restore_adam,
    restore_random_state,
    within,
)
from attract.learner.replay.buffer import ReplayBuffer, Transitions
from attract.policy.observation_inputs import Preprocessed
from attract.settings.off_policy import OffPolicySettings

_SLOTS = f"{RETURNS}.slots."
_ONLINE = "values.online."
_TARGET = "values.target."
ADAM_EPSILON = 1e-5
GATHERED_BYTES = 32 << 20
"""Maximum memory of the rows that are taken out of the buffer at once."""


class ValueNetwork(Protocol):
    """A module that holds the policy as its `policy`, and the values of actions beside it."""

    def learned(self) -> list[nn.Parameter]:
        """What gradient steps change."""
        ...

    def followed(self) -> list[nn.Parameter]:
        """The part of `learned` that the target network follows."""
        ...

    def state_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Minibatch:
    """B drawn steps on the policy's device, as one gradient step takes them."""

    now: Preprocessed
    """[B, ...] each."""
    actions: Tensor
    """[B] or [B, components] int64; float32 as they were drawn, where actions are real numbers."""
    rewards: Tensor
    discount: Tensor
    """[B] float32, as `Transitions` has them."""
    following: Preprocessed
    """[B, ...] each, of the observations to bootstrap from."""
    following_mask: Tensor | None
    """[B, choices] bool, what those allow; None where the game has no masks."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What an update's batch adds, which counts from `commit` on."""

    batch: Batch
    returns: SeenReturns | None
    weights: SeenReturns
    owed: float


class OffPolicy(ABC):
    """`Algorithm`: gradient steps on steps that are drawn from a replay buffer of one policy.

    A batch goes into the buffer once its update counts, so an update draws from the batches before. Each
    agent step of the batch pays for `replay_ratio` gradient steps. Those that the update has not taken when
    the next batch waits for it are left out, all but one.

    Args:
        learnable: the policy.
        settings: of the algorithm.
        network: on the policy's device; holds the policy.
        target: a copy of it whose `followed` parameters follow those of the network.
    """

    uses_log_probs: bool = False
    metric_names: ClassVar[tuple[str, ...]]
    """Names of the numbers that `_loss` gives."""

    def __init__(
        self, learnable: Learnable, settings: OffPolicySettings, network: nn.Module, target: nn.Module
    ) -> None:
        self._policy = learnable.policy
        self._device = learnable.device
        self._common = settings
        self._network, self._target = network, target
        self._followers, self._followed = _values(target).followed(), _values(network).followed()
        self._learned = _values(network).learned()
        self.optimizer = Adam(self._learned, lr=settings.learning_rate, eps=ADAM_EPSILON)
        self.generator = learnable.generator("replay")
        """Draws from the buffer; on the CPU whatever the device."""
        self.buffer = ReplayBuffer(settings.buffer_size, settings.buffer_mebibytes << 20, settings.section)
        self.moments: Mapping[str, RunningMoments] = (
            {RETURNS: RunningMoments.empty(())} if settings.normalize_rewards else {}
        )
        self._slot_returns = SlotReturns()
        self._slot_weights = SlotReturns()
        """The same of rewards of 1: how much the steps of an episode so far count a reward, all together."""
        self._owed = 0.0
        """Gradient steps paid for and not taken, below 1."""
        self._seen: _Seen | None = None

    @abstractmethod
    def _loss(self, minibatch: Minibatch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The loss of one gradient step, and the numbers of `metric_names`, without gradient."""

    @abstractmethod
    def _write_policy(self, progress: Progress) -> tuple[dict[str, float], dict[str, float]]:
        """What is left after the gradient steps; metrics of the policy, and those that all policies share."""

    def can_learn_from(self, batch: Batch) -> bool:
        return bool(batch.valid.any())

    def update(self, batch: Batch, progress: Progress, extra_loss: ExtraLoss | None = None) -> Report:
        if extra_loss is not None or batch.reward_bonus is not None or batch.advantage_bonus is not None:
            raise RuntimeError("expected experience alone, got what a wrapper adds, which is not replayed")
        _check_finite(batch)
        settings = self._common
        divisor: float | None = None
        returns: SeenReturns | None = None
        if settings.normalize_rewards:
            returns = self._slot_returns.see(batch, settings.gamma)
            divisor = reward_divisor(self.moments[RETURNS].merge(returns.moments))
        weights = self._slot_weights.see(batch, settings.gamma, rewards=torch.ones_like(batch.reward))
        num_steps = int(batch.valid.sum())
        owed, paid, taken = self._owed, 0, 0
        metrics: dict[str, float] = {}
        shared: dict[str, float] = {}
        rate = scheduled(
            settings.learning_rate,
            settings.learning_rate_schedule,
            progress.agent_steps,
            progress.schedule_steps,
        )
        if self.buffer.num_steps >= max(1, settings.learning_starts):
            owed += settings.replay_ratio * num_steps
            paid = int(owed)
            taken, learned = self._learn(paid, rate, divisor, progress.is_awaited)
            written, shared = self._write_policy(progress)
            metrics |= learned | written
            self._check_weights()
        self._seen = _Seen(batch, returns, weights, owed - paid)
        metrics |= {
            "train/discounted_return": _mean_return(batch, weights.returns, divisor),
            "train/num_minibatches": float(taken),
            "train/replay_ratio": taken / num_steps,
            "train/buffer_steps": float(self.buffer.num_steps),
            "train/buffer_mebibytes": self.buffer.num_bytes / 2**20,
        }
        if paid > 0:
            metrics["train/replay_share"] = taken / paid
        if divisor is not None:
            metrics["train/reward_divisor"] = divisor
        shared = {"train/learning_rate": rate, **shared}
        return Report(metrics, shared, metrics.get("train/entropy"))

    def commit(self) -> Mapping[str, RunningMoments]:
        """From here on the batch is in the buffer. Raises: ConfigurationError: it has no room for it."""
        if self._seen is None:
            return {}
        seen, self._seen = self._seen, None
        self.buffer.add(seen.batch)
        self._owed = seen.owed
        self._slot_weights.take_over(seen.weights)
        if seen.returns is None:
            return {}
        self._slot_returns.take_over(seen.returns)
        return {RETURNS: seen.returns.moments}

    def snapshot(self) -> Callable[[], None]:
        networks = [
            (network, {name: tensor.clone() for name, tensor in network.state_dict().items()})
            for network in (self._network, self._target)
        ]
        undo_optimizer = self.optimizer.undo_point()
        random_state, seen = self.generator.get_state(), self._seen

        def undo() -> None:
            self._seen = seen
            for network, state in networks:
                network.load_state_dict(state)
            undo_optimizer()
            self.generator.set_state(random_state)

        return undo

    def state(self) -> AlgorithmState:
        online = {n: t for n, t in self._network.state_dict().items() if not n.startswith("policy.")}
        own = {f"{_ONLINE}{name}": tensor for name, tensor in online.items()}
        own |= {f"{_TARGET}{name}": tensor for name, tensor in self._target.state_dict().items()}
        if RETURNS in self.moments:
            own |= {f"{_SLOTS}{name}": tensor for name, tensor in self._slot_returns.tensors().items()}
        return AlgorithmState(
            tensors=own,
            optimizer=adam_tensors(self.optimizer, self._network),
            document={
                "random_state": {"replay": random_state_of(self.generator)},
                "owed_gradient_steps": self._owed,
            },
        )

    def load_state(self, state: AlgorithmState) -> None:
        # The buffer comes by `restore_experience`, or fills again.
        restore_adam(self.optimizer, self._network, state.optimizer)
        restore_random_state(self.generator, state.document["random_state"]["replay"])
        self._owed = float(state.document["owed_gradient_steps"])
        own = self._network.state_dict()
        self._network.load_state_dict({**own, **within(state.tensors, _ONLINE)})
        self._target.load_state_dict(within(state.tensors, _TARGET))
        if slots := within(state.tensors, _SLOTS):
            self._slot_returns.restore(slots)

    @property
    def save_minutes(self) -> float | None:
        return self._common.save_buffer_minutes

    def experience(self) -> tuple[Mapping[str, Tensor], dict[str, Any]]:
        return self.buffer.rows()

    def restore_experience(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> int:
        self.buffer.restore(tensors, document)
        return self.buffer.num_steps

    def _learn(
        self, num_steps: int, rate: float, divisor: float | None, is_awaited: Callable[[], bool]
    ) -> tuple[int, dict[str, float]]:
        """So many gradient steps, fewer once it is awaited: how many, and means of their numbers.

        Raises: NonFiniteUpdateError.
        """
        if num_steps == 0:
            return 0, {}
        settings = self._common
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        drawn = self.buffer.draw(
            num_steps * settings.batch_size,
            self.generator,
            gamma=settings.gamma,
            n_steps=settings.n_steps,
            divisor=divisor,
        )
        rows: list[Tensor] = []
        with self._steps() as step:
            for minibatch in self._minibatches(drawn):
                rows.append(step(minibatch))
                if is_awaited():
                    break
        means = torch.stack(rows).double().mean(0).tolist()
        if not all(value - value == 0 for value in means):
            raise NonFiniteUpdateError("a loss or gradient")
        return len(rows), dict(zip((*self.metric_names, "train/grad_norm"), means, strict=True))

    def _minibatches(self, drawn: Transitions) -> Iterator[Minibatch]:
        """The steps in minibatches; the rows of many are gathered at once."""
        size, device = self._common.batch_size, self._device
        together = max(1, GATHERED_BYTES // (2 * size * self.buffer.row_bytes))
        for part in zip(*(column.split(together * size) for column in drawn.columns()), strict=True):
            start, rewards, discount, end = part
            observed = self._policy.preprocess(self.buffer.observations(torch.cat((start, end)), device))
            now, following = (
                {key: array.split(len(start))[half].split(size) for key, array in observed.items()}
                for half in (0, 1)
            )
            actions, mask = self.buffer.actions(start, device), self.buffer.masks(end, device)
            columns = (actions, rewards.to(device), discount.to(device))
            for place, column in enumerate(zip(*(each.split(size) for each in columns), strict=True)):
                yield Minibatch(
                    now={key: parts[place] for key, parts in now.items()},
                    actions=column[0],
                    rewards=column[1],
                    discount=column[2],
                    following={key: parts[place] for key, parts in following.items()},
                    following_mask=None if mask is None else mask[place * size : (place + 1) * size],
                )

    def _steps(self) -> AbstractContextManager[Callable[[Minibatch], Tensor]]:
        """What takes an update's gradient steps, entered while it lasts; see `_gradient_step`."""
        return nullcontext(self._gradient_step)

    def _gradient_step(self, minibatch: Minibatch) -> Tensor:
        """One step of the optimizer, which the target network follows: numbers, and the gradient's norm."""
        loss, numbers = self._loss(minibatch)
        self.optimizer.zero_grad()
        loss.backward()
        limit = self._common.max_grad_norm
        norm = torch.nn.utils.clip_grad_norm_(
            self._learned, torch.inf if limit is None else limit, foreach=True
        )
        self.optimizer.step()
        self._policy.limit_spread()
        with torch.no_grad():
            torch.ops.aten._foreach_lerp_.Scalar(self._followers, self._followed, self._common.tau)
        return torch.stack([*numbers, norm])

    def _check_weights(self) -> None:
        """Raises: NonFiniteUpdateError: a weight is not finite."""
        for name, tensor in self._network.state_dict().items():
            if not bool(torch.isfinite(tensor).all()):
                raise NonFiniteUpdateError(f"weight {name}")


def _values(network: nn.Module) -> ValueNetwork:
    return cast("ValueNetwork", network)


def _mean_return(batch: Batch, weights: Tensor, divisor: float | None) -> float:
    """Discounted return from a step to the end of its episode, scaled, mean over the steps of a long time.

    Each step that came before a reward counts it by its discount, so a reward is in the sum over all steps as
    often as their discounts add up to. So no step has to wait for the end of its episode. A truncated episode
    ends where it is cut.

    Args:
        batch: see `update`.
        weights: [T, S] float32, those sums.
        divisor: of rewards; None: 1.
    """
    rewards = batch.reward if divisor is None else scaled_rewards(batch.reward, divisor)
    return float((rewards * weights)[batch.valid].mean())


def _check_finite(batch: Batch) -> None:
    """Raises: NonFiniteUpdateError: a valid reward or observation is not; the buffer would keep it."""
    if not bool(torch.isfinite(batch.reward[batch.valid]).all()):
        raise NonFiniteUpdateError("a reward")
    for key, array in batch.observation.items():
        if array.is_floating_point() and not bool(torch.isfinite(array[batch.valid]).all()):
            raise NonFiniteUpdateError(f"observation {key!r}")
