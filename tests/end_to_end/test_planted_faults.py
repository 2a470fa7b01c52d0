"""A sample of `make corpus`: planted faults are found by a right oracle, and a sound build plays."""

from pathlib import Path

import pytest

from attract_command import run_attract
from planted_faults import Case, CorpusGame, Harness, load

SECONDS = 20
GAMES = {game.name: game for game in load()}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Harness:
    return Harness(tmp_path_factory.mktemp("corpus"), SECONDS, trains=False)


def assert_found(harness: Harness, game: CorpusGame, name: str) -> None:
    [fault] = [fault for fault in game.faults if fault.name == name]
    played = harness.play(Case(game, fault, 0))
    assert played.found_by and played.code == 1, played


def assert_plays(harness: Harness, game: CorpusGame, seed: int) -> None:
    played = harness.play(Case(game, None, seed))
    assert (played.code, played.findings) == (0, {}), played
    assert played.episodes > 0


# `make test` has a finding of attract ci in test_episode_page.py; each of these is found in
# backend/playtest/test_judge.py, play-episode.test.ts or the tests of the drills.
@pytest.mark.long
@pytest.mark.alone  # It is found within so many seconds.
@pytest.mark.parametrize("name", ["nan", "cannot-be-lost", "dead-key", "retry"])
def test_a_fault_of_a_module_is_found(harness: Harness, name: str) -> None:
    assert_found(harness, GAMES["cartpole"], name)


# `make test` has clean builds in backend/playtest/test_playwright_test.py.
@pytest.mark.long
def test_a_sound_module_plays_with_another_seed(harness: Harness) -> None:
    assert_plays(harness, GAMES["cartpole"], 1)


def test_a_page_that_cannot_be_probed_has_a_report_as_well(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<script>location.href = 'https://elsewhere.example/';</script>")
    junit = tmp_path / "junit.xml"
    words = ("ci", ".", "--seconds", "30", "--json", "--junit", str(junit))
    outcome = run_attract(*words, runs_dir=tmp_path / "runs", folder=tmp_path)
    assert (outcome.code, outcome.json["verdict"]) == (2, "not_played"), outcome.stderr
    assert "went to another address" in outcome.json["problem"]
    assert "went to another address" in junit.read_text()


@pytest.mark.long
@pytest.mark.alone  # It is found within so many seconds.
@pytest.mark.parametrize("name", ["throw", "exploit", "dead-key", "missing-file"])
def test_a_fault_of_a_page_is_found(harness: Harness, name: str) -> None:
    assert_found(harness, GAMES["meteors"], name)


@pytest.mark.long
def test_a_sound_page_plays_with_another_seed(harness: Harness) -> None:
    assert_plays(harness, GAMES["meteors"], 1)
