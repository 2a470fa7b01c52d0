"""`attract new`: what it writes is typed, is trained, is built, and the agent plays in the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from playwright.async_api import Browser

from attract.commands.new import WORKFLOW, Template, create_project
from attract_command import run_attract
from dashboard_page import open_page, wait_until
from servers import served_folder

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "node_modules"
SAID = "document.querySelector('#status').textContent !== ''"
GAMES: dict[Template, tuple[str, str, str]] = {
    "pure": ("src/game.ts", "random.int(", "random.integer("),
    "physics": ("src/game.ts", "reward:", "rewards:"),
    "page": ("game.page.ts", "w.game.score", "w.game.points"),
}
"""Per template: what is trained; what stands in it, and what only types find wrong in its place."""
ENOUGH_REBOUNDS = 3
"""Random play of the page game has 0.4 in an episode, and hardly ever 4."""
ELSEWHERE = {"Install"}
"""Steps that bring what lies here already."""
LOADED_AGENTS = """performance.getEntriesByType("resource")
    .filter(({ name }) => /[/]agent-[^/]*[.]js$/.test(name)).length"""


def installed(folder: Path, template: Template) -> Path:
    """A new project with what it imports."""
    create_project(folder, template)
    install(folder)
    return folder


def install(folder: Path) -> None:
    """What `npm install` would bring: the same packages, as they lie in the repository."""
    (folder / "node_modules").mkdir()
    for name in ("typescript", "vite", ".bin"):
        (folder / "node_modules" / name).symlink_to(MODULES / name)
    (folder / "node_modules" / "attract").symlink_to(folder / "vendor" / "attract")


def build(folder: Path) -> None:
    """`npm run build`."""
    built = subprocess.run(["npm", "run", "build"], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr


# The example of the README below is a game of `pure`; `physics` is built for the page without an agent.
@pytest.mark.parametrize(
    "template",
    [pytest.param(name, marks=[] if name == "page" else [pytest.mark.long]) for name in GAMES],
)
def test_a_new_game_is_typed_and_nothing_is_found_in_it(template: Template, tmp_path: Path) -> None:
    folder = installed(tmp_path / "game", template)
    typed = subprocess.run([MODULES / ".bin" / "tsc"], cwd=folder, capture_output=True, text=True)
    assert typed.returncode == 0, typed.stdout
    # That would prove nothing if types were missing.
    name, right, wrong = GAMES[template]
    text = (folder / name).read_text()
    assert right in text
    (folder / name).write_text(text.replace(right, wrong))
    assert subprocess.run([MODULES / ".bin" / "tsc"], cwd=folder, capture_output=True).returncode != 0
    # Nothing is installed beside it.
    create_project(tmp_path / "fresh", template)
    checked = run_attract("check", str(tmp_path / "fresh" / name), runs_dir=tmp_path / "runs")
    assert checked.code == 0 and "nothing found" in checked.stdout, checked.stdout + checked.stderr


def test_the_readmes_example_is_typed_and_trains(tmp_path: Path) -> None:
    (code,) = re.findall(r"```ts\n(// catch\.ts\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    folder = installed(tmp_path / "game", "pure")
    game = folder / "src" / "game.ts"
    game.write_text(code)
    typed = subprocess.run([MODULES / ".bin" / "tsc"], cwd=folder, capture_output=True, text=True)
    assert typed.returncode == 0, typed.stdout
    # As the README has it; it ends once an evaluation has confirmed the return.
    words = ("train", str(game), "--until-return", "0.95", "--headless", "--seed", "1")
    trained = run_attract(*words, "--total-steps", "500000", runs_dir=tmp_path / "runs")
    assert trained.code == 0, trained.stderr
    assert "goal of 0.95 reached, confirmed" in trained.stderr + trained.stdout


@pytest.mark.soak
async def test_from_nothing_to_an_agent_that_plays_in_a_built_page(tmp_path: Path, browser: Browser) -> None:
    folder, runs = installed(tmp_path / "catch", "pure"), tmp_path / "runs"
    words = ("train", str(folder / "src" / "game.ts"), "--headless", "--seed", "1", "--run-id", "r")
    trained = run_attract(*words, "--total-steps", "150000", runs_dir=runs)
    assert trained.code == 0, trained.stderr
    policy = folder / "public" / "policy"
    exported = run_attract("export", "r", "--out", str(policy), "--format", "js", runs_dir=runs)
    assert exported.code == 0, exported.stderr
    build(folder)
    with served_folder(folder / "dist") as address:
        page = await browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        await page.goto(address)
        await page.click("#who")
        # In the first episode the keyboard may have dropped a ball; one takes 4.5 seconds.
        for _ in range(4):
            await page.wait_for_function(SAID, timeout=90_000)
            status = await page.inner_text("#status")
            if "The agent scored 5.0" in status:
                break
            await page.evaluate("document.querySelector('#status').textContent = ''")
        assert "The agent scored 5.0" in status
        assert problems == []


async def test_the_page_says_that_there_is_no_agent_yet(tmp_path: Path, browser: Browser) -> None:
    folder = installed(tmp_path / "hover", "physics")
    build(folder)
    with served_folder(folder / "dist") as address:
        page = await browser.new_page()
        await page.goto(address)
        await page.click("#who")
        await page.wait_for_function("document.querySelector('#status').textContent.includes('No agent yet')")
        assert await page.inner_text("#who") == "Let the agent play"


@pytest.mark.long
async def test_a_game_in_its_page_is_trained_as_it_lies_there_and_the_agent_plays_in_the_build(
    tmp_path: Path,
    browser: Browser,
) -> None:
    folder, runs = tmp_path / "rebound", tmp_path / "runs"
    create_project(folder, "page")
    # Before anything is installed, and from within the project, as its README has it.
    words = ("train", "game.page.ts", "--headless", "--seed", "1", "--run-id", "r", "--json")
    trained = run_attract(*words, "--total-steps", "50000", runs_dir=runs, folder=folder)
    assert trained.code == 0, trained.stderr
    assert trained.json["episode_return_mean"] > ENOUGH_REBOUNDS
    # From any other folder too: the run knows where its page lies.
    played = run_attract("eval", "r", "--episodes", "4", "--json", runs_dir=runs)
    assert played.code == 0, played.stderr
    exported = run_attract("export", "r", "--out", "public/policy", runs_dir=runs, folder=folder)
    assert exported.code == 0, exported.stderr
    install(folder)
    build(folder)
    with served_folder(folder / "dist") as address:
        async with open_page(browser, address, moves=True) as (page, _):
            assert await page.evaluate(LOADED_AGENTS) == 0
        async with open_page(browser, f"{address}?agent", moves=True) as (page, _):
            assert await page.evaluate("game.state") == "menu"
            await wait_until(page, "(enough) => game.score > enough", ENOUGH_REBOUNDS)
            assert await page.evaluate(LOADED_AGENTS) == 1


def run_workflow(folder: Path, skipped: set[str] = ELSEWHERE) -> tuple[str | None, str, str]:
    """The first step of the workflow that fails here, or None; what is printed; the summary of the job."""
    steps = yaml.safe_load((folder / WORKFLOW).read_text())["jobs"]["play"]["steps"]
    summary = folder / "summary.md"
    summary.write_text("")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CI": "true", "GITHUB_ACTIONS": "true"}
    environment |= {"GITHUB_WORKSPACE": str(folder), "GITHUB_STEP_SUMMARY": str(summary)}
    printed = ""
    for step in steps:
        if "run" not in step or step["name"] in skipped:
            continue
        # As the runner calls its shell; `npm install` needs a network.
        script = step["run"].replace("npm install\n", "")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=580, check=False
        )
        printed += ran.stdout + ran.stderr
        if ran.returncode != 0:
            return step["name"], printed, summary.read_text()
    return None, printed, summary.read_text()


@pytest.mark.long
def test_the_workflow_is_green_on_a_new_game_and_red_with_file_and_line_once_it_breaks(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "catch"
    create_project(folder, "pure")
    install(folder)
    failed, printed, summary = run_workflow(folder)
    assert failed is None, f"{failed}: {printed}"
    assert summary.startswith("## ✅") and "xychart-beta" in summary and "trained:greedy" in summary
    assert (folder / "attract-ci" / "junit.xml").is_file()
    assert (folder / "attract-ci" / "report.html").is_file()

    game = folder / "src" / "game.ts"
    text = game.read_text()
    fault = '    if (this.#balls === 3 && this.#basket === 6) throw new Error("no room");\n'
    place = "    let reward = 0;\n"
    assert place in text
    game.write_text(text.replace(place, fault + place))
    line = game.read_text().splitlines().index(fault.rstrip("\n")) + 1
    # The policy of before plays on: a break of the game need not break its training.
    failed, printed, summary = run_workflow(folder, ELSEWHERE | {"Check", "Train"})
    assert failed == "Play", printed
    assert f"::error file=src/game.ts,line={line}," in printed
    assert summary.startswith("## ❌") and f"`src/game.ts:{line}:" in summary
    assert list((folder / "attract-ci").glob("*-error.spec.ts"))
