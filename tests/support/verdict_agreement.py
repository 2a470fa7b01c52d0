"""Trains plain games and page games, too short and long enough, and compares `learned` with a judge.

The judge plays 100 evaluation episodes of the exported policy and 100 episodes at random, with other seeds and
through other code than the run. `python tests/support/verdict_agreement.py --out FILE` goes on where FILE ends.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attract.benchmarks.harness.page_returns import played_returns
from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.diagnosis.verdict import Measured, judge
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from attract.vector.gymnasium_environment import GymnasiumVectorEnv
from attract_command import run_attract

ROOT = Path(__file__).resolve().parents[2]
JUDGE_EPISODES = 100
JUDGE_SEED = 4_711
NUM_ENVS = 20
SHORT_STEPS = {"page": 12_000, "plain": 6_000}
"""Too few to learn most games, and enough for twenty episodes to end."""
SUITE = (
    "acrobot", "breakout", "cart-pole", "exit", "jumper", "maze", "merge", "mountain-car",
    "mountain-car-continuous", "scaled", "thruster", "treasure",
)  # fmt: skip
BUNDLED = ("cartpole", "snake", "lander", "pendulum", "harvest", "memory", "keydoor")
PAGES = ("hopper", "juggler", "lanes", "meteors", "moles", "stars")
LONG_STEPS = {"page": 60_000, "plain": 80_000}


@dataclass(frozen=True)
class Case:
    """One training; half of all are too short on purpose."""

    game: str
    steps: int
    seed: int
    is_page: bool = False

    @property
    def key(self) -> str:
        """Its name."""
        return f"{Path(self.game).stem}-{self.steps}-{self.seed}"


def cases() -> list[Case]:
    """Sixty: each of 25 games too short and long enough, and five of them with another seed."""
    plain = [str(ROOT / "web" / "suite" / f"{name}.ts") for name in SUITE] + list(BUNDLED)
    both = [Case(game, steps["plain"], 1) for steps in (SHORT_STEPS, LONG_STEPS) for game in plain]
    both += [Case(game, steps["page"], 1, True) for steps in (SHORT_STEPS, LONG_STEPS) for game in PAGES]
    more = [
        Case(game, steps["plain"], 2)
        for steps in (SHORT_STEPS, LONG_STEPS)
        for game in ("cartpole", *plain[1:5])
    ]
    return both + more


def random_returns(case: Case) -> list[float]:
    """Of random play, with seeds and random actions that the run did not have."""
    if case.is_page:
        return played_returns(case.game, JUDGE_EPISODES)
    found: list[list[float]] = [[] for _ in range(NUM_ENVS)]
    env = GymnasiumVectorEnv(case.game, NUM_ENVS, num_workers=1, project_dir=ROOT)
    try:
        _, infos = env.reset(seed=JUDGE_SEED)
        env.single_action_space.seed(JUDGE_SEED)
        sums = np.zeros(NUM_ENVS)
        # The same number of each copy: whichever ended first would be the short ones.
        while min(map(len, found)) < JUDGE_EPISODES // NUM_ENVS:
            masks: Sequence[Any] = infos.get("action_mask", [None] * NUM_ENVS)
            actions = np.stack([_sample(env, mask) for mask in masks])
            _, rewards, terminated, truncated, infos = env.step(actions)
            sums += rewards
            for place in np.flatnonzero(terminated | truncated):
                found[place].append(float(sums[place]))
                sums[place] = 0.0
    finally:
        env.close()
    return [value for of_one in found for value in of_one[: JUDGE_EPISODES // NUM_ENVS]]


def _sample(env: GymnasiumVectorEnv, mask: Any) -> Any:
    space: Any = env.single_action_space
    return space.sample() if mask is None else space.sample(mask=np.asarray(mask, np.int8))


async def trained_returns(run_id: str, runs_dir: Path) -> dict[bool, Measured]:
    """Of an evaluation that samples actions, as training does, and of one that takes the likeliest."""
    server = ServerSettings.from_mapping({"runs_dir": runs_dir, "project_dir": ROOT, "port": 0})
    found: dict[bool, Measured] = {}
    async with running_gateway(server, port_is_fixed=False) as gateway:
        url = join_url(gateway.url, gateway.guard.issue("worker"), 2)
        host = await HostProcess.start(url, lambda _event: None)
        try:
            for deterministic in (False, True):
                view = await gateway.service.evaluate(
                    run_id, episodes=JUDGE_EPISODES, deterministic=deterministic, seed=JUDGE_SEED
                )
                found[deterministic] = Measured.of(view.return_mean, view.return_std, view.episodes)
        finally:
            await host.stop()
    return found


def run(case: Case, runs_dir: Path) -> dict[str, Any]:
    """Train one case and judge it."""
    outcome = run_attract(
        "train", case.game, "--headless", "--workers", "2", "--seed", str(case.seed),
        "--total-steps", str(case.steps), "--run-id", case.key, "--force", "--port", "0", "--json",
        runs_dir=runs_dir, timeout_seconds=900, folder=ROOT,
    )  # fmt: skip
    if outcome.code != 0:
        return {"case": case.key, "failed": outcome.stderr[-2_000:]}
    told = outcome.json
    returns = random_returns(case)
    random = Measured.of(statistics.fmean(returns), statistics.pstdev(returns), len(returns))
    trained = asyncio.run(trained_returns(case.key, runs_dir))
    verdicts = {
        mode: judge(measured, random, num_agents=1, same_task=True).learned
        for mode, measured in trained.items()
    }
    names = ("return", "standard_error", "random_return", "random_standard_error", "random_episodes")
    return {
        "case": case.key,
        "learned": told["learned"],
        "judge_sampled": verdicts[False],
        "judge_likeliest": verdicts[True],
        **{name: told[name] for name in names},
        "judged_random": [random.mean, random.standard_error],
        "judged_sampled": [trained[False].mean, trained[False].standard_error],
        "judged_likeliest": [trained[True].mean, trained[True].standard_error],
        "findings": [finding["finding_id"] for finding in told["findings"]],
    }


def main() -> None:
    """Run what is missing in the file, then print how often they agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="one JSON object a line")
    parser.add_argument("--only", help="cases whose name contains this")
    chosen = parser.parse_args()
    rows = [json.loads(line) for line in chosen.out.read_text().splitlines()] if chosen.out.exists() else []
    known = {row["case"] for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if case.key in known or (chosen.only is not None and chosen.only not in case.key):
                continue
            row = run(case, Path(folder))
            rows.append(row)
            with chosen.out.open("a") as out:
                print(json.dumps(row), file=out, flush=True)
            print(row["case"], row.get("learned"), row.get("judge_sampled"), row.get("judge_likeliest"))
    judged = [row for row in rows if "failed" not in row]
    for judge_name in ("judge_sampled", "judge_likeliest"):
        agreed = sum(row["learned"] == row[judge_name] for row in judged)
        print(f"{judge_name}: {agreed} of {len(judged)} agree", file=sys.stderr)


if __name__ == "__main__":
    main()
