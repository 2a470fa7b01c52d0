"""Central inference against inference in the worker: same games, policy and seeds, both running (C9)."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pytest
import torch

from attract.collection.trust.admit import Bounds
from attract.errors import GameError
from attract.experience.layout import PolicyLayout, StoreLayout
from attract.experience.validate import check_block
from attract.games.library import GameLibrary, GameModule
from attract.policy.export import OnnxPatcher
from attract.policy.network import build_policy
from attract.schema.episodes import Episodes
from attract.schema.frames import decode_from_browser, encode
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
from attract.schema.tensor import view
from attract.settings.run import PolicySettings
from attract.vector.batch import VectorLayout
from attract.vector.environments.node_fleet import NodeFleet
from attract.vector.serving.collector import CentralCollector, Outgoing
from attract.vector.serving.decider import OnnxDecider
from node_driver import bundle_driver

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

    def sit(self, decider: OnnxDecider, *, horizon: int, seed: Seed, state_size: int = 0) -> None:
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


HORIZON = 16
SEGMENTS = 8
GAMES = 12
SEED = Seed(low=123, high=456)

Arrays = dict[str, np.ndarray]
Play = Callable[[WelcomeWorker, Lease, bytes, bytes], list[Block]]


@pytest.fixture(scope="module")
def play_in_worker(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Plays a lease in Node with the worker's own loop and inference engine; its blocks."""
    folder = tmp_path_factory.mktemp("rollout")
    run = bundle_driver("rollout-driver.ts", folder, aliases={})

    def play(welcome: WelcomeWorker, lease: Lease, onnx: bytes, module: bytes) -> list[Block]:
        (folder / "game.mjs").write_bytes(module)
        order = {
            "module": str(folder / "game.mjs"),
            "repository": str(repository()),
            "welcome": encode(welcome).hex(),
            "lease": encode(lease).hex(),
            "onnx": onnx.hex(),
        }
        blocks = [decode_from_browser(bytes.fromhex(frame)) for frame in run(order)]
        return [block for block in blocks if isinstance(block, Block)]

    return play


def by_slot(blocks: list[Block], layout: StoreLayout) -> Arrays:
    """Every step field as [steps, slots, ...], whatever blocks it came in."""
    segments: dict[tuple[int, int], Arrays] = {}
    for block in blocks:
        arrays = check_block(block, layout)
        for column, slot in enumerate(arrays["slot_id"].tolist()):
            own = {name: values[:, column] for name, values in arrays.items() if is_step(name)}
            for name in ("bootstrap_value", "first_step"):
                own[name] = arrays[name][column : column + 1]
            for name in arrays:
                if name.startswith("recurrent_state."):
                    own[name] = arrays[name][column : column + 1]
            segments[slot, block.segment_index] = own
    slots = sorted({slot for slot, _ in segments})
    indices = sorted({index for _, index in segments})
    assert len(segments) == len(slots) * len(indices), "a segment is missing or came twice"
    return {
        name: np.stack(
            [np.concatenate([segments[slot, index][name] for index in indices]) for slot in slots], axis=1
        )
        for name in segments[slots[0], indices[0]]
    }


def is_step(name: str) -> bool:
    return name.startswith("obs.") or name in (
        "action",
        "action_mask",
        "log_prob",
        "value",
        "reward",
        "terminated",
        "truncated",
        "valid",
        "executed_ticks",
    )


def results_of(blocks: list[Block], num_agents: int) -> list[tuple[Any, ...]]:
    return sorted(
        (
            block.segment_index,
            Episode.instance_id,
            Episode.episode,
            Episode.step,
            Episode.end_reason,
            *Episode.returns,
        )
        for block in blocks
        for Episode in Episodes(block.episodes, num_agents)
    )


