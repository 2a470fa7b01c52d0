"""DQN behind the seam: its state between updates, and the gradient steps of one update."""

import base64
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attract.algorithm.annealing import scheduled
from attract.algorithm.normalisation import RunningMoments
from attract.algorithm.quantiles import quantile_huber_loss, quantile_targets
from attract.algorithm.returns import reward_divisor
from attract.errors import NonFiniteUpdateError
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import ExtraLoss, Learnable, Progress, Report
from attract.learner.algorithms.reward_scale import SeenReturns, SlotReturns
from attract.learner.checkpoints.state_tensors import adam_tensors, restore_adam, within
from attract.learner.dqn.exploration import epsilon, logit_scale, wanted_entropy
from attract.learner.dqn.network import Choices, QuantileNetwork
from attract.learner.dqn.replay_buffer import ReplayBuffer, Transitions
from attract.settings.dqn import DqnSettings

RETURNS = "return_statistics"
"""The moments of discounted returns, by which rewards are scaled (rule P11)."""
_SLOTS = f"{RETURNS}.slots."
_ONLINE = "quantiles.online."
_TARGET = "quantiles.target."
ADAM_EPSILON = 1e-5
NUM_EXPLORED = 512
"""Observations over which the entropy of the next version is measured."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What an update's batch adds, which counts from `commit` on."""

    batch: Batch
    returns: SeenReturns | None
    owed: float


@dataclass(frozen=True, slots=True)
class _Learned:
    """Sums over the gradient steps of an update, and their number."""

    loss: float = 0.0
    value: float = 0.0
    target: float = 0.0
    grad_norm: float = 0.0
    num_steps: int = 0

    def metrics(self) -> dict[str, float]:
        """Means, under the names that dashboards and TensorBoard show."""
        if not self.num_steps:
            return {}
        return {
            "train/loss": self.loss / self.num_steps,
            "train/q_value": self.value / self.num_steps,
            "train/q_target": self.target / self.num_steps,
            "train/grad_norm": self.grad_norm / self.num_steps,
        }


