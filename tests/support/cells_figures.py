"""The figures of docs/cells.md: `python tests/support/cells_figures.py cost [256]`, or `goal SEED ...`."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from statistics import median

from attract.learner.algorithms.algorithm import Progress
from attract.learner.group.cells import LearnerGroup
from cell_processes import Case, part, start_cells

ROUNDS = 2
SIZES = ((64, 64), (256, 256))
NUM_STEPS = 32_768
HORIZON = 64
NUM_SLOTS = NUM_STEPS // (2 * HORIZON)


def costs(hidden: tuple[int, int], _connection: Connection, group: LearnerGroup) -> tuple[float, float]:
    """CPU seconds of an epoch of 32,768 steps in 8 minibatches: alone, and as one of the group, in turns."""
    settings = {"n_epochs": 1, "num_minibatches": 8, "target_kl": None, "horizon": HORIZON}
    case = Case(network={"hidden_sizes": hidden}, slots=NUM_SLOTS, horizon=HORIZON, settings=settings)
    batch = case.batch(group.rank)
    learners = (case.ppo(), case.ppo(group))
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 1):
        for learner, found in zip(learners, seconds, strict=True):
            # Both begin together, so that neither waits for the other in what is measured.
            part(group)
            began = time.process_time()
            learner.update(batch, Progress(number, 0))
            learner.commit()
            found.append(time.process_time() - began)
    return median(seconds[0][1:]), median(seconds[1][1:])


def cost(sizes: Sequence[tuple[int, int]]) -> None:
    for hidden in sizes:
        found = [cell.said() for cell in start_cells(2, costs, hidden)]
        alone, together = (sum(seconds) for seconds in zip(*found, strict=True))
        print(
            f"{hidden[0]}-{hidden[1]}: {2 * NUM_STEPS / alone:,.0f} samples per CPU second alone, "
            f"{2 * NUM_STEPS / together:,.0f} in two cells, {alone / together:.2f} of it",
            flush=True,
        )


def goal(seeds: list[str]) -> None:
    """Steps to CartPole's 475 alone and in two cells, which share 64 games and minibatches of 256 steps."""
    train = ["-m", "attract", "train", "cartpole", "--workers", "1"]
    for seed in seeds:
        for size in (1, 2):
            with tempfile.TemporaryDirectory() as runs:
                launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(size)] if size > 1 else []
                share = ["--instances", str(64 // size), "--ppo.minibatch-steps", str(256 // size)]
                done = subprocess.run(
                    [
                        sys.executable,
                        *launcher,
                        *train,
                        *share,
                        "--until-return",
                        "475",
                        "--seed",
                        seed,
                        "--json",
                    ],
                    env={**os.environ, "ATTRACT_RUNS_DIR": runs},
                    capture_output=True,
                    text=True,
                    check=True,
                )
            result = json.loads(done.stdout)
            print(
                f"seed {seed}, {size} cell(s): {result['agent_steps']} steps, {result['updates']} updates, "
                f"{result['wall_seconds']:.0f} s, reached {result['goal_reached']}",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1] == "cost":
        cost([size for size in SIZES if len(sys.argv) < 3 or str(size[0]) in sys.argv[2:]])
    else:
        goal(sys.argv[2:])
