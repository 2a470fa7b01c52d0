"""A bundled page game in pages of its own, in real time, played from outside by `page.evaluate`.

The usual way, at its best: all pages play at once, and a step is two calls for each.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page, sync_playwright
from stable_baselines3.common.vec_env import VecEnv
from typing_extensions import override

from attract.browser.chromium import launch_switches, require_chromium
from attract_benchmarks.baselines.files import METEORS, REAL_TIME_PAGE_MODULE

LOAD = """async ([environment, adapter]) => {
  const load = (code) => import(`data:text/javascript,${encodeURIComponent(code)}`);
  const { createEnvironment } = await load(environment);
  const definition = (await load(adapter)).default;
  window.environment = createEnvironment(definition);
  return [definition.observation.shape[0], definition.action.labels.length];
}"""
RESET = "() => environment.reset()"
BEGIN_STEP = "(action) => void (window.stepped = environment.step(action))"
END_STEP = "() => stepped"

Observations = NDArray[np.float32]


class RealTimePages(VecEnv):
    """Meteors in `count` pages of one browser, each in a tab of its own."""

    def __init__(self, count: int) -> None:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=require_chromium().path, headless=True, args=launch_switches()
        )
        self._pages = [self._browser.new_page() for _ in range(count)]
        loaded = [_load(page) for page in self._pages]
        num_inputs, num_actions = loaded[0]
        space = gymnasium.spaces.Box(0, 1, (num_inputs,), np.float32)
        super().__init__(count, space, gymnasium.spaces.Discrete(num_actions))

    @override
    def reset(self) -> Observations:
        """The games draw their own numbers: seeds are ignored."""
        return np.array([page.evaluate(RESET) for page in self._pages], np.float32)

    @override
    def step_async(self, actions: NDArray[np.int64]) -> None:
        for page, action in zip(self._pages, actions, strict=True):
            page.evaluate(BEGIN_STEP, int(action))

    @override
    def step_wait(self) -> tuple[Observations, Observations, NDArray[np.bool_], list[dict[str, Any]]]:
        seen: list[Any] = []
        rewards: list[float] = []
        ends: list[bool] = []
        infos: list[dict[str, Any]] = []
        for page in self._pages:
            observation, reward, terminated, truncated = page.evaluate(END_STEP)
            info: dict[str, Any] = {"TimeLimit.truncated": truncated}
            if terminated or truncated:
                info["terminal_observation"] = np.array(observation, np.float32)
                observation = page.evaluate(RESET)
            seen.append(observation)
            rewards.append(reward)
            ends.append(terminated or truncated)
            infos.append(info)
        return np.array(seen, np.float32), np.array(rewards, np.float32), np.array(ends), infos

    @override
    def close(self) -> None:
        """End the browser."""
        self._browser.close()
        self._playwright.stop()

    # What else the base class asks for; of these games there are no attributes and no wrappers.

    @override
    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs

    @override
    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(attr_name)

    @override
    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> Any:
        raise AttributeError(method_name)

    @override
    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


def _load(page: Page) -> Sequence[int]:
    """Open the game; the length of its observation and the number of its choices."""
    page.goto((METEORS / "index.html").as_uri())
    sources = [path.read_text(encoding="utf-8") for path in (REAL_TIME_PAGE_MODULE, METEORS / "game.page.js")]
    return page.evaluate(LOAD, sources)
