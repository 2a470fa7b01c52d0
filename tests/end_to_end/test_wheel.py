"""The wheel: installed alone, with no Node on the PATH, it trains bundled games and one's own."""

import asyncio
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from attract_command import Outcome
from dashboard_page import open_page
from servers import served_folder

# `make test` does without: to build and install a wheel takes 50 seconds.
pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]

OWN_GAME = """
import { box, defineGame, discrete, type StepResult } from "attract";

class Walk {
  position = 0;
  start({ random }: { random: { int(n: number): number } }) {
    this.position = random.int(3) - 1;
    return [this.position];
  }
  update(_deltaTime: number, action: number): StepResult {
    this.position += action === 0 ? -1 : 1;
    return { observation: [this.position], reward: action, terminated: Math.abs(this.position) >= 5 };
  }
}

export default defineGame({
  id: "Walk-v1",
  tickSeconds: 0.1,
  secondsPerStep: 0.1,
  maxSeconds: 5,
  observation: box({ low: -5, high: 5, shape: [1] }),
  action: discrete(["left", "right"]),
  create: () => new Walk(),
});
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the commands of an environment that holds the wheel.

    Dependencies are those of the environment that runs the tests, found by path: only Attract is new.
    """
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        check=True,
    )
    (wheel,) = folder.glob("attract_rl-*.whl")
    venv.create(folder / "env", with_pip=True)
    commands = folder / "env" / "bin"
    subprocess.run([commands / "python", "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True)
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return commands


def _run(commands: Path, *arguments: str, folder: Path) -> Outcome:
    without_node = os.pathsep.join(
        part for part in os.environ["PATH"].split(os.pathsep) if not (Path(part) / "node").exists()
    )
    chromium = subprocess.run(
        ["sh", "-c", "command -v chromium || command -v google-chrome || true"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    environment = {"PATH": without_node, "HOME": str(folder), "ATTRACT_RUNS_DIR": str(folder / "runs")}
    if chosen := os.environ.get("ATTRACT_CHROMIUM", chromium):
        environment["ATTRACT_CHROMIUM"] = chosen
    done = subprocess.run(
        [commands / "attract", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr, 0.0)


async def _typed(command: str, folder: Path) -> None:
    """What one types into a shell there. Raises: AssertionError: it fails."""
    process = await asyncio.create_subprocess_shell(
        command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode == 0, said.decode()


def test_the_installed_package_is_the_wheels(installed: Path, tmp_path: Path) -> None:
    where = subprocess.run(
        [installed / "python", "-c", "import attract; print(attract.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert str(installed.parent) in where
    source = ROOT / "backend" / "attract"
    data = {path.relative_to(source) for name in ("*.toml", "*.j2") for path in source.rglob(name)}
    data |= {path.relative_to(ROOT) for path in (ROOT / "skills").rglob("SKILL.md")}
    missing = {path for path in data if not (Path(where.strip()).parent / path).is_file()}
    assert len(data) >= 5 and missing == set()


def test_it_trains_a_bundled_game_without_node(installed: Path, tmp_path: Path) -> None:
    outcome = _run(
        installed, "train", "cartpole", "--headless", "--total-steps", "4000", "--json", folder=tmp_path
    )
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["agent_steps"] >= 4_000
    assert (Path(outcome.json["export"]) / "policy.onnx").is_file()


def test_it_trains_a_typescript_game_from_another_directory(installed: Path, tmp_path: Path) -> None:
    game = tmp_path / "elsewhere" / "walk.ts"
    game.parent.mkdir()
    game.write_text(OWN_GAME)
    outcome = _run(
        installed, "train", str(game), "--headless", "--total-steps", "4000", "--json", folder=tmp_path
    )
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["agent_steps"] >= 4_000
    assert outcome.json["run_id"].startswith("walk-")


async def test_from_the_wheel_to_an_agent_that_plays_in_ones_own_page(
    installed: Path, tmp_path: Path, browser: Browser
) -> None:
    """The whole way of somebody who has no clone, with what npm brings."""
    created = _run(installed, "new", "star-catcher", folder=tmp_path)
    assert created.code == 0 and "cd star-catcher" in created.stdout, created.stderr
    folder = tmp_path / "star-catcher"
    assert (folder / "vendor" / "attract" / "types" / "play" / "src" / "index.d.ts").is_file()
    await _typed("npm install --no-audit --no-fund --prefer-offline", folder)
    await _typed("npx tsc", folder)
    # As the project's README has it, from within the project.
    words = ("train", "src/game.ts", "--headless", "--seed", "1", "--total-steps", "150000")
    trained = _run(installed, *words, folder=folder)
    assert trained.code == 0, trained.stderr
    words = ("export", "latest", "--out", "public/policy", "--format", "js")
    assert _run(installed, *words, folder=folder).code == 0
    names = {path.name for path in (folder / "public" / "policy").iterdir()}
    assert names == {"agent.js", "policy.json", "policy.onnx"}
    await _typed("npm run build", folder)
    with served_folder(folder / "dist") as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await page.get_by_role("button", name="Let the agent play").click()
            # It may take over in the middle of an episode, of which a ball may be lost already.
            await expect(page.get_by_role("status")).to_contain_text("The agent scored 5.0", timeout=60_000)
