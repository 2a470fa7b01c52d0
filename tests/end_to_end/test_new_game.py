"""`attract new`: what it writes is typed, is trained, is built, and the agent plays in the page."""

import re
import subprocess
from pathlib import Path

import pytest

from attract.commands.new import Template, create_project
from attract_command import run_attract
from dashboard_page import chromium
from served_page import served_folder

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "node_modules"
SAID = "document.querySelector('#status').textContent !== ''"
TEMPLATES: tuple[Template, ...] = ("pure", "physics")


def installed(folder: Path, template: Template) -> Path:
    """A new project with what `npm install` would bring: the same packages, as they lie in the repository."""
    create_project(folder, template)
    (folder / "node_modules").mkdir()
    for name in ("typescript", "vite", ".bin"):
        (folder / "node_modules" / name).symlink_to(MODULES / name)
    (folder / "node_modules" / "attract").symlink_to(folder / "vendor" / "attract")
    return folder


def build(folder: Path) -> None:
    """`npm run build`."""
    built = subprocess.run(["npm", "run", "build"], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_game_is_typed_and_nothing_is_found_in_it(template: Template, tmp_path: Path) -> None:
    folder = installed(tmp_path / "game", template)
    typed = subprocess.run([MODULES / ".bin" / "tsc"], cwd=folder, capture_output=True, text=True)
    assert typed.returncode == 0, typed.stdout
    # That would prove nothing if types were missing.
    game = folder / "src" / "game.ts"
    game.write_text(game.read_text().replace("random.int", "random.integer").replace("reward:", "rewards:"))
    assert subprocess.run([MODULES / ".bin" / "tsc"], cwd=folder, capture_output=True).returncode != 0
    fresh = installed(tmp_path / "fresh", template)
    checked = run_attract("check", str(fresh / "src" / "game.ts"), runs_dir=tmp_path / "runs")
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


async def test_from_nothing_to_an_agent_that_plays_in_a_built_page(tmp_path: Path) -> None:
    folder, runs = installed(tmp_path / "catch", "pure"), tmp_path / "runs"
    words = ("train", str(folder / "src" / "game.ts"), "--headless", "--seed", "1", "--run-id", "r")
    trained = run_attract(*words, "--total-steps", "150000", runs_dir=runs)
    assert trained.code == 0, trained.stderr
    policy = folder / "public" / "policy"
    exported = run_attract("export", "r", "--out", str(policy), "--format", "js", runs_dir=runs)
    assert exported.code == 0, exported.stderr
    build(folder)
    with served_folder(folder / "dist") as address:
        async with chromium() as browser:
            page = await browser.new_page()
            problems: list[str] = []
            page.on("pageerror", lambda error: problems.append(str(error)))
            await page.goto(address)
            await page.click("#who")
            # In the first episode the keyboard may have dropped a ball; one takes 4.5 seconds.
            for _ in range(4):
                await page.wait_for_function(SAID, timeout=90_000)
                told = await page.inner_text("#status")
                if "The agent scored 5.0" in told:
                    break
                await page.evaluate("document.querySelector('#status').textContent = ''")
            assert "The agent scored 5.0" in told
            assert problems == []


async def test_the_page_says_that_there_is_no_agent_yet(tmp_path: Path) -> None:
    folder = installed(tmp_path / "hover", "physics")
    build(folder)
    with served_folder(folder / "dist") as address:
        async with chromium() as browser:
            page = await browser.new_page()
            await page.goto(address)
            await page.click("#who")
            await page.wait_for_function(
                "document.querySelector('#status').textContent.includes('No agent yet')"
            )
            assert await page.inner_text("#who") == "Let the agent play"
