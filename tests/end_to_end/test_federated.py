"""The averaging of two trainers, by the commands that the user's guide shows."""

import json
import re
import shlex
from pathlib import Path

import pytest

from attract.runs.metrics import MetricsStore
from attract_command import AttractCommand
from servers import free_port

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "curriculum.md"
STEPS = "60000"
"""Less than the guide's: several rounds of 200 episodes, which last some 20 steps each at first."""


@pytest.mark.long
def test_the_guides_two_trainers_become_the_same_every_200_episodes(tmp_path: Path) -> None:
    rendezvous = f"127.0.0.1:{free_port()}"
    trainers = [
        AttractCommand(*_with(words, rendezvous), runs_dir=tmp_path) for words in _commands(GUIDE.read_text())
    ]
    for trainer in trainers:
        outcome = trainer.wait()
        assert outcome.code == 0, outcome.stdout + outcome.stderr
    first, second = _rounds(tmp_path, "a"), _rounds(tmp_path, "b")
    shared = first.keys() & second.keys()
    assert len(shared) >= 2
    assert {number: first[number] for number in shared} == {number: second[number] for number in shared}
    assert len({first[number] for number in shared}) == len(shared)


def _commands(guide: str) -> list[list[str]]:
    """The arguments of both, as they stand in the guide."""
    commands = re.findall(r"^attract (train (?:.*\\\n)*.*--federated\.rank.*)$", guide, re.MULTILINE)
    assert len(commands) == 2
    return [shlex.split(command.replace("\\\n", " ")) for command in commands]


def _with(words: list[str], rendezvous: str) -> list[str]:
    """The same command on ports that are free here, and shorter, with the games of the longer run."""
    own = {"--port": str(free_port()), "--total-steps": STEPS, "--federated.rendezvous": rendezvous}
    assert own.keys() <= set(words)
    changed = [own.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    return [*changed, "--instances", "64"]


def _rounds(runs_dir: Path, run_id: str) -> dict[float, str]:
    """Hash of the weights of the version that ended each round; the newest checkpoints only."""
    store = MetricsStore(runs_dir / run_id / "metrics.db")
    names = ["federated/round", "federated/trainers"]
    view = store.query(run_id, names)
    rounds, trainers = [dict(zip(view.steps_of(sery.name), sery.values, strict=True)) for sery in view.series]
    store.close()
    found: dict[float, str] = {}
    for path in (runs_dir / run_id / "checkpoints").glob("*/checkpoint.json"):
        checkpoint = json.loads(path.read_text())
        steps = checkpoint["counters"]["agent_steps"]
        if steps in rounds and trainers[steps] == 2:
            found[rounds[steps]] = checkpoint["weights_sha256"]
    return found
