"""A run in real browsers says what keeps it from learning, and a sound one says nothing; so does its page."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from attract_command import Outcome
from dashboard_page import open_page, photograph, serve
from planted_failures import PLANTED, SOUND, Run

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "findings"
STEPS = 60_000
UNPAID_STEPS = 20_000
"""What is wrong is to be said within the first 15,000."""


def train(name: str, runs_dir: Path, steps: int) -> Outcome:
    (run,) = [run for run in (*PLANTED, *SOUND) if run.name == name]
    outcome = Run(run.name, run.game, run.flags, total_steps=steps).train(runs_dir)
    assert outcome.code == 0, outcome.stderr
    return outcome


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def unpaid(runs_dir: Path) -> Outcome:
    return train("no-reward", runs_dir, UNPAID_STEPS)


# `make test` has each planted failure's recorded run in backend/diagnosis.
@pytest.mark.long
def test_what_is_wrong_is_said_once_on_the_terminal_and_stands_in_the_final_object(unpaid: Outcome) -> None:
    (finding,) = unpaid.json["findings"]
    assert finding["finding_id"] == "reward-constant"
    assert finding["first_agent_steps"] <= 15_000
    assert unpaid.stderr.count("had the same reward, 0 (reward-constant).\n  Let `update()` return") == 1
    assert unpaid.stderr.count("possible reasons why it did not learn (see above): reward-constant") == 1


@pytest.mark.long
def test_of_a_game_that_learns_nothing_is_said(runs_dir: Path) -> None:
    outcome = train("sound-catch", runs_dir, STEPS)
    assert outcome.json["findings"] == []
    assert "not learning?" not in outcome.stderr


# `make test` has each planted failure's recorded run in backend/diagnosis.
@pytest.mark.long
async def test_the_runs_page_shows_it_with_what_to_try(
    unpaid: Outcome, runs_dir: Path, browser: Browser
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serve(runs_dir) as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await page.goto(f"{address.split('#')[0]}#/runs/no-reward")
            card = page.get_by_test_id("findings")
            await expect(card).to_contain_text("Reward constant")
            await expect(card).to_contain_text("had the same reward, 0")
            await expect(card.get_by_text("update()", exact=True)).to_be_visible()
            await photograph(page, PICTURES / "findings.png")
