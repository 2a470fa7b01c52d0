"""`attract replay` plays recorded episodes again in a real browser: the same, or it says where not."""

import json
from pathlib import Path

import pytest

from attract.runs.episodes import FOLDER, SUFFIX
from attract_command import run_attract

FAULTS = """
import { box, defineGame, discrete } from "attract";

const WORDS = "tree wall door lamp rock lake nest path barn hill gate boat".split(" ");

export default defineGame({
  id: "Faults-v1",
  tickSeconds: 0.1,
  secondsPerStep: 0.3,
  observation: box({ low: -100, high: 100, shape: [2] }),
  action: discrete(["left", "right"]),
  create: () => {
    let place = 0, tick = 0, random;
    return {
      start(context) {
        random = context.random;
        place = random.int(20) - 10;
        tick = 0;
        return [place, tick / 100];
      },
      update(_, action) {
        place += action === 0 ? -1 : 1;
        tick++;
        const word = WORDS[random.int(WORDS.length)];
        const side = place < 0 ? "left" : "right";
        if (random() < 0.004) throw new RangeError(`there is a ${word} at the ${side}`);
        return { observation: [place, tick / 100], reward: STEP * place, terminated: tick >= 150 };
      },
    };
  },
});
"""


def replay(folder: Path, *arguments: str) -> tuple[int, str]:
    outcome = run_attract("replay", *arguments, runs_dir=folder / "runs")
    return outcome.code, outcome.stderr + outcome.stdout


def trained(folder: Path, game: str, *arguments: str) -> Path:
    """The folder of the episodes that the training has kept."""
    outcome = run_attract(
        "train",
        game,
        "--headless",
        "--no-check",
        "--workers",
        "1",
        "--run-id",
        "r",
        *arguments,
        runs_dir=folder / "runs",
    )
    assert outcome.code in (0, 1), outcome.stdout + outcome.stderr
    return folder / "runs" / "r" / FOLDER


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `faults.ts` and a run of it, `r`, of which some episodes failed."""
    folder = tmp_path_factory.mktemp("faulty")
    game = folder / "faults.ts"
    game.write_text(FAULTS.replace("STEP", "1"))
    trained(folder, str(game), "--total-steps", "6000")
    return folder


# `make test` has the saved episodes of an evaluation in test_recorded_episodes.py.
@pytest.mark.long
def test_an_evaluation_is_the_same_again(tmp_path: Path) -> None:
    game = tmp_path / "game.ts"
    # A game whose faults are mended.
    game.write_text(FAULTS.replace("random() < 0.004", "random() < 0").replace("STEP", "1"))
    trained(tmp_path, str(game), "--total-steps", "3000")
    saved = tmp_path / "saved"
    assert (
        run_attract("eval", "r", "--episodes", "40", "--save", str(saved), runs_dir=tmp_path / "runs").code
        == 0
    )
    code, said = replay(tmp_path, str(saved))
    assert (code, said.splitlines()[-1]) == (0, "40 of 40 episodes are equal"), said


def test_another_build_differs_at_a_second(faulty: Path, tmp_path: Path) -> None:
    game = tmp_path / "other.ts"
    # The reward is another: nothing that is seen differs, the return does.
    game.write_text(FAULTS.replace("STEP", "2"))
    code, said = replay(faulty, "r", "--best", "--game", str(game))
    assert code == 1 and "the return is" in said and "another build of the game" in said
    # What is seen differs from the first second on.
    game.write_text(FAULTS.replace("STEP", "1").replace("place += action === 0 ? -1 : 1", "place += 3"))
    code, said = replay(faulty, "r", "--best", "--game", str(game), "--json")
    (found,) = json.loads(said.splitlines()[-1])["episodes"]
    assert code == 1 and found["other_build"] and not found["equal"]
    assert (found["difference"]["step"], round(found["difference"]["seconds"], 1)) == (3, 0.9)


# `make test` replays a failure in test_check.py, and each kind of it in tests/web/worker.
@pytest.mark.long
def test_every_failure_fails_again_in_its_tick(faulty: Path, tmp_path: Path) -> None:
    failures = sorted((faulty / "runs" / "r" / FOLDER).glob("*failure*.json"))
    assert len(failures) >= 8
    folder = tmp_path / "failures"
    folder.mkdir()
    for file in failures:
        (folder / f"{file.stem}{SUFFIX}").write_bytes(file.read_bytes())
    code, said = replay(faulty, str(folder))
    assert (code, said.splitlines()[-1]) == (0, f"{len(failures)} of {len(failures)} episodes are equal"), (
        said
    )
    assert said.count("failed: update() threw: RangeError: there is a") == len(failures)
    assert replay(faulty, "r", "--failed")[0] == 0


# `make test` plays recorded episodes of a page again in test_page_determinism.py.
@pytest.mark.long
@pytest.mark.parametrize("chosen", ["--best", "--worst"])
def test_a_page_game_is_the_same_in_a_fresh_page(trained_meteors: Path, chosen: str) -> None:
    code, said = replay(trained_meteors.parent, "p", chosen)
    assert code == 0 and ": equal: " in said, said


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"no json", "is not valid JSON"),
        (b"{}", "is no recorded episode: game_id"),
        (b"x" * (100 << 20), "has 104,857,600 bytes, at most"),
    ],
    ids=["no json", "no episode", "100 MB"],
)
def test_a_file_that_cannot_be_played_is_one_sentence(tmp_path: Path, content: bytes, text: str) -> None:
    file = tmp_path / "one.json"
    file.write_bytes(content)
    code, said = replay(tmp_path, str(file))
    assert code == 2 and text in said and "Traceback" not in said
    assert len(said.strip().splitlines()) == 1, said


def test_an_episode_of_another_game_is_one_sentence(trained_cartpole: Path) -> None:
    code, said = replay(trained_cartpole.parent, "p", "--best", "--game", "snake")
    assert code == 2 and "this is an episode of CartPole-v1, and the game is Snake-v1" in said, said
