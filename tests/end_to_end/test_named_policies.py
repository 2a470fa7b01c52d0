"""Agents with policies of their own, in headless browsers: trained, judged, resumed, exported, watched."""

import itertools
import json
import re
from pathlib import Path

import onnxruntime
import pytest
import torch
from playwright.async_api import Browser, expect

from attract.learner.checkpoints.checkpoint import load_checkpoint
from attract_command import Outcome, run_attract
from dashboard_page import open_page, open_part, serve, stop_run, wait_for_more

expect.set_options(timeout=60_000)

SEATS = ["scout", "keeper", "keeper"]
NAMES = ["scout", "keeper"]
STEPS = 1500
"""At most 384 steps per update; agents that are away make it fewer."""


def train(runs_dir: Path, run_id: str, *arguments: str, seats: list[str] = SEATS) -> Outcome:
    return run_attract(
        "train", "foragers", "--headless", "--workers", "1", "--instances", "8", "--seed", "3",
        "--run-id", run_id, "--collection.seats", ",".join(seats), "--collection.schedule", "sync",
        "--ppo.horizon", "16", "--json", *arguments, runs_dir=runs_dir,
    )  # fmt: skip


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def trained(runs_dir: Path) -> Outcome:
    outcome = train(runs_dir, "duo", "--total-steps", str(STEPS))
    assert outcome.code == 0, outcome.stderr
    return outcome


def weights(run: Path, version: int) -> dict[str, dict[str, torch.Tensor]]:
    checkpoint = load_checkpoint(run / "checkpoints" / str(version))
    return {name: checkpoint.part(name).policy for name in NAMES}


def hashes(run: Path) -> dict[int, str]:
    found = [json.loads(path.read_text()) for path in (run / "checkpoints").glob("*/checkpoint.json")]
    return {row["policy_version"]: row["weights_sha256"] for row in found}


def test_E9_every_update_changes_every_policy(trained: Outcome, runs_dir: Path) -> None:
    assert trained.json["updates"] >= 3
    assert "scout plays agent 0, keeper plays agents 1 and 2" in trained.stderr
    versions = [weights(runs_dir / "duo", version) for version in range(trained.json["updates"] + 1)]
    name = "policy_head.weight"
    for before, after in itertools.pairwise(versions):
        for policy_id in NAMES:
            assert not torch.equal(before[policy_id][name], after[policy_id][name])
        assert not torch.equal(after["scout"][name], after["keeper"][name])
    last = versions[-1]
    # Each has seen its own agents alone; the keeper has two.
    seen = {policy_id: float(last[policy_id]["observation_statistics.count"]) for policy_id in NAMES}
    assert seen["keeper"] > 1.5 * seen["scout"] > 0


# `make test` compares two runs of one seed in test_reproducible.py.
@pytest.mark.long
def test_C8_the_same_seed_gives_the_same_weights_of_every_policy(trained: Outcome, runs_dir: Path) -> None:
    again = train(runs_dir, "again", "--total-steps", str(STEPS))
    assert again.code == 0, again.stderr
    assert hashes(runs_dir / "again") == hashes(runs_dir / "duo")


# `make test` trains named policies above; their export is in backend/commands and backend/policy.
@pytest.mark.long
def test_an_export_holds_every_policy_and_who_plays_whom(
    trained: Outcome, runs_dir: Path, tmp_path: Path
) -> None:
    result = run_attract("export", "duo", "--out", str(tmp_path / "game"), runs_dir=runs_dir)
    assert result.code == 0, result.stderr
    assert "scout.onnx" in result.stdout and "keeper.onnx" in result.stdout
    for folder in (Path(trained.json["export"]), tmp_path / "game"):
        assert sorted(path.name for path in folder.iterdir()) == ["keeper.onnx", "policy.json", "scout.onnx"]
        document = json.loads((folder / "policy.json").read_text())
        assert document["seats"] == SEATS and document["game"]["num_agents"] == 3
        for name in NAMES:
            own = document["policies"][name]
            session = onnxruntime.InferenceSession(folder / own["file"])
            assert {node.name for node in session.get_inputs()} == set(own["inputs"])


# `make test` evaluates with one policy in test_versions.py.
@pytest.mark.long
def test_an_evaluation_plays_with_all_seats(trained: Outcome, runs_dir: Path) -> None:
    outcome = run_attract("eval", "duo", "--episodes", "4", "--json", runs_dir=runs_dir)
    assert outcome.code == 0, outcome.stderr
    assert outcome.json["episodes"] == 4 and outcome.json["length_mean"] > 0


@pytest.mark.long
def test_D2_a_resumed_run_goes_on_with_all_policies_and_with_no_others(
    runs_dir: Path,
) -> None:
    begun = train(runs_dir, "halves", "--total-steps", str(STEPS // 2))
    assert begun.code == 0, begun.stderr
    before = hashes(runs_dir / "halves")
    goes_on = train(runs_dir, "halves", "--resume", "--total-steps", str(STEPS))
    assert goes_on.code == 0, goes_on.stderr
    assert before.items() < hashes(runs_dir / "halves").items()
    other = train(runs_dir, "halves", "--resume", seats=["scout", "keeper", "third"])
    assert other.code == 2
    assert "this run has scout, keeper, third, the checkpoint scout, keeper" in other.stderr


# `make test` refuses them in backend/collection/test_seating.py.
@pytest.mark.long
def test_as_many_seats_as_agents_are_named(runs_dir: Path) -> None:
    outcome = train(runs_dir, "wrong", seats=NAMES)
    assert outcome.code == 2
    assert not (runs_dir / "wrong").exists()
    assert "2 seats for the 3 agents" in outcome.stderr


@pytest.mark.soak
async def test_the_dashboard_starts_watches_and_gives_away_every_policy(
    tmp_path: Path, browser: Browser
) -> None:
    with serve(tmp_path / "runs") as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await page.get_by_role("radio", name=re.compile("^Foragers")).click()
            form = page.get_by_role("form", name="Train Foragers")
            await form.get_by_label("Workers", exact=True).fill("1")
            await form.get_by_text("Workers and games").click()
            await form.get_by_label("Policies", exact=True).fill(", ".join(SEATS))
            await form.get_by_role("button", name="Start training").click()
            # Both models of a version are there, and a newer version takes over.
            watch = '[data-testid="watch"]'
            version = await wait_for_more(page, watch, "data-version", 0)
            assert await wait_for_more(page, watch, "data-version", version + 1) > version
            await open_part(page, "Charts")
            # One chart has a line for each.
            chart = 'figure[data-metric="train/entropy"]'
            await wait_for_more(page, chart, "data-points", 2)
            for name in NAMES:
                await expect(page.locator(f'{chart} output[data-line="train/entropy/{name}"]')).to_have_text(
                    re.compile(r"\d")
                )
            await stop_run(page)
            await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text("Stopped")
            models = set()
            for name in NAMES:
                link = await page.get_by_role("link", name=f"Get {name}").get_attribute("href")
                answer = await page.request.get(str(link))
                assert answer.ok
                models.add(await answer.body())
            assert len(models) == 2
            # A past run's policies are there to be watched.
            await page.reload()
            assert await wait_for_more(page, watch, "data-version", 1) >= 1
