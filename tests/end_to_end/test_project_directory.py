"""A game that imports from the folder beside its own is checked and trained from wherever it is named."""

from pathlib import Path

import pytest

from attract.processes.exit_codes import DONE, USAGE
from attract_command import run_attract

RULES = "export const LENGTH: number = 20;\n"
GAME = """
import { box, defineGame, discrete, type StartContext } from "attract";
import { LENGTH } from "../src/rules.ts";

class Follow {
  step = 0;
  side = 0;
  random: StartContext["random"] | undefined;
  start({ random }: StartContext) {
    this.random = random;
    this.step = 0;
    this.side = random.int(2);
    return [0, this.side];
  }
  update(_deltaTime: number, action: number) {
    const reward = action === this.side ? 1 : 0;
    this.step++;
    this.side = this.random?.int(2) ?? 0;
    return { observation: [this.step / LENGTH, this.side], reward, terminated: this.step >= LENGTH };
  }
  draw(context: CanvasRenderingContext2D, width: number, height: number) {
    context.clearRect(0, 0, width, height);
    context.fillRect(0, 0, (width * this.step) / LENGTH, height);
  }
}

export default defineGame({
  id: "Follow-v1",
  tickSeconds: 0.1,
  observation: box({ shape: [2], low: 0, high: 1 }),
  action: discrete(2),
  create: () => new Follow(),
});
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    for name, text in {"src/rules.ts": RULES, "train/g.ts": GAME, "package.json": "{}"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


PLACES = pytest.mark.parametrize(
    ("current", "game"), [(".", "train/g.ts"), pytest.param("train", "g.ts", marks=pytest.mark.long)]
)


@PLACES
def test_it_is_checked(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current: str, game: str
) -> None:
    monkeypatch.chdir(project / current)
    checked = run_attract("check", game, "--json", runs_dir=tmp_path)
    assert (checked.code, checked.json["findings"]) == (DONE, []), checked.stderr


# A check finds and bundles the game in the same way.
@pytest.mark.long
@PLACES
def test_it_is_trained(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, current: str, game: str
) -> None:
    monkeypatch.chdir(project / current)
    trained = run_attract(
        "train", game, "--workers", "1", "--total-steps", "1000", "--no-check", "--json", runs_dir=tmp_path
    )
    assert (trained.code, trained.json["state"]) == (DONE, "finished"), trained.stderr


def test_without_a_marker_the_message_names_a_flag_that_works(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "package.json").unlink()
    monkeypatch.chdir(project / "train")
    refused = run_attract("check", "g.ts", runs_dir=tmp_path)
    assert refused.code == USAGE
    advice = f"--project-dir {project}"
    assert advice in refused.stderr
    assert run_attract("check", "g.ts", *advice.split(), runs_dir=tmp_path).code == DONE
