"""Without `attract-rl[train]`: pages and games are played and shown; what learns names the line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from attract.processes.extras import MODULES
from attract_command import AttractCommand, Heard, Outcome
from base_install import PROJECT, base_packages, environment_without_extras, packages

PAGE = """<!doctype html><canvas width="300" height="100"></canvas><script>
let score = 0, x = 100;
const held = {}, context = document.querySelector("canvas").getContext("2d");
addEventListener("keydown", ({ code }) => { held[code] = true; });
addEventListener("keyup", ({ code }) => { held[code] = false; });
(function frame() {
  score += 1;
  if (held.ArrowLeft) x -= 2;
  if (held.ArrowRight) x += 2;
  if (x < 60) throw new TypeError("fell off");
  context.clearRect(0, 0, 300, 100);
  context.fillRect(x, 60, 30, 40);
  context.fillText("Score: " + score, 10, 20);
  requestAnimationFrame(frame);
})();
</script>"""
ADAPTER = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Fall-v1", page: "index.html", size: [400, 300], observation: box({ shape: [1] }),
  action: discrete(["wait", "left"]), keys: { wait: [], left: ["ArrowLeft"] }, maxSeconds: 10,
  loaded(w) { w.look = w.eval("() => x"); },
  observe: (w) => [w.look() / 100], over: () => false, score: () => 0,
});
"""
LEARNS = (
    "train cartpole",
    "imitate cartpole",
    "tune cartpole",
    "cluster cartpole",
    "eval latest",
    "match latest random",
    "export latest --out policy",
)

