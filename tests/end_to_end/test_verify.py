"""`attract verify` on a page without an adapter and on a module: what holds is shown, what cannot denied."""

from pathlib import Path

import pytest

from attract_command import Outcome, run_attract

PAGE = """\
<!doctype html><title>Hop</title><canvas id=c width=400 height=200></canvas><script>
const c = document.getElementById("c").getContext("2d");
let player = { y: 150, vy: 0, jumps: 0 };
addEventListener("keydown", ({ code }) => {
  if (code === "Space" && player.jumps < 2) { player.vy = -5; player.jumps++; }
});
function frame() {
  player.vy += 0.3;
  player.y += player.vy;
  if (player.y >= 150) player = { y: 150, vy: 0, jumps: 0 };
  c.clearRect(0, 0, 400, 200);
  c.fillRect(40, player.y, 15, 15);
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
</script>
"""
MODULE = """\
import { box, defineGame, discrete } from "attract";
let starts = 0;
class Door {
  start() {
    this.starts = ++starts;
    this.place = 0;
    this.keys = 0;
    return [0];
  }
  update(deltaTime, action) {
    this.place = Math.max(0, Math.min(9, this.place + action - 1));
    if (this.place === 9) this.keys = 1;
    return { observation: [this.place / 9], reward: 0, terminated: false };
  }
}
export default defineGame({
  id: "Door-v1",
  tickSeconds: 0.1,
  maxSeconds: 10,
  observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(3),
  create: () => new Door(),
});
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    (folder / "index.html").write_text(PAGE)
    (folder / "door.ts").write_text(MODULE)
    return folder


def verify(folder: Path, game: str, claim: str, seconds: int = 20) -> Outcome:
    return run_attract(
        "verify", game, claim, "--seconds", str(seconds), "--json", runs_dir=folder / "runs", folder=folder
    )


def test_a_double_jump_is_confirmed_by_an_episode_that_shows_it(folder: Path) -> None:
    outcome = verify(folder, "index.html", "player.jumps >= 2")
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["verdict"] == "confirmed"
    assert (folder / outcome.json["episode_file"]).is_file()
    assert "CONFIRMED: player.jumps >= 2" in outcome.stderr


def test_a_claim_about_a_module_replays_by_its_file(folder: Path) -> None:
    outcome = verify(folder, "door.ts", "game.keys === 1")
    assert outcome.code == 0, outcome.stderr
    words = outcome.stderr.splitlines()[-1].split()
    assert words[:2] == ["attract", "replay"]
    again = run_attract(*words[1:], runs_dir=folder / "runs", folder=folder)
    assert again.code == 0, again.stderr


def test_what_cannot_happen_is_denied(folder: Path) -> None:
    outcome = verify(folder, "door.ts", "game.keys >= 2", seconds=10)
    assert outcome.code == 1, outcome.stderr
    (reached,) = outcome.json["reached"]
    assert (reached["nearest"], reached["has_held"]) == (1, False) and reached["episodes"] > 20


@pytest.mark.parametrize("claim", ["nothing > 1", "game.keys = 1"])
def test_a_claim_that_cannot_be_read_is_refused(claim: str, folder: Path) -> None:
    outcome = verify(folder, "door.ts", claim, seconds=10)
    assert outcome.code == 2 and "CLAIM" in outcome.stderr


def test_a_game_that_cannot_be_played_denies_nothing(folder: Path) -> None:
    (folder / "broken.ts").write_text(MODULE.replace("class Door {", "nothing();\nclass Door {"))
    outcome = verify(folder, "broken.ts", "game.keys >= 1", seconds=10)
    assert (outcome.code, outcome.json["verdict"]) == (2, "not_played"), outcome.stderr
    assert "nothing is not defined" in outcome.json["reason"]


# All its time is played. `make test` has the answer of a replay above.
@pytest.mark.long
def test_what_an_earlier_episode_left_behind_is_not_confirmed(folder: Path) -> None:
    outcome = verify(folder, "door.ts", "game.starts >= 3", seconds=10)
    assert outcome.code == 3, outcome.stderr
    assert "not in its replay" in outcome.json["reason"]
