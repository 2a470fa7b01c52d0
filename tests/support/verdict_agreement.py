"""Trains plain games and page games, too short and long enough, and compares `learned` with a judge.

The judge plays 100 evaluation episodes of the policy and 100 episodes at random, with other seeds and through
other code than the run. `python tests/support/verdict_agreement.py --out FILE` goes on where FILE ends.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.diagnosis.verdict import Measured, judge
from attract.run.service import RunService
from attract.server.in_process import running_gateway
from attract.settings.run import ServerSettings
from attract.vector.environments.gymnasium_environment import GymnasiumVectorEnv
from attract_benchmarks.harness.page_returns import played_returns
from started_run import start_run

ROOT = Path(__file__).resolve().parents[2]
JUDGE_EPISODES = 100
JUDGE_SEED = 4_711
NUM_ENVS = 20
SHORT_STEPS = {"page": 12_000, "plain": 6_000}
"""Too few to learn most games, and enough for twenty episodes to end."""
LONG_EPISODES = (
    "acrobot", "harvest", "maze", "mountain-car", "mountain-car-continuous", "pendulum", "stars", "treasure",
)  # fmt: skip
"""Games of which fewer than twenty episodes end in so few steps: short trainings take four times as many."""
SUITE = (
    "acrobot", "breakout", "cart-pole", "duel-against-strategy", "exit", "jumper", "maze", "merge",
    "mountain-car", "mountain-car-continuous", "thruster", "treasure",
)  # fmt: skip
BUNDLED = ("cartpole", "snake", "lander", "pendulum", "harvest", "memory", "keydoor")
PAGES = ("hopper", "juggler", "lanes", "meteors", "moles", "stars")
LONG_STEPS = {"page": 60_000, "plain": 60_000}


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
    plain = [str(ROOT / "benchmarks" / "suite" / f"{name}.ts") for name in SUITE] + list(BUNDLED)
    chosen = [(game, "plain", 1) for game in plain] + [(game, "page", 1) for game in PAGES]
    chosen += [(game, "plain", 2) for game in ("cartpole", *plain[1:5])]
    return [
        Case(
            game, steps[kind] * (4 if short and Path(game).stem in LONG_EPISODES else 1), seed, kind == "page"
        )
        for game, kind, seed in chosen
        for short, steps in ((True, SHORT_STEPS), (False, LONG_STEPS))
    ]


def random_returns(case: Case) -> list[float]:
    """Returns of random play, with seeds and random actions that the run did not use."""
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


async def run(case: Case, service: RunService, random: Measured) -> dict[str, Any]:
    """Train one case, and judge its policy: sampled, as training plays, and by its likeliest actions."""
    settings = {"seed": case.seed, "total_steps": case.steps, "collection": {"num_workers": 2}}
    view = await start_run(service, case.game, settings, run_id=case.key, force=True, check=True)
    result = await service.wait_finished()
    numbers = result.verdict.numbers()
    row: dict[str, Any] = {"case": case.key, **numbers, "random_judged": [random.mean, random.standard_error]}
    for deterministic in (False, True):
        name = "likeliest" if deterministic else "sampled"
        found = await service.evaluate(
            view.run_id, episodes=JUDGE_EPISODES, deterministic=deterministic, seed=JUDGE_SEED
        )
        trained = Measured.of(found.return_mean, found.return_std, found.episodes)
        row[f"judged_{name}"] = [trained.mean, trained.standard_error]
        row[name] = judge(trained, random, num_agents=1, same_task=True).learned
    return row | {"findings": [finding.finding_id for finding in result.findings]}


def random_play(case: Case, file: Path) -> Measured:
    """Random play as the judge measures it, cached in the file: a game is trained several times."""
    known: dict[str, list[float]] = json.loads(file.read_text()) if file.exists() else {}
    if case.game not in known:
        known[case.game] = random_returns(case)
        file.write_text(json.dumps(known))
    returns = known[case.game]
    return Measured.of(statistics.fmean(returns), statistics.pstdev(returns), len(returns))


async def run_all(chosen: Sequence[Case], out: Path) -> None:
    """Append a line for each case."""
    with tempfile.TemporaryDirectory() as folder:
        server = ServerSettings.from_mapping({"runs_dir": Path(folder), "project_dir": ROOT, "port": 0})
        async with running_gateway(server, port_is_fixed=False) as gateway:
            url = join_url(gateway.url, gateway.guard.issue("worker"), 2)
            host = await HostProcess.start(url, lambda _event: None)
            try:
                for case in chosen:
                    random = await asyncio.to_thread(random_play, case, out.with_suffix(".random.json"))
                    row = await run(case, gateway.service, random)
                    with out.open("a") as file:
                        print(json.dumps(row), file=file, flush=True)
                    print(*(row[name] for name in ("case", "learned", "sampled", "likeliest")), flush=True)
            finally:
                await host.stop()


def main() -> None:
    """Run what is missing in the file, then print how often they agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="one JSON object a line")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    given = parser.parse_args()
    out: Path = given.out
    known = {row["case"] for row in _rows(out)}
    chosen = [case for case in cases() if case.key not in known and given.only in case.key]
    asyncio.run(run_all(chosen, out))
    rows = _rows(out)
    for name in ("sampled", "likeliest"):
        agreed = sum(row["learned"] == row[name] for row in rows)
        undecided = sum(row["learned"] is None for row in rows)
        print(f"{name}: {agreed} of {len(rows)} agree, {undecided} undecided")


def _rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


if __name__ == "__main__":
    main()