class Dqn:
    """`Algorithm`: double, dueling DQN with quantile regression over a replay buffer of one policy.

    A batch goes into the buffer once its update counts, so an update draws from the batches before. Each
    agent step of the batch pays for `replay_ratio` gradient steps. Then the policy's heads are written: the
    logits are the advantages, scaled so that actions are as random on average as the schedule wants.

    Args:
        learnable: the policy.
        settings: of the run.
    """

    def __init__(self, learnable: Learnable, settings: DqnSettings) -> None:
        self._policy = learnable.policy
        self._distribution = learnable.distribution
        self._device = learnable.device
        self._settings = settings
        self.network = QuantileNetwork(
            learnable.policy,
            Choices.of(learnable.distribution),
            settings.n_quantiles,
            learnable.generator("quantiles"),
        ).to(self._device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        """Follows the network; its normalisers and policy heads are never used."""
        self._learned, self._followers = self.network.learned(), self.target.learned()
        self.optimizer = torch.optim.Adam(
            self._learned, lr=settings.learning_rate, eps=ADAM_EPSILON, fused=True
        )
        self.generator = learnable.generator("replay")
        """Draws from the buffer; on the CPU whatever the device."""
        self.buffer = ReplayBuffer(settings.buffer_size, settings.buffer_mebibytes << 20)
        self.moments: Mapping[str, RunningMoments] = (
            {RETURNS: RunningMoments.empty(())} if settings.normalize_rewards else {}
        )
        self._slot_returns = SlotReturns()
        self._owed = 0.0
        """Gradient steps paid for and not taken, below 1."""
        self._seen: _Seen | None = None

    def can_learn_from(self, batch: Batch) -> bool:
        """See `Algorithm`."""
        return bool(batch.valid.any())

    def update(self, batch: Batch, progress: Progress, extra_loss: ExtraLoss | None = None) -> Report:
        """See `Algorithm`.

        Raises: RuntimeError: an extra loss or a bonus, which settings refuse.
        """
        if extra_loss is not None or batch.reward_bonus is not None or batch.advantage_bonus is not None:
            raise RuntimeError("expected experience alone, got what a wrapper adds, which DQN cannot learn")
        _check_finite(batch)
        settings = self._settings
        divisor: float | None = None
        returns: SeenReturns | None = None
        if settings.normalize_rewards:
            returns = self._slot_returns.see(batch, settings.gamma)
            divisor = reward_divisor(self.moments[RETURNS].merge(returns.moments))
        num_steps = int(batch.valid.sum())
        owed, taken, learned = self._owed, 0, _Learned()
        rate = scheduled(
            settings.learning_rate,
            settings.learning_rate_schedule,
            progress.agent_steps,
            progress.schedule_steps,
        )
        eps = epsilon(
            settings.exploration_initial_eps,
            settings.exploration_final_eps,
            settings.exploration_fraction,
            progress.agent_steps,
            progress.schedule_steps,
        )
        explored: dict[str, float] = {}
        if self.buffer.num_steps >= max(1, settings.learning_starts):
            owed += settings.replay_ratio * num_steps
            taken = int(owed)
            undo = self.undo_point()
            try:
                learned = self._learn(taken, rate, divisor)
                explored = self._explore(eps)
                self._check_weights()
            except BaseException:
                undo()
                raise
        self._seen = _Seen(batch, returns, owed - taken)
        metrics = {
            **learned.metrics(),
            **explored,
            "train/num_minibatches": float(taken),
            "train/replay_ratio": taken / num_steps,
            "train/buffer_steps": float(self.buffer.num_steps),
            "train/buffer_mebibytes": self.buffer.num_bytes / 2**20,
        }
        if divisor is not None:
            metrics["train/reward_divisor"] = divisor
        return Report(metrics, {"train/learning_rate": rate, "train/epsilon": eps})

    def commit(self) -> Mapping[str, RunningMoments]:
        """See `Algorithm`: from here on the batch is in the buffer.

        Raises: ConfigurationError: the buffer has no room for it.
        """
        if self._seen is None:
            return {}
        seen, self._seen = self._seen, None
        self.buffer.add(seen.batch)
        self._owed = seen.owed
        if seen.returns is None:
            return {}
        self._slot_returns.take_over(seen.returns)
        return {RETURNS: seen.returns.moments}

    def undo_point(self) -> Callable[[], None]:
        """See `Algorithm`."""
        networks = [
            (network, {name: tensor.clone() for name, tensor in network.state_dict().items()})
            for network in (self.network, self.target)
        ]
        optimizer = {name: tensor.clone() for name, tensor in self.optimizer_tensors().items()}
        random_state, seen = self.generator.get_state(), self._seen

        def undo() -> None:
            self._seen = seen
            for network, state in networks:
                network.load_state_dict(state)
            self.restore_optimizer(optimizer)
            self.optimizer.zero_grad(set_to_none=True)
            self.generator.set_state(random_state)

        return undo

    def optimizer_tensors(self) -> dict[str, Tensor]:
        """See `Algorithm`."""
        return adam_tensors(self.optimizer, self.network)

    def restore_optimizer(self, tensors: Mapping[str, Tensor]) -> None:
        """See `Algorithm`."""
        restore_adam(self.optimizer, self.network, tensors)

    def tensors(self) -> dict[str, Tensor]:
        """See `Algorithm`: the heads, the target network, and the returns of running episodes."""
        own = {f"{_ONLINE}{name}": tensor for name, tensor in self.network.heads.items()}
        own |= {f"{_TARGET}{name}": tensor for name, tensor in self.target.state_dict().items()}
        if RETURNS in self.moments:
            own |= {f"{_SLOTS}{name}": tensor for name, tensor in self._slot_returns.tensors().items()}
        return own

    def document(self) -> dict[str, Any]:
        """See `Algorithm`."""
        replay = base64.b64encode(self.generator.get_state().numpy().tobytes()).decode()
        return {"random_state": {"replay": replay}, "owed_gradient_steps": self._owed}

    def restore(self, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
        """See `Algorithm`; the buffer is not kept, and fills again."""
        state = bytearray(base64.b64decode(document["random_state"]["replay"]))
        self.generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
        self._owed = float(document["owed_gradient_steps"])
        own = self.network.state_dict()
        self.network.load_state_dict({**own, **within(tensors, _ONLINE)})
        self.target.load_state_dict(within(tensors, _TARGET))
        if slots := within(tensors, _SLOTS):
            self._slot_returns.restore(slots)

    def _learn(self, num_steps: int, rate: float, divisor: float | None) -> _Learned:
        """So many gradient steps. Raises: NonFiniteUpdateError."""
        if num_steps == 0:
            return _Learned()
        settings = self._settings
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        drawn = self.buffer.draw(
            num_steps * settings.batch_size,
            self.generator,
            gamma=settings.gamma,
            n_steps=settings.n_steps,
            divisor=divisor,
        )
        rows = torch.stack([self._gradient_step(part) for part in _parts(drawn, settings.batch_size)])
        sums = rows.double().sum(0).tolist()
        if not all(value - value == 0 for value in sums):
            raise NonFiniteUpdateError("a loss or gradient of DQN")
        return _Learned(*sums, num_steps=num_steps)

    def _gradient_step(self, drawn: Transitions) -> Tensor:
        """[4]: loss, mean predicted value, mean target, gradient norm."""
        settings, buffer, device = self._settings, self.buffer, self._device
        now = self._policy.preprocess(buffer.observations(drawn.start, device))
        following = self._policy.preprocess(buffer.observations(drawn.end, device))
        with torch.no_grad():
            best = self.network.best(following, buffer.masks(drawn.end, device))
            targets = quantile_targets(
                drawn.rewards.to(device),
                drawn.discount.to(device),
                self.target.quantiles(following, best),
            )
        indices = self.network.choices.indices(buffer.actions(drawn.start, device))
        predicted = self.network.quantiles(now, indices)
        loss = quantile_huber_loss(predicted, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        limit = settings.max_grad_norm
        norm = torch.nn.utils.clip_grad_norm_(self._learned, torch.inf if limit is None else limit)
        self.optimizer.step()
        with torch.no_grad():
            for follower, own in zip(self._followers, self._learned, strict=True):
                follower.lerp_(own, settings.tau)
        return torch.stack([loss.detach(), predicted.detach().mean(), targets.mean(), norm])

    @torch.no_grad()
    def _explore(self, eps: float) -> dict[str, float]:
        """Write the policy's heads, with logits for this epsilon; metrics of that."""
        drawn = self.buffer.draw(NUM_EXPLORED, self.generator, gamma=0.0, n_steps=1, divisor=None)
        mask = self.buffer.masks(drawn.start, self._device)
        preprocessed = self._policy.preprocess(self.buffer.observations(drawn.start, self._device))
        wanted = wanted_entropy(eps, self.network.choices, mask, NUM_EXPLORED)
        self.network.write_heads(1.0)
        scale, entropy = logit_scale(self._policy, self._distribution, preprocessed, mask, wanted)
        self.network.write_heads(scale)
        return {"train/logit_scale": scale, "train/entropy": entropy}

    def _check_weights(self) -> None:
        """Raises: NonFiniteUpdateError: a weight is not finite."""
        for name, tensor in self.network.state_dict().items():
            if not bool(torch.isfinite(tensor).all()):
                raise NonFiniteUpdateError(f"weight {name}")


def _parts(drawn: Transitions, size: int) -> list[Transitions]:
    columns = (drawn.start, drawn.rewards, drawn.discount, drawn.end)
    return [Transitions(*part) for part in zip(*(column.split(size) for column in columns), strict=True)]


def _check_finite(batch: Batch) -> None:
    """Raises: NonFiniteUpdateError: a valid reward or observation is not; the buffer would keep it."""
    if not bool(torch.isfinite(batch.reward[batch.valid]).all()):
        raise NonFiniteUpdateError("a reward")
    for key, array in batch.observation.items():
        if array.is_floating_point() and not bool(torch.isfinite(array[batch.valid]).all()):
            raise NonFiniteUpdateError(f"observation {key!r}")
