"""Failures of beginners, planted in small real games or their settings, and what the diagnosis says of each.

`make planted` trains every one of them in headless Chromium, and the bundled
games, which must be left in peace. With `--record` it also keeps what the diagnosis reads of each run for
`tests/backend/diagnosis/`, which asks it again on every test run; `--table` puts that into the guide.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from attract.diagnosis.diagnosis import Diagnosis
from attract.diagnosis.sign import RunFacts
from attract.runs.metrics import MetricsStore
from attract.schema.api import Finding
from attract.schema.game import GameDescription
from attract.settings.run import RunSettings
from attract_command import Outcome, run_attract

GAMES = Path(__file__).parent / "planted"
RECORDED = Path(__file__).parents[2] / "tests" / "backend" / "diagnosis" / "recorded"
GUIDE = Path(__file__).parents[2] / "docs" / "notebook" / "diagnosis.md"
BEGIN, END = "<!-- planted -->", "<!-- /planted -->"
STEPS = 200_000
READ = (
    "rollout/",
    "reward/",
    "train/",
    "fleet/wait_fraction",
    "fleet/instances",
    "time/update_seconds",
    "time/idle_seconds",
)
"""How the names of metrics begin that the diagnosis reads."""
DIGITS = 5


@dataclass(frozen=True)
class Run:
    """One training: what is wrong with it, and which finding says so; none for a game that learns."""

    name: str
    game: str
    flags: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    """Any of these is right."""
    fault: str = ""
    total_steps: int = STEPS

    def train(self, runs_dir: Path) -> Outcome:
        """Train it in headless Chromium."""
        path = GAMES / self.game
        game = str(path) if path.is_file() else self.game
        steps = ("--total-steps", str(self.total_steps), "--run-id", self.name, "--force", "--port", "0")
        return run_attract(
            "train", game, *self.flags, *steps, "--json", runs_dir=runs_dir, timeout_seconds=900
        )


PLANTED = (
    # Either way it is told to take smaller steps: whether the first ones are its last is a matter of chance.
    Run(
        "rate",
        "catch.ts",
        ("--ppo.learning-rate", "0.5"),
        ("kl-high", "entropy-collapsed"),
        "a learning rate of 0.5",
    ),
    Run(
        "tiny-rate",
        "catch.ts",
        ("--ppo.learning-rate", "1e-8"),
        ("policy-unchanged",),
        "a learning rate of 1e-8",
    ),
    Run("no-reward", "no-reward.ts", (), ("reward-constant",), "the reward is never returned"),
    Run("endless", "endless.ts", (), ("no-episode-ended",), "no episode ever ends"),
    Run(
        "stuck", "stuck-entry.ts", (), ("observation-constant",), "a number of the observation never changes"
    ),
    Run("loud", "loud-term.ts", (), ("term-dominates",), "one reward term weighs 1,000 times the other"),
    Run("huge", "huge-reward.ts", ("--no-check",), ("reward-size",), "one catch of seven is paid 1e25"),
    Run("gamma", "lever.ts", ("--ppo.gamma", "0"), ("short-sighted",), "gamma 0, and the reward comes later"),
    Run("far-goal", "far-goal.ts", (), ("reward-constant",), "a single reward that chance does not reach"),
    Run("car", "mountain-car.ts", (), ("reward-constant",), "-1 a step, and chance does not reach the goal"),
    Run("limit", "short-limit.ts", (), ("time-limit",), "the time limit ends every episode before the goal"),
    Run("dice", "dice.ts", (), ("value-unexplained",), "the reward is chance alone"),
    Run("recall", "recall.ts", (), ("value-unexplained",), "it needs a memory and has none"),
    Run(
        "circles",
        "rock-paper-scissors.ts",
        ("--seats", "newest,pool", "--no-check"),
        ("loses-to-past",),
        "each move is beaten by another, and it answers the newest opponents",
        400_000,
    ),
    Run(
        "runner",
        "runner.ts",
        ("--seed", "2"),
        ("stands-still",),
        "it hops, and never tries to wait",
        1_000_000,
    ),
    Run(
        "many-epochs",
        "catch.ts",
        ("--ppo.n-epochs", "60", "--ppo.minibatch-steps", "64", "--ppo.target-kl", "1000"),
        ("workers-wait",),
        "60 epochs of small minibatches",
        60_000,
    ),
    Run("slow", "slow-game.ts", (), ("learner-waits",), "an `update()` that takes milliseconds", 40_000),
)
SOUND = (
    Run("sound-catch", "catch.ts"),
    Run("sound-lever", "lever.ts"),
    Run("cartpole", "cartpole", total_steps=300_000),
    Run("snake", "snake"),
    Run("foragers", "foragers"),
    Run("lander", "lander", total_steps=300_000),
    Run("pendulum", "pendulum", total_steps=150_000),
    Run("harvest", "harvest", total_steps=100_000),
    Run("memory", "memory", total_steps=150_000),
    Run("duel", "../../suite/duel.ts", ("--seats", "newest,pool", "--no-check")),
)
"""They learn: nothing is to be said of them."""


@dataclass(frozen=True)
class Stream:
    """What the diagnosis reads of a run."""

    facts: RunFacts
    rows: list[tuple[int, int, dict[str, float]]]
    """Update, agent steps and metrics."""

    @classmethod
    def of(cls, folder: Path) -> "Stream":
        """The stream of the run in `folder`."""
        settings = RunSettings.from_mapping(yaml.safe_load((folder / "config.yaml").read_text())["settings"])
        game = GameDescription.model_validate(json.loads((folder / "game.json").read_text())["description"])
        store = MetricsStore(folder / "metrics.db")
        rows = [
            (update, steps, {name: _rounded(value) for name, value in row.items() if name.startswith(READ)})
            for update, steps, row in store.rows()
        ]
        store.close()
        return cls(RunFacts(settings, game, num_cores=2), rows)

    @classmethod
    def load(cls, path: Path) -> "Stream":
        """What `save` wrote."""
        kept = json.loads(path.read_text())
        settings = RunSettings.from_mapping(kept["settings"])
        facts = RunFacts(settings, GameDescription.model_validate(kept["game"]), num_cores=2)
        columns = [dict(zip(kept["names"], row, strict=True)) for row in kept["values"]]
        values = [{name: value for name, value in row.items() if value is not None} for row in columns]
        return cls(facts, list(zip(kept["updates"], kept["agent_steps"], values, strict=True)))

    def save(self, path: Path) -> None:
        """Keep it as a table: a line of numbers for each update."""
        names = sorted({name for _, _, row in self.rows for name in row})
        head = {
            "settings": self.facts.settings.model_dump(mode="json", exclude_defaults=True),
            "game": self.facts.game.model_dump(mode="json"),
            "names": names,
            "updates": [update for update, _, _ in self.rows],
            "agent_steps": [steps for _, steps, _ in self.rows],
        }
        lines = ",\n".join(json.dumps([row.get(name) for name in names]) for _, _, row in self.rows)
        path.write_text(f'{json.dumps(head)[:-1]}, "values": [\n{lines}\n]}}\n')

    def said(self) -> list[tuple[int, Finding]]:
        """Agent steps, and what the diagnosis says then: findings, and withdrawn ones as such."""
        diagnosis = Diagnosis(self.facts)
        return [
            (steps, finding)
            for update, steps, values in self.rows
            for finding in diagnosis.observe(update, steps, values)
        ]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def table_line(run: Run, stream: Stream) -> str:
    """The guide's line about a run: what was planted, and what the run said first."""
    planted = run.fault or f"nothing (`{Path(run.game).stem}`)"
    first = next(iter(stream.said()), None)
    if first is None:
        return f"| {planted} | nothing | |"
    steps, finding = first
    said = f"`{finding.finding_id}`: {finding.text}. {finding.advice}."
    return f"| {planted} | {said} | {steps:,} of {run.total_steps:,} |"


