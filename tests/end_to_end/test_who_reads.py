"""Coding agents and GitHub's runner are noticed: neither has to ask for what it can read."""

from pathlib import Path

import pytest

from attract_command import run_attract

PAGE = """<!doctype html><canvas width="300" height="100"></canvas><script>
let x = 100;
const context = document.querySelector("canvas").getContext("2d");
addEventListener("keydown", ({ code }) => {
  if (code === "ArrowLeft") x -= 30;
  if (x < 60) throw new TypeError("fell off");
});
(function frame() {
  context.clearRect(0, 0, 300, 100);
  context.fillRect(x, 60, 30, 40);
  requestAnimationFrame(frame);
})();
</script>"""
ADAPTER = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Fall-v1", page: "index.html", size: [400, 300], observation: box({ shape: [1] }), taps: true,
  action: discrete(["wait", "left"]), keys: { wait: [], left: ["ArrowLeft"] }, maxSeconds: 10,
  loaded(w) { w.look = w.eval("() => x"); },
  observe: (w) => [w.look() / 100], over: () => false, score: () => 0,
});
"""


# A crowd plays in a terminal. `make test` has who reads in the tests of its console.
@pytest.mark.long
def test_an_agent_reads_the_next_command_last_and_github_its_annotations(tmp_path: Path) -> None:
    page, summary = tmp_path / "page", tmp_path / "summary.md"
    page.mkdir()
    (page / "index.html").write_text(PAGE)
    (page / "game.page.ts").write_text(ADAPTER)
    runs, agent = tmp_path / "runs", {"AI_AGENT": "some-agent"}
    looked = run_attract("look", "./page", runs_dir=runs, environment=agent, folder=tmp_path)
    assert (looked.code, looked.stdout.splitlines()[-1]) == (0, "next: attract ci ./page")

    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    words = ("ci", "page/game.page.ts", "--seconds", "15")
    played = run_attract(*words, runs_dir=runs, environment=agent | github, folder=tmp_path)
    assert played.code == 1, played.stdout
    *_, last = played.stdout.splitlines()
    assert last == "next: npx playwright test attract-ci/01-error.spec.ts"
    assert (tmp_path / "attract-ci" / "01-error.spec.ts").is_file()
    assert "\n::error " in played.stdout and "fell off" in summary.read_text()

    summary.unlink()
    asked = run_attract(*words, "--no-github", runs_dir=runs, environment=github, folder=tmp_path)
    assert asked.code == 1 and "::error" not in asked.stdout and "next:" not in asked.stdout
    assert not summary.exists()
