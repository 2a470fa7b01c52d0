"""What two groups gain over one, as a ratio: `python -m attract.benchmarks.speed.gain` plays both ways."""

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from attract.inference.decider import OnnxDecider
from attract.policy.export import OnnxPatcher
from attract.policy.network import build_policy
from attract.schema.philox import derive_seed
from attract.settings.run import PolicySettings
from attract.vector.environment import VectorEnvironment

WARM_UP_ROUNDS = 20


@dataclass(frozen=True)
class Rate:
    """How fast one way of playing was."""

    steps_per_second: float
    policy_share: float
    """Share of the time in which the policy decided."""


def measure(
    game: str, *, num_games: int, async_factor: int, num_workers: int, hidden_sizes: list[int], seconds: float
) -> Rate:
    """Play with an untrained policy on the CPU, one thread, for so long.

    Raises: AttractError: the game cannot be played.
    """
    with VectorEnvironment(game, num_games, async_factor, num_workers=num_workers) as env:
        policy = build_policy(PolicySettings(hidden_sizes=tuple(hidden_sizes)), env.description)
        decider = OnnxDecider(env.description, derive_seed(0, "run"), device="cpu")
        decider.add(0, OnnxPatcher(policy).patched(policy.state_dict()))
        state = np.zeros((env.num_slots // async_factor + 1, 0), np.float32)
        for batch in env.reset():
            env.send(decider.decide(0, batch, state[: len(batch.slot_id)]).action)
        steps, deciding = 0, 0.0
        for _ in range(WARM_UP_ROUNDS * async_factor):
            batch = env.recv()
            env.send(decider.decide(0, batch, state[: len(batch.slot_id)]).action)
        started = time.perf_counter()
        while (elapsed := time.perf_counter() - started) < seconds:
            batch = env.recv()
            before = time.perf_counter()
            action = decider.decide(0, batch, state[: len(batch.slot_id)]).action
            deciding += time.perf_counter() - before
            env.send(action)
            steps += int(batch.valid.sum())
    return Rate(steps / elapsed, deciding / elapsed)


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Rounds of one group and two groups in turns; medians, and the ratio of two to one."""
    rates: dict[int, list[Rate]] = {1: [], 2: []}
    for round_number in range(arguments.rounds):
        # Each goes first as often as the other, so that a machine that warms up favours neither.
        for factor in (1, 2) if round_number % 2 == 0 else (2, 1):
            rates[factor].append(
                measure(
                    arguments.game,
                    num_games=arguments.games,
                    async_factor=factor,
                    num_workers=arguments.workers,
                    hidden_sizes=arguments.hidden,
                    seconds=arguments.seconds,
                )
            )
    medians = {
        factor: statistics.median(run.steps_per_second for run in own) for factor, own in rates.items()
    }
    return {
        "game": arguments.game,
        "games": arguments.games,
        "workers": arguments.workers,
        "hidden_sizes": arguments.hidden,
        "rounds": arguments.rounds,
        "steps_per_second": {"1 group": medians[1], "2 groups": medians[2]},
        "policy_share": {
            f"{factor} group{'s' if factor > 1 else ''}": statistics.median(run.policy_share for run in own)
            for factor, own in rates.items()
        },
        "gain": medians[2] / medians[1],
    }


def main(arguments: list[str]) -> int:
    """Parse, measure, print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m attract.benchmarks.speed.gain", description=__doc__)
    parser.add_argument("--game", default="lander")
    parser.add_argument("--games", type=int, default=512, help="running copies")
    parser.add_argument("--workers", type=int, default=1, help="threads that step games")
    parser.add_argument(
        "--hidden", type=int, nargs="+", default=[256, 256], help="sizes of the network's layers"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    torch.set_num_threads(1)
    print(json.dumps(compare(parser.parse_args(arguments)), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