def table() -> str:
    """The guide's table, of the recorded runs."""
    head = "| Planted | What the run says | After steps |\n|---|---|---|\n"
    lines = [table_line(run, Stream.load(RECORDED / f"{run.name}.json")) for run in (*PLANTED, *SOUND)]
    return head + "\n".join(lines) + "\n"


def main() -> int:
    """Trains and prints; 1 when a finding was missed or a sound game was accused."""
    parser = argparse.ArgumentParser(description="train the planted failures")
    parser.add_argument("--record", action="store_true", help="keep the runs' metrics for the tests")
    parser.add_argument(
        "--table", action="store_true", help="train none: put the recorded ones into the guide"
    )
    parser.add_argument("names", nargs="*", help="only these runs")
    given = parser.parse_args()
    if given.table:
        before, rest = GUIDE.read_text().split(BEGIN)
        GUIDE.write_text(f"{before}{BEGIN}\n{table()}{END}{rest.split(END)[1]}")
        return 0
    chosen = [run for run in (*PLANTED, *SOUND) if not given.names or run.name in given.names]
    num_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for run in chosen:
            outcome = run.train(Path(folder))
            assert outcome.code == 0, outcome.stderr
            stream = Stream.of(Path(folder) / run.name)
            if given.record:
                RECORDED.mkdir(parents=True, exist_ok=True)
                stream.save(RECORDED / f"{run.name}.json")
            ids = {finding.finding_id for _, finding in stream.said()}
            is_right = bool(ids.intersection(run.expected)) if run.expected else not ids
            num_wrong += not is_right
            print(f"{'' if is_right else 'WRONG '}{table_line(run, stream)} {sorted(ids)}", flush=True)
    print(f"{len(chosen) - num_wrong} of {len(chosen)} right")
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
