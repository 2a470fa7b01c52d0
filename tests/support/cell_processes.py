"""Learners of several cells as processes over gloo on loopback, and one learner alone of all rows."""

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from attract.errors import AttractError
from attract.experience.batch import Batch
from attract.learner.algorithms.algorithm import Learnable, Progress
from attract.learner.group.cells import SINGLE_PROCESS, LearnerGroup
from attract.learner.group.torch_group import TorchGroup
from attract.learner.ppo.algorithm import Ppo
from attract.settings.base import LearnerName
from attract.settings.cells import Cell
from attract.settings.run import PpoSettings
from batches import build, play
from servers import free_port

Answer = TypeVar("Answer")
_CONTEXT = multiprocessing.get_context("forkserver")
# What takes seconds to import; this module itself is not found there.
_CONTEXT.set_forkserver_preload(
    ["attract.learner.process.loop", "attract.learner.group.torch_group", "onnxruntime"]
)


@dataclass(frozen=True)
class Case:
    """What is learned, and how."""

    network: dict[str, Any] = field(default_factory=dict[str, Any])
    action: dict[str, Any] | None = None
    masks: int = 0
    invalid: float = 0.0
    lag: bool = False
    num_agents: int = 1
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    learner: LearnerName = "auto"
    slots: int = 8
    horizon: int = 6
    spoilt: int | None = None
    """The update in which one reward of the last slot is not finite."""

    def ppo(self, group: LearnerGroup = SINGLE_PROCESS) -> Ppo:
        """The algorithm with a fresh policy."""
        policy, distribution = build(None, self.action, **self.network)
        learnable = Learnable(policy, distribution, seed=1, num_agents=self.num_agents)
        settings = PpoSettings(
            **{"n_epochs": 3, "num_minibatches": 3, "learning_rate": 1e-3, "horizon": 6, **self.settings}
        )
        return Ppo(learnable, settings, self.learner, group)

    def batch(self, number: int) -> Batch:
        """All rows of one update; the same in every process."""
        policy, distribution = build(None, self.action, **self.network)
        shape = {"horizon": self.horizon, "slots": self.slots}
        batch = play(policy, distribution, **shape, masks=self.masks, invalid=self.invalid, seed=number)
        if self.lag:
            noise = torch.randn(batch.log_prob.shape, generator=torch.Generator().manual_seed(2))
            lag = (batch.slot_id == 0).long()
            batch = replace(batch, log_prob=batch.log_prob + 0.2 * noise, policy_lag=lag)
        if self.spoilt == number:
            reward = batch.reward.clone()
            reward[0, -1] = torch.inf
            batch = replace(batch, reward=reward)
        return batch

    def part(self, batch: Batch, rank: int, size: int) -> Batch:
        """The rows of one cell: slots of its own."""
        return batch.keep_segments(batch.slot_id * size // self.slots == rank)


@dataclass(frozen=True)
class Learned:
    """What a learner came to."""

    weights: dict[str, np.ndarray]
    """Adam's state too; no tensors, whose memory would end with their process."""
    reports: list[dict[str, float]]
    errors: list[str]


def learn(case: Case, num_updates: int, group: LearnerGroup = SINGLE_PROCESS) -> Learned:
    """So many updates, each of this cell's part of its rows."""
    ppo = case.ppo(group)
    reports: list[dict[str, float]] = []
    errors: list[str] = []
    for number in range(num_updates):
        batch = case.part(case.batch(number), group.rank, group.size)
        try:
            report = ppo.update(batch, Progress(number, number * 96))
        except AttractError as error:
            errors.append(str(error))
            continue
        moments = ppo.commit()
        ppo.moments = {name: seen.merge(moments[name]) for name, seen in ppo.moments.items()}
        reports.append({**report.metrics, **report.shared_metrics})
    tensors = {**ppo._policy.state_dict(), **ppo.optimizer_tensors()}
    return Learned({name: tensor.detach().numpy() for name, tensor in tensors.items()}, reports, errors)


def _learn_all(
    cases: Sequence[Case], num_updates: int, _connection: Connection, group: LearnerGroup
) -> list[Learned]:
    found = [learn(case, num_updates, group) for case in cases]
    part(group)
    return found


def together(cases: Sequence[Case], num_updates: int, size: int) -> list[list[Learned]]:
    """Per case, the result of each of `size` cells, by rank."""
    by_rank = run_cells(size, _learn_all, cases, num_updates)
    return [list(cells) for cells in zip(*by_rank, strict=True)]


def run_cells(size: int, task: Callable[..., Answer], *arguments: Any) -> list[Answer]:
    """What the task returned in each cell."""
    return [cell.said() for cell in start_cells(size, task, *arguments)]


def part(group: LearnerGroup) -> None:
    """Wait for the others: no cell may disconnect while another still needs it."""
    group.all_gather(torch.zeros(1))


class CellProcess:
    """One running cell."""

    def __init__(self, target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self._ours, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=target, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()

    def said(self) -> Any:
        """The next thing that its task sent, or returned at last; raises what it raised."""
        assert self._ours.poll(400), "a cell says nothing"
        answer = self._ours.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


def start_cells(
    size: int, task: Callable[..., Any], *arguments: Any, limit_seconds: float = 60.0
) -> list[CellProcess]:
    """Cells at work, by rank: each calls the task with `arguments`, a connection to us, and the group."""
    port = free_port()
    return [
        CellProcess(
            _run,
            (Cell(rank=rank, size=size, address="127.0.0.1", port=port), limit_seconds, task, arguments),
        )
        for rank in range(size)
    ]


def _run(
    connection: Connection,
    cell: Cell,
    limit_seconds: float,
    task: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    torch.set_num_threads(1)
    try:
        group = TorchGroup(cell, torch.device("cpu"), meeting_seconds=60, limit_seconds=limit_seconds)
        try:
            answer = task(*arguments, connection, group)
        finally:
            group.close()
        connection.send(answer)
    except Exception as error:
        connection.send(plain(error))


def plain(error: Exception) -> Exception:
    """The same without what caused it, so that it can be sent."""
    error.__cause__ = error.__context__ = None
    return error


def united_partition(
    case: Case, size: int, original: Callable[[int, int, torch.Generator], tuple[Tensor, ...]]
) -> Callable[[int, int, torch.Generator], tuple[Tensor, ...]]:
    """A shuffle for one learner of all rows: its minibatches are those that `size` cells make together."""
    ppo = case.ppo()
    generators = [ppo.generator.clone_state() for _ in range(size)]
    calls = {"count": 0}
    epochs = ppo._settings.n_epochs

    def partition(num_units: int, num_parts: int, _generator: torch.Generator) -> tuple[Tensor, ...]:
        batch = case.batch(calls["count"] // epochs)
        calls["count"] += 1
        owner = batch.slot_id * size // case.slots
        if num_units == batch.num_segments:
            units = [(owner == rank).nonzero().squeeze(1) for rank in range(size)]
        else:
            learned = batch.valid.flatten().nonzero().squeeze(1)
            assert num_units == learned.numel()
            owners = owner.expand(batch.valid.shape).flatten()[learned]
            units = [(owners == rank).nonzero().squeeze(1) for rank in range(size)]
        parts = [
            original(unit.numel(), num_parts, generator)
            for unit, generator in zip(units, generators, strict=True)
        ]
        return tuple(
            torch.cat([unit[part[number]] for unit, part in zip(units, parts, strict=True)])
            for number in range(num_parts)
        )

    return partition


class Beside(LearnerGroup):
    """`LearnerGroup` of rank `rank`; the other one's tensors are given, in the order of the calls."""

    size = 2

    def __init__(self, *others: Tensor, rank: int = 0, led: tuple[bytes, ...] = ()) -> None:
        self.rank = rank
        self.sent: list[Tensor] = []
        self.words: list[bytes] = []
        self._others = list(others)
        self._led = list(led)

    def all_gather(self, tensor: Tensor) -> Tensor:
        self.sent.append(tensor.clone())
        other = self._others.pop(0) if self._others else tensor
        return torch.stack((tensor, other) if self.rank == 0 else (other, tensor))

    def barrier(self, what: str, words: Tensor) -> Tensor:
        return self.all_gather(words)

    def broadcast(self, data: bytes) -> bytes:
        self.words.append(data)
        return self._led.pop(0) if self._led else data
