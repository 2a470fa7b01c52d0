"""How fast a browser's workers collect, beside the two things no step can do without: policy and tick."""

import base64
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from attract.collection.config import BLOCK_BYTES, USUAL_INSTANCES
from attract.policy.export import OnnxPatcher, policy_metadata
from attract.policy.network import build_policy
from attract.schema.game import GameDescription
from attract.settings.run import PolicySettings, RunSettings
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.measure import BenchOptions, Measure
from attract_benchmarks.harness.page import BenchPage, open_page

WIDE = "wide"
"""The benchmark's own game of 64 numbers, whose tick costs next to nothing."""
BATCHES = (1, 8, 32, 128, 512)
NUM_WORKERS = 2
UNIT = "steps/s"
AGAINST = "session.run and the game's tick alone, at the same number of instances"

Part = Literal["rollout", "inference", "tick", "player"]


@dataclass(frozen=True)
class Task:
    """A game, and the policy that plays it.

    Attributes:
        game: a bundled game's name, or `WIDE`.
        policy: the network; weights are the initial ones of seed 0.
        num_instances: copies of the game in a worker.
        horizon: steps of a segment; a lease is one segment, as training asks for by default.
    """

    game: str
    policy: PolicySettings
    num_instances: int = USUAL_INSTANCES
    horizon: int = RunSettings().ppo.horizon


CARTPOLE = Task("cartpole", PolicySettings(hidden_sizes=(64, 64), shared_trunk=True))
MLP256 = Task(WIDE, PolicySettings(hidden_sizes=(256, 256), shared_trunk=True))


@dataclass(frozen=True)
class Rates:
    """Agent steps per second of one round's parts, all measured within it."""

    rollout: float
    inference: float
    tick: float

    @property
    def bare(self) -> float:
        """Steps per second if a step were its inference and its tick and nothing else."""
        return 1 / (1 / self.inference + 1 / self.tick)


class Seconds:
    """Duration of each part of a round, and of the warm-up before the first round."""

    def __init__(self, options: BenchOptions) -> None:
        self.part = 0.1 if options.quick else 0.5
        self.warm_up = 0.3 if options.quick else 1.5


def prepare(page: BenchPage, task: Task, num_workers: int = 1, *, is_shipped: bool = False) -> None:
    """Make the workers ready to measure `task`: game, policy and instances; `is_shipped`: as an export."""
    game = WIDE if task.game == WIDE else page.game_url(task.game)
    description = GameDescription.model_validate(page.ask({"kind": "describe", "game": game})[0])
    policy = build_policy(task.policy, description)
    onnx = OnnxPatcher(policy).patched(policy.state_dict())
    setup = {
        "game": game,
        "onnx": base64.b64encode(onnx).decode(),
        "document": policy_metadata(policy, description, 0, {}) if is_shipped else None,
        "numInstances": task.num_instances,
        "horizon": task.horizon,
        "numSegments": 1,
        "maxFrameBytes": BLOCK_BYTES,
    }
    page.ask({"kind": "prepare", "setup": setup}, num_workers)


def rates_of(page: BenchPage, part: Part, seconds: float, num_workers: int = 1) -> list[float]:
    """Agent steps per second of each of the workers, which work at the same time."""
    order = {"kind": "measure", "part": part, "seconds": seconds}
    answers: list[dict[str, Any]] = page.ask(order, num_workers)
    return [answer["steps"] / answer["seconds"] for answer in answers]


def rounds_of(page: BenchPage, task: Task, options: BenchOptions) -> list[Rates]:
    """The parts of `task` in one worker, in turns."""
    seconds = Seconds(options)
    page.stop_workers()
    prepare(page, task)
    parts: tuple[Part, ...] = ("inference", "tick", "rollout")
    for part in parts:
        rates_of(page, part, seconds.warm_up)
    return [
        Rates(**{part: rates_of(page, part, seconds.part)[0] for part in parts})
        for _ in range(options.rounds)
    ]


def collection_figure(rounds: Sequence[Rates], task: Task) -> Figure:
    """Steps per second of the loop, against its bare parts."""

    def median(rates: Sequence[float]) -> float:
        return statistics.median(rates)

    return Figure.of(
        [measured.rollout for measured in rounds],
        UNIT,
        ratios=[measured.rollout / measured.bare for measured in rounds],
        against=AGAINST,
        detail={
            "session_run_steps_per_second": median([measured.inference for measured in rounds]),
            "tick_steps_per_second": median([measured.tick for measured in rounds]),
            "instances": task.num_instances,
            "horizon": task.horizon,
        },
    )


def _collection(options: BenchOptions) -> Mapping[str, Figure]:
    with open_page() as page:
        cartpole = rounds_of(page, CARTPOLE, options)
        wide = rounds_of(page, MLP256, options)
    return {
        "collection/cartpole": collection_figure(cartpole, CARTPOLE),
        "collection/mlp256": collection_figure(wide, MLP256),
        "parts/tick_cartpole": Figure.of([measured.tick for measured in cartpole], "ticks/s"),
    }


def _two_workers(options: BenchOptions) -> Mapping[str, Figure]:
    seconds = Seconds(options)
    one_worker: list[float] = []
    all_at_once: list[float] = []
    with open_page() as page:
        prepare(page, CARTPOLE, NUM_WORKERS)
        rates_of(page, "rollout", seconds.warm_up, NUM_WORKERS)
        for _ in range(options.rounds):
            one_worker += rates_of(page, "rollout", seconds.part)
            all_at_once.append(sum(rates_of(page, "rollout", seconds.part, NUM_WORKERS)))
    figure = Figure.of(
        all_at_once,
        UNIT,
        ratios=[both / (NUM_WORKERS * alone) for both, alone in zip(all_at_once, one_worker, strict=True)],
        against=f"{NUM_WORKERS} x one worker",
        detail={"one_worker_steps_per_second": statistics.median(one_worker), "workers": NUM_WORKERS},
    )
    return {"collection/cartpole_2_workers": figure}


def _session_runs(options: BenchOptions) -> Mapping[str, Figure]:
    seconds = Seconds(options)
    rates: dict[int, list[float]] = {rows: [] for rows in BATCHES}
    with open_page() as page:
        for rows in BATCHES:
            page.stop_workers()
            prepare(page, Task(CARTPOLE.game, CARTPOLE.policy, num_instances=rows))
            rates_of(page, "inference", seconds.warm_up)
            rates[rows] = [rates_of(page, "inference", seconds.part)[0] for _ in range(options.rounds)]
    return {f"parts/session_run_b{rows}": Figure.of(measured, UNIT) for rows, measured in rates.items()}


COLLECTION: tuple[Measure, ...] = (
    Measure(
        names=("parts/tick_cartpole", "collection/cartpole", "collection/mlp256"),
        about="the rollout loop in one worker of a headless Chromium, against session.run and the tick alone",
        run=_collection,
    ),
    Measure(
        names=("collection/cartpole_2_workers",),
        about=f"{NUM_WORKERS} workers at once, against {NUM_WORKERS} times one",
        run=_two_workers,
    ),
    Measure(
        names=tuple(f"parts/session_run_b{rows}" for rows in BATCHES),
        about="session.run alone on CartPole's 64-64 network, at several numbers of rows",
        run=_session_runs,
    ),
)
