"""`attract init` and `attract.config.ts`: what they name is played, and a finding is what its rule says."""

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from attract_command import Outcome, run_attract

PAGE = """\
<!doctype html><title>Raft</title><canvas id=c width=320 height=120></canvas><script>
const context = document.getElementById("c").getContext("2d");
const held = new Set();
var raft = { at: 160, planks: 0 };
addEventListener("keydown", ({ code }) => held.add(code));
addEventListener("keyup", ({ code }) => held.delete(code));
addEventListener("pointerdown", ({ clientX }) => { raft.at += clientX < 160 ? -30 : 30; });
function frame() {
  if (held.has("ArrowLeft")) raft.at -= 4;
  if (held.has("ArrowRight")) raft.at += 4;
  if (raft.at < 20) { console.error("the raft left the river"); raft = { at: 160, planks: raft.planks + 1 }; }
  raft.at = Math.min(300, raft.at);
  context.clearRect(0, 0, 320, 120);
  context.fillRect(raft.at, 60, 16, 8);
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
</script>
"""
ADAPTER = """\
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Raft-v1",
  page: "dist/index.html",
  size: [320, 120],
  maxSeconds: 5,
  action: discrete(3),
  keys: { left: ["ArrowLeft"], stay: [], right: ["ArrowRight"] },
  observation: box({ low: 0, high: 1, shape: [1] }),
  observe: (w) => [w.raft.at / 320],
  score: (w) => w.raft.planks,
  over: (w) => w.raft.planks > 1,
});
""".replace("discrete(3)", 'discrete(["left", "stay", "right"])')
MODULE = """\
import { box, defineGame, discrete } from "attract";
class Walk {
  start() { this.x = 5; return [0.5]; }
  update(_deltaTime, action) {
    this.x += action - 1;
    return { observation: [this.x / 10], reward: 1, terminated: this.x <= 0 || this.x >= 10 };
  }
}
export default defineGame({
  id: "Walk-v1",
  tickSeconds: 0.1,
  maxSeconds: 10,
  observation: box({ low: 0, high: 1, shape: [1] }),
  action: discrete(3),
  create: () => new Walk(),
});
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a page that has an adapter beside its build."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.html").write_text(PAGE)
    (tmp_path / "game.page.ts").write_text(ADAPTER)
    return tmp_path


def run(folder: Path, *words: str) -> Outcome:
    return run_attract(*words, "--json", runs_dir=folder / "runs", folder=folder)


def configure(folder: Path, rules: str, more: str = "") -> None:
    text = (
        f"export default {{ page: './dist', seconds: 10, junit: 'out/junit.xml', rules: {rules}, {more} }};"
    )
    (folder / "attract.config.ts").write_text(text)


# The page is played for 10 s: what the file calls a warning is one in every output.
def test_a_planted_error_is_what_its_rule_says(project: Path) -> None:
    (project / "dist" / "attract.config.ts").write_text(
        "export default { page: '.', rules: { error: 'off' } }"
    )
    configure(project, "{ error: 'warn', leak: 'off' }", "html: 'out/report.html'")
    (project / "deep").mkdir()
    # From a folder below, too; what lies in the page's folder says nothing.
    warned = run_attract("ci", "--github", "--json", runs_dir=project / "runs", folder=project / "deep")
    assert (warned.code, warned.json["verdict"]) == (0, "plays"), warned.stderr
    (error,) = warned.json["findings"]
    assert (error["oracle"], error["level"]) == ("error", "warn") and "left the river" in error["text"]
    assert "::warning " in warned.stderr and "::error" not in warned.stderr
    suite = ElementTree.parse(project / "out" / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    assert "left the river" in ElementTree.tostring(suite, encoding="unicode")
    assert "<h3>Warning: error</h3>" in (project / "out" / "report.html").read_text()
    states = {row["oracle"]: (row["state"], row["note"]) for row in warned.json["oracles"]}
    assert states["leak"] == ("not_judged", "off in attract.config.ts")
    assert states["blank"] == ("passed", ""), "it was looked at"


# A page is played on two devices for 10 s each.
@pytest.mark.long
def test_each_device_is_played_and_a_flag_wins(project: Path) -> None:
    configure(project, "{ error: 'warn' }", "devices: ['desktop', 'phone']")
    both = run(project, "ci", "--out", "played")
    assert both.code == 0, both.stderr
    assert {row["device"] for row in both.json["players"]} == {"desktop", "phone"}
    found = {finding["device"]: finding for finding in both.json["findings"]}
    for device in ("desktop", "phone"):
        assert found[device]["test_file"] == f"{device}-01-error.spec.ts"
        adapter = f"{device}-adapter.js"
        assert f'adapter: "{adapter}"' in (project / "played" / f"{device}-01-error.spec.ts").read_text()
        assert (project / "played" / adapter).read_text().startswith(f'globalThis.attractDevice="{device}"')
    assert not (project / "attract-ci").exists()
    one = run(project, "verify", "raft.planks >= 1", "--device", "desktop", "--seconds", "10")
    assert (one.code, one.json["game"]) == (0, "./dist"), one.stderr


# A baseline of a module is played, and the build after it.
def test_what_init_writes_in_a_fresh_folder_plays_every_build(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "game.ts").write_text(MODULE)
    (tmp_path / "package.json").write_text("{}")
    written = run(tmp_path, "init", "--github")
    assert written.code == 0, written.stderr
    assert written.json == {
        "files": ["attract.config.ts", ".github/workflows/play.yml"],
        "verdict": "plays",
        "problem": None,
        "next": "attract ci",
    }
    steps = yaml.safe_load((tmp_path / ".github" / "workflows" / "play.yml").read_text())["jobs"]["play"][
        "steps"
    ]
    ran = [step["run"].splitlines()[-1] for step in steps if "run" in step]
    assert ran == [
        "python -m playwright install --with-deps chromium",
        "npm run build --if-present",
        "attract ci",
    ]
    again = run(tmp_path, "init")
    assert again.code == 2 and "attract.config.ts already exists" in again.json["error"]
    # The build is worse: the game ends after a few steps.
    (tmp_path / "src" / "game.ts").write_text(MODULE.replace("this.x = 5", "this.x = 2"))
    played = run(tmp_path, "ci", "--seconds", "20")
    assert played.code == 1, played.stderr
    assert {finding["oracle"] for finding in played.json["findings"]} == {"changed"}
    assert (tmp_path / "attract-ci" / "junit.xml").is_file()


def test_init_of_a_page_without_an_adapter_says_why_there_is_no_baseline(project: Path) -> None:
    (project / "game.page.ts").unlink()
    written = run(project, "init")
    assert written.code == 0, written.stderr
    assert "attract probe ./dist" in written.json["problem"] and written.json["verdict"] is None
    assert written.json["files"] == ["attract.config.ts"]
    assert not (project / ".github").exists()
    nothing = project / "empty"
    nothing.mkdir()
    assert "attract init ./dist" in run(nothing, "init").json["fix"]
    outside = run(nothing, "init", os.fspath(Path(__file__).parents[2] / "docs"))
    assert outside.code == 2 and not [*nothing.iterdir()]
