"""The benchmark's page in a real Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Error as PlaywrightError

from attract.errors import ConfigurationError
from attract_benchmarks.harness.page import BenchPage, open_page


@pytest.fixture(scope="module")
def page() -> Iterator[BenchPage]:
    with open_page() as opened:
        yield opened


def test_a_bundled_game_is_described_by_the_worker_that_loads_it(page: BenchPage) -> None:
    (description,) = page.ask({"kind": "describe", "game": page.game_url("cartpole")})
    assert description["id"] == "CartPole-v1"
    assert description["observation"]["shape"] == [4]


def test_an_order_goes_to_as_many_workers_as_are_asked_for(page: BenchPage) -> None:
    described = page.ask({"kind": "describe", "game": "wide"}, num_workers=3)
    assert [environment["id"] for environment in described] == ["Wide-v1"] * 3


def test_a_worker_that_fails_says_why(page: BenchPage) -> None:
    page.stop_workers()
    with pytest.raises(PlaywrightError, match="measure expects a prepared benchmark"):
        page.ask({"kind": "measure", "part": "rollout", "seconds": 0.1})


def test_the_memory_of_the_renderer_is_that_of_a_browser_process(page: BenchPage) -> None:
    resident = page.renderer_bytes()
    assert resident is not None
    assert 10 * 2**20 < resident < 4 * 2**30


def test_without_a_built_web_side_the_fix_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="npm run build"), open_page(tmp_path):
        pass
