"""`attract tune` with real trainings: killed in the middle, gone on with, and shown on the dashboard."""

import asyncio
import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.async_api import Browser, expect

from attract.runs.studies import read_view, study_folder
from attract_command import AttractCommand
from dashboard_page import check_accessible, open_page, photograph_all, serve
from waiting import WAIT_SECONDS

expect.set_options(timeout=60_000)
PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
SEARCH = "ppo.learning_rate: {low: 0.001, high: 0.005, log: true}\n"
FIXED = (
    *("--ppo.gamma", "0.99", "--ppo.gae-lambda", "0.95", "--ppo.n-epochs", "1", "--ppo.horizon", "32"),
    *("--policy.hidden-sizes", "64", "--policy.shared-trunk", "--ppo.entropy-coef", "0.01"),
    *("--ppo.minibatch-steps", "512", "--instances", "8", "--workers", "1"),
)


def tune(tmp_path: Path, *more: str) -> AttractCommand:
    search = tmp_path / "search.yaml"
    search.write_text(SEARCH)
    return AttractCommand(
        *("tune", "cartpole", "--study", "s", "--trials", "2", "--seeds", "3", "--json"),
        *("--total-steps", "2000", "--parallel", "2", "--search", str(search), *FIXED, *more),
        runs_dir=tmp_path / "runs",
    )


def wait_for_words(path: Path) -> None:
    """Until a trial has said something: its process is there."""
    deadline = time.monotonic() + 240
    while not path.is_file() or path.stat().st_size == 0:
        assert time.monotonic() < deadline, f"nothing in {path} within four minutes"
        time.sleep(0.05)


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_a_study_that_was_killed_goes_on_and_its_page_shows_it(
    tmp_path: Path, browser: Browser
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    folder = study_folder(tmp_path / "runs", "s")
    first = tune(tmp_path)
    try:
        wait_for_words(folder / "logs" / "trial-0001-0.log")
        family = first.family()
        # Nothing is told to its trials: they must notice by themselves.
        first.process.send_signal(signal.SIGKILL)
        first.process.communicate()
        assert family
        _, alive = psutil.wait_procs(family, timeout=120)
        assert alive == []
    finally:
        first.kill()
    left = read_view(folder)
    assert left is not None
    assert (left.state, [trial.state for trial in left.trials]) == ("stopped", ["finished"])
    default = left.trials[0]

    again = tune(tmp_path)
    try:
        with serve(tmp_path / "runs") as url:
            async with open_page(browser, url) as (page, _):
                await page.get_by_role("link", name="Tuning").click()
                await expect(page.locator(".rows")).to_contain_text("Searching")
                await page.get_by_role("link", name=re.compile("^s")).first.click()
                await expect(page.get_by_role("heading", name="Score against seconds")).to_be_visible()
                outcome = await asyncio.to_thread(again.wait, 600)
                assert outcome.code == 0, outcome.stderr
                await expect(page.get_by_role("main")).to_contain_text("Finished")
                await expect(page.locator("tr[data-id]")).to_have_count(2)
                await expect(page.locator(".front-chart canvas")).to_be_visible()
                await expect(page.locator(".front-chart li").first).to_have_text("Best for its time")
                await check_accessible(page, "study")
                await photograph_all(page, PICTURES, "study")
                await page.get_by_role("link", name="All studies").click()
                await expect(page.locator(".rows li")).to_have_count(1)
                await check_accessible(page, "tuning")
                await photograph_all(page, PICTURES, "tuning")
    finally:
        again.kill()
    said: dict[str, Any] = outcome.json
    assert said["state"] == "finished"
    # What was known is not run again.
    assert said["trials"][0] == default.model_dump(mode="json") | {"on_front": said["trials"][0]["on_front"]}
    assert [confirmation["trial"] for confirmation in said["confirmations"]] == [
        0,
        said["trials"][1]["number"],
    ]
    assert [confirmation["seeds"] for confirmation in said["confirmations"]] == [[1, 2, 3], [1, 2, 3]]
    assert all(len(confirmation["scores"]) == 3 for confirmation in said["confirmations"])
    assert list(said["trials"][1]["settings"]) == ["ppo.learning_rate"]
    assert json.loads((folder / "study.json").read_text())["trials"] == said["trials"]
    assert "study s: 1 trials are done already" in outcome.stderr


def test_ctrl_c_ends_the_trials_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = tune(tmp_path)
    wait_for_words(study_folder(tmp_path / "runs", "s") / "logs" / "trial-0000-0.log")
    family = command.family()
    command.interrupt()
    outcome = command.wait()
    assert outcome.code == 130
    assert outcome.json["state"] == "stopped"
    assert "to continue: attract tune cartpole --study s" in outcome.stderr
    _, alive = psutil.wait_procs(family, timeout=WAIT_SECONDS)
    assert alive == []


def test_what_cannot_be_searched_is_refused_and_leaves_no_trial(tmp_path: Path) -> None:
    search = tmp_path / "search.yaml"
    search.write_text("ppo.gama: [0.9]\n")
    refused = AttractCommand("tune", "cartpole", "--search", str(search), runs_dir=tmp_path / "runs").wait()
    assert refused.code == 2
    assert "did you mean ppo.gamma?" in refused.stderr
    unknown = AttractCommand("tune", "no-such-game", runs_dir=tmp_path / "runs").wait()
    assert unknown.code == 2
    assert "no-such-game" in unknown.stderr
