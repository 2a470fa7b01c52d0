"""CartPole in a browser's page, each game stepped by a `page.evaluate` of its own: the usual way."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page, sync_playwright
from stable_baselines3.common.vec_env import DummyVecEnv
from typing_extensions import override

from attract.browser.chromium import launch_switches, require_chromium
from attract_benchmarks.baselines.files import CARTPOLE, GAMES_MODULE, NUM_ACTIONS, NUM_INPUTS

LOAD = """async ([games, cartpole, count]) => {
  const load = (code) => import(`data:text/javascript,${encodeURIComponent(code)}`);
  const { createGames } = await load(games);
  window.games = createGames((await load(cartpole)).default, count);
}"""
RESET = "(index) => games.reset(index)"
STEP = "([index, action]) => games.step(index, action)"

Observation = NDArray[np.float32]


class PageGame(gymnasium.Env[Observation, np.int64]):
    """One of the page's games."""

    def __init__(self, page: Page, index: int) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (NUM_INPUTS,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self._page = page
        self._index = index

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """The game draws its own numbers: `seed` is ignored."""
        return np.array(self._page.evaluate(RESET, self._index), np.float32), {}

    @override
    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated = self._page.evaluate(STEP, [self._index, int(action)])
        return np.array(observation, np.float32), reward, terminated, truncated, {}


class PageGames(DummyVecEnv):
    """All of them, with the browser they are in."""

    def __init__(self, count: int) -> None:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=require_chromium().path, headless=True, args=launch_switches()
        )
        page = self._browser.new_page()
        sources = [path.read_text(encoding="utf-8") for path in (GAMES_MODULE, CARTPOLE)]
        page.evaluate(LOAD, [*sources, count])
        super().__init__([lambda index=index: PageGame(page, index) for index in range(count)])

    @override
    def close(self) -> None:
        """End the browser."""
        super().close()
        self._browser.close()
        self._playwright.stop()
