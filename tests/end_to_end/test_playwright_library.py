"""The library for tests in Playwright Test: the tests that its page documents, and pages that attack it."""

import re
import shutil
from pathlib import Path

import numpy as np

from attract.playtest.playwright_test import LIBRARY, WEB
from attract.runs.episodes import written
from attract.schema.base import Seed
from attract.schema.episode_actions import pack_actions
from attract.schema.recorded_episode import EpisodeMarks, EpisodeSeat, RecordedEpisode
from playwright_runs import install_playwright, run_playwright

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "playwright.md"
MAX_TEST_LINES = 8
MAX_TEST_SECONDS = 5.0
IMPORTS = f'import {{ expect, test }} from "./{LIBRARY}";\n'
MODULE = """
import { box, defineGame, discrete } from "attract";

export default defineGame({
  id: "Line-v1",
  tickSeconds: 0.1,
  observation: box({ low: -1e6, high: 1e6, shape: [1] }),
  action: discrete(["left", "right"]),
  create: () => ({
    place: 0,
    start() {
      this.place = 0;
      return [0];
    },
    update(_: number, action: number) {
      this.place += action === 1 ? 1 : -1;
      return { observation: [this.place], reward: 1, terminated: false };
    },
  }),
});
"""


def documented_tests() -> list[str]:
    blocks = re.findall(r"^```ts\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if "\ntest(" in f"\n{block}"]


def episode(actions: list[int]) -> RecordedEpisode:
    """Of Meteors."""
    return RecordedEpisode(
        game_id="Meteors-v1",
        seed=Seed(low=3, high=0),
        instance=0,
        episode=0,
        seats=[EpisodeSeat(player="script")],
        seconds_per_step=4 / 60,
        actions=pack_actions(np.array(actions, dtype=np.uint8)[:, None]),
        marks=EpisodeMarks(interval=1, hashes=""),
        returns=[0.0],
        num_steps=len(actions),
        num_ticks=0,
        end_reason="stopped",
    )


def test_the_ten_documented_tests_are_green_and_short(tmp_path: Path) -> None:
    for name, game in (("dist", "meteors"), ("moles", "moles")):
        shutil.copytree(WEB / "page-games" / game, tmp_path / name)
    shutil.copytree(WEB / "trained" / "meteors", tmp_path / "policy")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "game.ts").write_text(MODULE)
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(WEB / "playwright" / LIBRARY, tests)
    (tests / "01-error.episode.json").write_bytes(written(episode([0, 1, 2] * 10)))
    blocks = documented_tests()
    assert len(blocks) == 10
    assert [block for block in blocks if len(block.strip().splitlines()) > MAX_TEST_LINES] == []
    for number, block in enumerate(blocks):
        use = "" if "test.use" in block else 'test.use({ attract: { page: "../dist" } });\n'
        (tests / f"{number:02d}.spec.ts").write_text(IMPORTS + use + block)
    install_playwright(tmp_path)
    outcomes = run_playwright(tmp_path)
    assert len(outcomes) == len(blocks)
    assert {name: ran.said for name, ran in outcomes.items() if not ran.is_green} == {}
    assert {name: ran.seconds for name, ran in outcomes.items() if ran.seconds > MAX_TEST_SECONDS} == {}
