"""Games that live in a page: trained, evaluated and resumed as any other, in frames of a real Chromium."""

from pathlib import Path

import pytest

from attract_command import run_attract

RANDOM_SECONDS = 3.0
"""Random play of Meteors survives for two seconds, seldom for three."""
NEVER_READY = """
import { box, definePageGame, discrete } from "attract/page";
export default definePageGame({
  id: "Broken-v1", page: "%s",
  observation: box({ shape: [1] }), action: discrete(["wait"]), keys: { wait: [] },
  ready: (w) => w.isReady === true, observe: () => [0], score: () => 0, over: () => false, maxSeconds: 1,
});
"""


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page") / "runs"


def test_an_agent_learns_in_the_page_that_is_shipped(runs_dir: Path) -> None:
    words = ("train", "meteors", "--headless", "--total-steps", "150000", "--run-id", "m", "--json")
    trained = run_attract(*words, runs_dir=runs_dir)
    assert trained.code == 0, trained.stderr
    assert trained.json["episode_return_mean"] > 2 * RANDOM_SECONDS


def test_an_evaluation_plays_each_episode_in_a_page_of_its_own_and_can_be_repeated(runs_dir: Path) -> None:
    words = ("eval", "m", "--episodes", "12", "--json")
    first, second = (run_attract(*words, runs_dir=runs_dir) for _ in range(2))
    assert first.code == second.code == 0, first.stderr + second.stderr
    assert first.json["return_mean"] > 2 * RANDOM_SECONDS
    told = ("return_mean", "length_mean")
    assert [first.json[name] for name in told] == [second.json[name] for name in told]


def test_a_run_goes_on_from_where_it_was(runs_dir: Path) -> None:
    words = ("train", "--resume", "--run-id", "m", "--headless", "--total-steps", "170000", "--json")
    resumed = run_attract(*words, runs_dir=runs_dir)
    assert resumed.code == 0, resumed.stderr
    assert resumed.json["episode_return_mean"] > 2 * RANDOM_SECONDS


@pytest.mark.parametrize(
    ("page", "text"),
    [("index.html", "ready() was still false after 2000 frames"), ("other.html", "could not be had")],
)
def test_a_page_that_is_no_game_is_named(page: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>x</title>")
    (tmp_path / "broken.page.ts").write_text(NEVER_READY % page)
    words = ("train", "broken.page.ts", "--headless", "--total-steps", "1000", "--workers", "1")
    told = run_attract(*words, runs_dir=tmp_path / "runs", folder=tmp_path)
    assert told.code != 0
    assert text in told.stdout + told.stderr
