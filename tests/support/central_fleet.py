"""Central inference over Node threads in one process: leases in, blocks out."""

import time
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from attract.errors import GameError
from attract.games.library import GameModule
from attract.schema.game import GameDescription
from attract.schema.messages import (
    Act,
    Block,
    GameFailed,
    Lease,
    Observe,
    RolloutClose,
    Seat,
    Seed,
    WelcomeWorker,
)
from attract.vector.environments.node_fleet import NodeFleet
from attract.vector.layout import VectorLayout
from attract.vector.serving.collector import CentralCollector, Decider, Outgoing

RUN = "run-1"


class CentralFleet:
    """Workers of `games_per_worker` games each, in `num_groups` groups; `play` a lease of every worker."""

    def __init__(
        self, module: GameModule, *, num_workers: int, games_per_worker: int, num_groups: int
    ) -> None:
        self.module = module
        self.num_workers = num_workers
        self.games_per_worker = games_per_worker
        self.num_groups = num_groups
        self.fleet = NodeFleet(module, num_workers, run_id=RUN)
        self.description: GameDescription = self.fleet.describe()
        self.blocks: list[Block] = []
        self.closes: list[RolloutClose] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.fleet.close()

    def sit(self, decider: Decider, *, horizon: int, seed: Seed, state_size: int = 0) -> None:
        self.seed = seed
        self.collector = CentralCollector(
            RUN,
            VectorLayout.for_game(self.description, horizon),
            decider,
            num_groups=self.num_groups,
            state_size=state_size,
            max_columns=1 << 20,
            clock=time.monotonic,
        )
        for worker in range(self.num_workers):
            self.fleet.send(worker, self.welcome(worker, horizon, state_size))

    def welcome(self, worker: int, horizon: int, state_size: int = 0) -> WelcomeWorker:
        return WelcomeWorker(
            run_id=RUN,
            worker_id=worker,
            game=self.module.reference,
            description=self.description,
            instance_ids=list(self.instances(worker)),
            seed=self.seed,
            horizon=horizon,
            max_frame_bytes=1 << 26,
            state_size=state_size,
        )

    def instances(self, worker: int) -> range:
        first = worker * self.games_per_worker
        return range(first, first + self.games_per_worker)

    def lease(
        self, worker: int, lease_id: int, *, version: int, num_segments: int, desync_steps: int = 0
    ) -> Lease:
        bounds = np.linspace(0, self.games_per_worker, self.num_groups + 1).astype(int)
        return Lease(
            run_id=RUN,
            lease_id=lease_id,
            purpose="train",
            seats=[Seat(policy_version=version) for _ in range(self.description.num_agents)],
            game_sha256=self.module.reference.sha256,
            seed=self.seed,
            num_segments=num_segments,
            desync_steps=desync_steps,
            group_sizes=np.diff(bounds).tolist(),
        )

    def play(self, *leases: tuple[int, Lease]) -> None:
        """Play these (worker, lease) to their ends."""
        for worker, lease in leases:
            self.fleet.send(worker, lease)
            self.collector.lease(worker, self.instances(worker), lease)
        wanted = len(self.closes) + len(leases)
        self._carry(self.collector.advance())
        deadline = time.monotonic() + 60
        while len(self.closes) < wanted:
            assert time.monotonic() < deadline, "the leases do not end"
            for worker, message in self.fleet.poll(1.0):
                match message:
                    case Observe():
                        self.collector.observe(worker, message)
                    case GameFailed():
                        raise GameError(message.kind, message.text, stack=message.stack)
                    case _:
                        raise RuntimeError(f"expected observe, got {message!r}")
            self._carry(self.collector.advance())

    def _carry(self, says: list[Outgoing]) -> None:
        for say in says:
            match say.message:
                case Act():
                    self.fleet.send(say.worker_id, say.message)
                case Block():
                    self.blocks.append(say.message)
                case RolloutClose():
                    self.closes.append(say.message)


def repository() -> Path:
    """The root of the source tree."""
    return Path(__file__).parents[2]