def assert_consistent(blocks: list[Block], description: GameDescription) -> None:
    """Each episode's return is the sum of its rewards, its length the number of its steps (rules T2, E1)."""
    bounds, agents = Bounds(description), description.num_agents
    since: dict[int, tuple[int, float]] = {}
    for block in sorted(blocks, key=lambda block: block.segment_index):
        bounds.check(block)
        assert bounds.outside(block) is None
        reward, first_step = view(block.reward), view(block.first_step)
        # An agent that takes no part in an episode's last step has no flag there (rule E9).
        ended = view(block.terminated) | view(block.truncated) | (view(block.valid) == 0)
        column_of = {int(slot): column for column, slot in enumerate(view(block.slot_id))}
        begun = dict.fromkeys(column_of, 0)
        for episode in sorted(Episodes(block.episodes, agents), key=lambda episode: episode.step):
            for agent, said in enumerate(episode.returns):
                slot = episode.instance_id * agents + agent
                column = column_of[slot]
                first, before = since.get(slot, (0, 0.0))
                own = reward[begun[slot] : episode.step + 1, column].astype(np.float64)
                assert said == pytest.approx(before + own.sum(), rel=1e-5, abs=1e-4)
                at = int(first_step[column]) + episode.step
                assert episode.length_steps == at + 1 - first
                assert episode.end_reason == "cut" or ended[episode.step, column]
                since[slot], begun[slot] = (at + 1, 0.0), episode.step + 1
        for slot, column in column_of.items():
            first, before = since.get(slot, (0, 0.0))
            since[slot] = (first, before + reward[begun[slot] :, column].sum(dtype=np.float64))


@pytest.mark.parametrize(
    ("game", "settings", "horizon"),
    [
        ("cartpole", PolicySettings(), HORIZON),
        ("snake", PolicySettings(hidden_sizes=(32,)), HORIZON),
        ("foragers", PolicySettings(hidden_sizes=(32,)), HORIZON),
        ("memory", PolicySettings(hidden_sizes=(16,), recurrent="lstm", recurrent_size=16), HORIZON),
        ("harvest", PolicySettings(hidden_sizes=(16,), cnn="small"), HORIZON),
    ],
)
def test_C9_central_inference_plays_the_same_trajectories_as_the_worker(
    play_in_worker: Play, game: str, settings: PolicySettings, horizon: int
):
    module = asyncio.run(GameLibrary(repository()).resolve(game))
    with CentralFleet(module, num_workers=2, games_per_worker=GAMES // 2, num_groups=2) as fleet:
        policy = build_policy(settings, fleet.description, seed=3)
        with torch.no_grad():
            for name, parameter in policy.named_parameters():
                # The last layer starts near zero: larger, so that what is seen decides.
                if "head" in name:
                    parameter.mul_(30.0)
        onnx = OnnxPatcher(policy).patched(policy.state_dict())
        decider = OnnxDecider(fleet.description, SEED, state_size=policy.state_size, device="cpu")
        decider.add(1, onnx)
        fleet.sit(decider, horizon=horizon, seed=SEED, state_size=policy.state_size)
        leases = [
            (worker, fleet.lease(worker, worker + 1, version=1, num_segments=SEGMENTS, desync_steps=40))
            for worker in range(2)
        ]
        fleet.play(*leases)
        welcome = fleet.welcome(0, horizon, policy.state_size).model_copy(
            update={"instance_ids": list(range(GAMES))}
        )
        served = leases[0][1]
        own = served.model_copy(update={"group_sizes": []})
        layout = StoreLayout.for_run(
            fleet.description,
            PolicyLayout({"state": (policy.state_size,)} if policy.state_size else {}),
            horizon,
            1,
        )
        central_blocks = fleet.blocks
        worker_blocks = play_in_worker(welcome, own, onnx, module.code)
    central, worker = by_slot(central_blocks, layout), by_slot(worker_blocks, layout)
    assert central.keys() == worker.keys()
    # No draw may lie so near a boundary that the last bit of a logit decides it; were there one, the
    # trajectories could only be compared up to it. With these seeds there is none.
    for name in ("action", "reward", "terminated", "truncated", "valid", "executed_ticks", "first_step"):
        np.testing.assert_array_equal(central[name], worker[name], err_msg=name)
    for name in central:
        if name.startswith("obs.") or name == "action_mask":
            np.testing.assert_array_equal(central[name], worker[name], err_msg=name)
        elif name in ("value", "log_prob", "bootstrap_value") or name.startswith("recurrent_state."):
            live = central["valid"] if central[name].shape == central["valid"].shape else ...
            np.testing.assert_allclose(
                central[name][live], worker[name][live], rtol=1e-5, atol=1e-5, err_msg=name
            )
    num_agents = fleet.description.num_agents
    assert results_of(central_blocks, num_agents) == results_of(worker_blocks, num_agents)
    for blocks in (central_blocks, worker_blocks):
        assert_consistent(blocks, fleet.description)
    assert central["terminated"].any() or central["truncated"].any()
    # Proof that the actions depend on the draws and on what is seen, not on one logit alone.
    assert len(np.unique(central["action"])) > 1
