"""Programs outside of the browser as players: in matches, in training, in the crowd, as teachers."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from attract_command import Outcome, run_attract
from node_driver import REPOSITORY

# Two agents show a hand each round; who beats the other is paid.
GAME = """
import { box, defineGame, discrete } from "attract";
class Hands {
  round = 0;
  last = [0, 0];
  start({ random }) {
    this.round = 0;
    this.last = [random.int(3), random.int(3)];
    return { observation: this.seen() };
  }
  update(_deltaTime, actions) {
    this.last = [actions[0], actions[1]];
    const won = (actions[0] - actions[1] + 3) % 3;
    this.round++;
    const reward = won === 0 ? [0, 0] : won === 1 ? [1, -1] : [-1, 1];
    return { observation: this.seen(), reward, terminated: this.round === ROUNDS };
  }
  seen() {
    const [a, b] = this.last;
    return [[this.round, a, b], [this.round, b, a]];
  }
}
export default defineGame({
  id: "Hands-v1", tickSeconds: 1, numAgents: 2,
  observation: box({ shape: [3] }), action: discrete(["rock", "paper", "scissors"]),
  create: () => new Hands(),
});
"""
BOT = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    time.sleep(SECONDS)
    print(json.dumps({"id": asked["id"], "action": int(asked["observation"][1] + 1) % 3}), flush=True)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "hands.js").write_text(GAME.replace("ROUNDS", "2"))
    for name, seconds in (("quick", 0.005), ("slow", 0.5)):
        (folder / f"{name}.py").write_text(BOT.replace("SECONDS", str(seconds)))
    (folder / "mute.py").write_text("import sys\nfor line in sys.stdin: print('up', flush=True)\n")
    return folder


@pytest.fixture(scope="module")
def runs_dir(project: Path) -> Path:
    words = ("train", "hands.js", "--run-id", "one", "--no-check", "--json", "--workers", "1")
    outcome = run_attract(*words, "--total-steps", "2000", runs_dir=project / "runs", folder=project)
    assert outcome.code == 0, outcome.stderr
    return project / "runs"


def program(name: str) -> tuple[str, str]:
    return "--outside", f"{name}={sys.executable} {name}.py"


def all_equal(folder: Path, runs_dir: Path, project: Path) -> int:
    """Episodes in the folder, once each has played again."""
    outcome = run_attract("replay", str(folder), "--json", runs_dir=runs_dir, folder=project)
    assert outcome.code == 0, outcome.stdout + outcome.stderr
    replays = outcome.json["episodes"]
    assert all(replay["equal"] for replay in replays)
    return len(replays)


def match(*words: str, runs_dir: Path, project: Path) -> Outcome:
    outcome = run_attract("match", *words, "--json", runs_dir=runs_dir, folder=project)
    assert outcome.code == 0, outcome.stderr
    return outcome


# At two decisions a second a hundred episodes of two steps take two minutes.
@pytest.mark.parametrize("name", ["quick", pytest.param("slow", marks=pytest.mark.long)])
def test_C5_the_episodes_of_a_program_play_again_without_it(
    name: str, project: Path, runs_dir: Path, tmp_path: Path
) -> None:
    save = ("--episodes", "100", "--save", str(tmp_path / "episodes"))
    outcome = match("one", f"outside:{name}", *save, *program(name), runs_dir=runs_dir, project=project)
    (report,) = outcome.json["outside"]
    assert report == {"player": f"outside:{name}", "decisions": 200, "defaults": 0, "problems": []}
    (project / f"{name}.py").rename(project / "away.py")
    assert all_equal(tmp_path / "episodes", runs_dir, project) == outcome.json["saved"] == 100
    (project / "away.py").rename(project / f"{name}.py")
    seats = [json.loads(file.read_text())["seats"] for file in (tmp_path / "episodes").iterdir()]
    named = [[seat["policy_id"] for seat in game].index(f"outside:{name}") for game in seats]
    assert sorted(named) == [0] * 50 + [1] * 50


def test_a_hostile_program_never_ends_a_match(project: Path, runs_dir: Path) -> None:
    words = ("one", "outside:mute", "outside:quick", "--episodes", "10", *program("mute"), *program("quick"))
    outcome = match(*words, runs_dir=runs_dir, project=project)
    reports: dict[str, Any] = {report["player"]: report for report in outcome.json["outside"]}
    mute, quick = reports["outside:mute"], reports["outside:quick"]
    assert (mute["decisions"], mute["defaults"]) == (40, 40)
    assert "answered `up`, which is not JSON" in mute["problems"][0]
    assert (quick["decisions"], quick["defaults"]) == (40, 0)


# A program plays in a match and in the crowd in `make test`.
@pytest.mark.long
def test_a_policy_trains_against_a_program(project: Path, runs_dir: Path) -> None:
    words = ("train", "hands.js", "--run-id", "against", "--no-check", "--json", "--workers", "1")
    seats = ("--instances", "4", "--seats", "newest,outside:quick", *program("quick"))
    outcome = run_attract(
        *words, *seats, "--ppo.rollout-steps", "32", "--total-steps", "512", runs_dir=runs_dir, folder=project
    )
    assert outcome.code == 0, outcome.stderr
    document = json.loads((runs_dir / "against" / "latest" / "checkpoint.json").read_text())
    others = document["curriculum"]["opponents"]["others"]
    ((player, _, scores),) = others
    assert player == "outside:quick" and len(scores) >= 50
    # More games than the run has side by side.
    beside = ("against", "outside:quick", "--episodes", "60", *program("quick"))
    (report,) = match(*beside, runs_dir=runs_dir, project=project).json["outside"]
    assert (report["decisions"], report["defaults"]) == (120, 0)
    # Resumed, the program must be named again: no file of a run is believed with a command.
    again = ("train", "--resume", "--run-id", "against", "--json", "--total-steps", "640")
    refused = run_attract(*again, runs_dir=runs_dir, folder=project)
    assert refused.code == 2 and "there is no program 'quick'" in refused.stderr
    resumed = run_attract(*again, *program("quick"), runs_dir=runs_dir, folder=project)
    assert resumed.code == 0, resumed.stderr


def test_a_file_beside_a_game_defines_no_program(project: Path, runs_dir: Path) -> None:
    (project / "own.js").write_text((project / "hands.js").read_text())
    (project / "own.train.yaml").write_text(
        "outside: {bot: touch was-run}\nself_play: {seats: [newest, 'outside:bot']}\n"
    )
    outcome = run_attract("train", "own.js", "--total-steps", "64", runs_dir=runs_dir, folder=project)
    assert outcome.code == 2 and "outside" in outcome.stderr
    assert not (project / "was-run").exists()


def test_a_program_that_nobody_defined_is_refused(project: Path, runs_dir: Path) -> None:
    outcome = run_attract("match", "one", "outside:bot", runs_dir=runs_dir, folder=project)
    assert outcome.code == 2 and "there is no program 'bot'" in outcome.stderr
    assert '--outside bot="python bot.py"' in outcome.stderr


# --- the crowd, and demonstrations ---


@pytest.mark.parametrize("name", ["quick", pytest.param("slow", marks=pytest.mark.long)])
def test_C5_a_program_in_the_crowd_is_judged_by_episodes_that_play_without_it(
    name: str, project: Path, runs_dir: Path, tmp_path: Path
) -> None:
    seconds = "40" if name == "quick" else "600"
    words = ("ci", "hands.js", "--seconds", seconds, "--out", str(tmp_path), "--json", *program(name))
    outcome = run_attract(*words, runs_dir=runs_dir, folder=project)
    assert outcome.code in (0, 1), outcome.stderr
    (report,) = outcome.json["outside"]
    assert (report["player"], report["defaults"], report["problems"]) == (f"outside:{name}", 0, [])
    players = {player["player"]: player for player in outcome.json["players"]}
    # Each was played again as it was recorded: a player that does something else is left out with a reason.
    again = [player for player in players if player.startswith("recorded-")]
    assert len(again) == 64 and all(players[player]["episodes"] >= 1 for player in again)
    # Two agents, two steps; the crowd asks for both.
    assert report["decisions"] == 64 * 4


# `make test` has hostile programs in a match above, and each kind in backend/run/test_outside_program.py.
@pytest.mark.long
def test_a_hostile_program_never_ends_the_crowd(project: Path, runs_dir: Path, tmp_path: Path) -> None:
    (project / "dead.py").write_text("raise SystemExit(7)\n")
    words = ("ci", "hands.js", "--seconds", "20", "--out", str(tmp_path), *program("mute"), *program("dead"))
    outcome = run_attract(*words, runs_dir=runs_dir, folder=project)
    assert outcome.code in (0, 1), outcome.stderr
    shown = " ".join(outcome.stdout.split())
    assert "answered `up`, which is not JSON" in shown
    assert "dead.py) ended with exit code 7" in shown
    assert "the default action counted for 128" in shown


# A second way to the same episodes.
@pytest.mark.long
def test_a_fault_that_a_program_finds_is_found_without_it(
    project: Path, runs_dir: Path, tmp_path: Path
) -> None:
    text = (project / "hands.js").read_text().replace("this.round === 2", "this.round === 9")
    # Whoever shows what beats its last hand eight times in a row: chance does so once in 9 ** 8 episodes.
    fault = """
    const follows = [0, 1].every((i) => actions[i] === (this.last[i] + 1) % 3);
    this.streak = this.round === 0 ? Number(follows) : follows ? this.streak + 1 : 0;
    if (this.streak === 8) throw new Error("beaten");
    """
    text = text.replace("    this.last = [actions", f"{fault}this.last = [actions")
    (project / "faulty.js").write_text(text)
    words = ("ci", "faulty.js", "--seconds", "30", "--out", str(tmp_path), "--json", *program("quick"))
    outcome = run_attract(*words, runs_dir=runs_dir, folder=project)
    assert outcome.code == 1, outcome.stderr
    found = [finding for finding in outcome.json["findings"] if "beaten" in finding["text"]]
    assert found and found[0]["confirmed"] >= 1


# The patience that a program has is waited for. `make test` has the report in the unit tests.
@pytest.mark.long
def test_a_game_that_hangs_for_a_program_is_said(project: Path, runs_dir: Path, tmp_path: Path) -> None:
    text = (project / "hands.js").read_text().replace("this.round === 2", "this.round === 9")
    # As above: no other player hangs it.
    fault = """
    const follows = [0, 1].every((i) => actions[i] === (this.last[i] + 1) % 3);
    this.streak = this.round === 0 ? Number(follows) : follows ? this.streak + 1 : 0;
    while (this.streak === 8);
    """
    (project / "endless.js").write_text(
        text.replace("    this.last = [actions", f"{fault}this.last = [actions")
    )
    words = ("ci", "endless.js", "--seconds", "30", "--out", str(tmp_path), *program("quick"))
    outcome = run_attract(*words, runs_dir=runs_dir, folder=project)
    assert outcome.code in (0, 1), outcome.stderr
    assert "outside:quick could not play on: the game did not come back" in " ".join(outcome.stdout.split())


# A second way to the same episodes.
@pytest.mark.long
def test_a_policy_learns_from_a_program(project: Path, runs_dir: Path) -> None:
    words = ("imitate", "hands.js", "--from", "outside:quick", "--run-id", "copy", "--json")
    words = (*words, "--episodes", "30")
    outcome = run_attract(*words, "--epochs", "300", *program("quick"), runs_dir=runs_dir, folder=project)
    assert outcome.code == 0, outcome.stderr
    assert (outcome.json["demonstrations"], outcome.json["steps"]) == (30, 60)
    # The answer to a hand is its next: a rule that three inputs tell.
    assert outcome.json["metrics"]["train/cloning_agreement"] > 0.9, outcome.json["metrics"]
    words = ("imitate", "hands.js", "--from", "outside:nobody", "--json")
    refused = run_attract(*words, runs_dir=runs_dir, folder=project)
    assert refused.code == 2 and "there is no program 'nobody'" in refused.stderr


def test_the_program_of_the_guide_plays_its_game(tmp_path: Path) -> None:
    guide = (REPOSITORY / "docs/opponents.md").read_text()
    (code,) = re.findall(r"```python\n(# bot\.py\n.*?)```", guide, re.DOTALL)
    (tmp_path / "bot.py").write_text(code)
    (tmp_path / "duel.ts").write_text((REPOSITORY / "benchmarks/suite/duel.ts").read_text())
    words = ("train", "duel.ts", "--run-id", "duel-1", "--no-check", "--json", "--workers", "1")
    runs_dir = tmp_path / "runs"
    outcome = run_attract(*words, "--total-steps", "2000", runs_dir=runs_dir, folder=tmp_path)
    assert outcome.code == 0, outcome.stderr
    words = ("duel-1", "outside:bot", "--episodes", "20", "--outside", f"bot={sys.executable} bot.py")
    found = match(*words, runs_dir=runs_dir, project=tmp_path).json
    assert found["outside"][0]["defaults"] == 0
    assert found["players"][0]["player"] == "outside:bot", "it beats who never learned"