EACH_IN_TURN = """
import contextlib, io, json, sys
from attract.cli import main
said = []
for words in sys.argv[1:]:
    stdout, stderr = io.StringIO(), io.StringIO()
    sys.argv = ["attract", *words.split()]
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            main()
        except SystemExit as ended:
            said.append((ended.code, stdout.getvalue(), stderr.getvalue()))
print(json.dumps(said))
"""
"""How each command of its arguments ended: its exit code, and what it printed."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment_without_extras(tmp_path_factory.mktemp("base"))


def typed(*words: str, folder: Path, base: dict[str, str]) -> Outcome:
    command = AttractCommand(*words, runs_dir=folder / "runs", folder=folder, environment=base)
    return command.wait(120)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text(PAGE)
    return tmp_path / "page"


def test_the_extras_have_what_is_looked_for() -> None:
    names = {extra: packages(lines) for extra, lines in PROJECT["optional-dependencies"].items()}
    for extra, modules in MODULES.items():
        assert packages(modules) <= names[extra] | (
            names["train"] if PROJECT["name"] in names[extra] else set()
        )
    assert names["train"].isdisjoint(base_packages())


def test_help_of_every_command_and_what_a_fleet_imports(base: dict[str, str]) -> None:
    script = (
        "import attract.server.in_process, attract.browser.__main__, attract.commands.join\n"
        "from attract.cli import COMMANDS, app\n"
        "for name in COMMANDS:\n"
        "    app([name, '--help'], exit_on_error=False, result_action='return_value')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], env=base, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_what_learns_says_the_line_that_adds_it_before_any_work(tmp_path: Path, base: dict[str, str]) -> None:
    typed_words = [words + more for words in LEARNS for more in ("", " --json")]
    # One process imports Attract for all of them.
    ended = subprocess.run(
        [sys.executable, "-c", EACH_IN_TURN, *typed_words],
        cwd=tmp_path,
        env=base,
        capture_output=True,
        text=True,
        check=True,
    )
    said = dict(zip(typed_words, json.loads(ended.stdout), strict=True))
    for words in LEARNS:
        command = words.split()[0]
        extra = {"tune": "tune", "cluster": "ray"}.get(command, "train")
        code, stdout, stderr = said[words]
        assert (code, stdout) == (2, "")
        first, line = stderr.splitlines()
        assert first.startswith(f"error: attract {command}: torch, onnx, ") and "not installed" in first
        assert line.startswith(f"  {sys.executable} -m pip install 'attract-rl[{extra}]'")
        if command != "cluster":
            answer = json.loads(said[f"{words} --json"][1])
            assert (answer["code"], answer["exit_code"]) == ("not-installed", 2)
            assert answer["fix"] == line.strip()
    assert [*tmp_path.iterdir()] == []


def test_a_page_is_looked_at_and_played(page: Path, tmp_path: Path, base: dict[str, str]) -> None:
    looked = typed("look", "./page", "--press", "ArrowLeft@5", "--json", folder=tmp_path, base=base)
    assert looked.code == 0, looked.stderr
    assert "score" in {found["path"] for found in looked.json["globals"]}
    played = typed("ci", "./page", "--seconds", "20", "--json", folder=tmp_path, base=base)
    assert played.code == 1, played.stderr
    assert "fell off" in json.dumps(played.json["findings"])
    written = typed("init", "./page", "--github", "--json", folder=tmp_path, base=base)
    assert (written.code, len(written.json["files"])) == (0, 2), written.stderr
    # What is no expression ends it before its time, once the page is probed and played.
    asked = typed("verify", "./page", "score >", "--seconds", "10", folder=tmp_path, base=base)
    assert asked.code == 2 and "SyntaxError" in asked.stderr


# A page is looked at and played in `make test`.
@pytest.mark.long
def test_a_finding_is_played_again(page: Path, tmp_path: Path, base: dict[str, str]) -> None:
    (page / "game.page.ts").write_text(ADAPTER)
    played = typed("ci", "page/game.page.ts", "--seconds", "10", "--json", folder=tmp_path, base=base)
    assert played.code == 1, played.stderr
    (found,) = [finding for finding in played.json["findings"] if "fell off" in json.dumps(finding)]
    words = ("replay", f"attract-ci/{found['episode_file']}", "--game", "page/game.page.ts", "--json")
    again = typed(*words, folder=tmp_path, base=base)
    assert again.json["equal"], again.stderr


# A page is looked at and played in `make test`.
@pytest.mark.long
def test_a_game_is_checked_and_measured(tmp_path: Path, base: dict[str, str]) -> None:
    assert typed("check", "cartpole", "--json", folder=tmp_path, base=base).json["ok"]
    words = ("difficulty", "snake", "--over", "size=6:10:2", "--seconds", "10", "--json")
    measured = typed(*words, folder=tmp_path, base=base)
    assert measured.code == 0, measured.stderr


def test_files_of_ones_own_and_the_state_of_the_machine(tmp_path: Path, base: dict[str, str]) -> None:
    assert typed("new", "mine", "--json", folder=tmp_path, base=base).code == 0
    assert typed("skill", folder=tmp_path, base=base).code == 0
    doctor = typed("doctor", "--json", folder=tmp_path, base=base)
    assert doctor.code == 0, doctor.stdout
    (training,) = [row for row in doctor.json["findings"] if row["name"] == "training"]
    assert not training["ok"] and not training["required"] and "attract-rl[train]" in training["fix"]


@pytest.fixture
def served(trained_cartpole: Path, base: dict[str, str]) -> Iterator[httpx.Client]:
    """A client of `attract serve` with one run of the past, `p`."""
    command = AttractCommand("serve", "--port", "0", runs_dir=trained_cartpole, environment=base)
    heard = Heard(command)
    try:
        address, _, token = heard.wait_for("http://").split()[-1].partition("#token=")
        with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}) as client:
            yield client
    finally:
        command.interrupt()
        command.process.wait(30)
        heard.close()


def test_the_dashboard_shows_past_runs_and_says_why_it_starts_none(served: httpx.Client) -> None:
    assert [run["run_id"] for run in served.get("/api/runs").json()["runs"]] == ["p"]
    assert len(served.get("/api/runs/p/metrics").json()["agent_steps"]) > 1
    refused = served.post("/api/runs", json={"game": "cartpole", "settings": {}})
    assert refused.status_code == 422
    assert "pip install 'attract-rl[train]'" in refused.text
    assert [run["run_id"] for run in served.get("/api/runs").json()["runs"]] == ["p"]
