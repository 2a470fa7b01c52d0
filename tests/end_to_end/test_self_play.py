"""A policy against past versions of itself, in headless browsers: the same again, resumed, and in a match."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from playwright.async_api import Browser, expect

from attract.schema.episode_actions import unpack_actions
from attract.schema.recorded_episode import PackedActions
from attract_command import AttractCommand, Outcome, run_attract
from dashboard_page import check_accessible, open_page, photograph_all, serve
from node_driver import REPOSITORY

PICTURES = REPOSITORY / "test-results" / "opponents"
GAME = str(REPOSITORY / "benchmarks/suite/duel.ts")
FLAGS = (
    "--workers", "2", "--instances", "8", "--seed", "3", "--no-check", "--json",
    "--seats", "newest,pool", "--self-play.save-steps", "2000", "--self-play.swap-steps", "3000",
    "--self-play.window", "4",
)  # fmt: skip


def train(runs_dir: Path, run_id: str, *arguments: str) -> Outcome:
    return run_attract("train", GAME, "--run-id", run_id, *FLAGS, *arguments, runs_dir=runs_dir)


def checkpoint(run: Path, version: int) -> dict[str, Any]:
    return json.loads((run / "checkpoints" / str(version) / "checkpoint.json").read_text())


def hashes(run: Path) -> dict[int, str]:
    # Not what a killed trainer was writing.
    versions = [int(folder.name) for folder in (run / "checkpoints").iterdir() if folder.name.isdecimal()]
    return {version: checkpoint(run, version)["weights_sha256"] for version in versions}


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def trained(runs_dir: Path) -> Outcome:
    outcome = train(runs_dir, "one", "--collection.schedule", "sync", "--total-steps", "12000")
    assert outcome.code == 0, outcome.stderr
    return outcome


def test_C8_the_same_seed_meets_the_same_opponents(trained: Outcome, runs_dir: Path) -> None:
    again = train(runs_dir, "again", "--collection.schedule", "sync", "--total-steps", "12000")
    assert again.code == 0, again.stderr
    newest = trained.json["updates"]
    states = [checkpoint(runs_dir / run, newest)["curriculum"]["opponents"] for run in ("one", "again")]
    assert states[0] == states[1] and len(states[0]["pool"]) == 4
    assert hashes(runs_dir / "one") == hashes(runs_dir / "again")


async def test_the_page_of_a_run_that_ended_shows_who_played_the_strongest_first(
    trained: Outcome, runs_dir: Path, browser: Browser
) -> None:
    kept = checkpoint(runs_dir / "one", trained.json["updates"])["curriculum"]["opponents"]
    ratings = {str(version): rating for version, (rating, _), _ in kept["pool"]}
    with serve(runs_dir) as address:
        async with open_page(browser, address) as (page, _):
            await page.goto(f"{address.split('#')[0]}#/runs/one")
            rows = page.get_by_test_id("ladder").locator("tbody tr")
            await expect(rows).to_have_count(5)
            shown = {
                await row.get_attribute("data-player"): await row.locator("td").first.inner_text()
                for row in await rows.all()
            }
            expected = {player: f"{rating:.1f}" for player, rating in ratings.items()}
            assert {name: text.split()[0] for name, text in shown.items() if name in ratings} == expected
            assert "newest" in shown
            numbers = [float(text.split()[0]) for text in shown.values()]
            assert numbers == sorted(numbers, reverse=True)
            await check_accessible(page, "a run with opponents")
            await photograph_all(page, PICTURES, "ladder")


def test_D2_a_killed_run_goes_on_with_its_pool(runs_dir: Path) -> None:
    trainer = AttractCommand("train", GAME, "--run-id", "killed", *FLAGS, runs_dir=runs_dir)
    deadline = time.monotonic() + 60
    while len(list((runs_dir / "killed" / "opponents").glob("*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    outcome = trainer.kill()
    assert time.monotonic() < deadline, outcome
    run = runs_dir / "killed"
    newest = max(hashes(run))
    kept = checkpoint(run, newest)
    steps = kept["counters"]["agent_steps"]
    resumed = train(runs_dir, "killed", "--resume", "--total-steps", str(steps + 2500))
    assert resumed.code == 0, resumed.stderr
    after = checkpoint(run, newest + 1)["curriculum"]["opponents"]
    before = {
        version: (rating, scores) for version, rating, scores in kept["curriculum"]["opponents"]["pool"]
    }
    held = {version: (rating, scores) for version, rating, scores in after["pool"]}
    assert set(before) & set(held), "the pool is not begun anew"
    # An update begins before the version before it is out: that one may join once it is known again.
    assert set(held) - set(before) <= {newest - 1, newest}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    shutil.copyfile(GAME, folder / "duel.ts")
    (folder / "greedy.ts").write_text(
        "export function act([own, , , y]: Float32Array): number {\n"
        "  return Math.abs(y - own) < 4 ? 1 : y < own ? 0 : 2;\n}\n"
    )
    (folder / "endless.ts").write_text("export function act() { for (;;); }\n")
    return folder


def test_a_script_plays_in_a_run_which_keeps_it_and_in_a_match(
    trained: Outcome, project: Path, runs_dir: Path
) -> None:
    words = (
        "train", "duel.ts", "--run-id", "scripted", "--seats", "newest,script:greedy.ts", "--no-check",
        "--json", "--workers", "1",
    )  # fmt: skip
    outcome = run_attract(*words, "--total-steps", "4000", runs_dir=runs_dir, folder=project)
    assert outcome.code == 0, outcome.stderr
    best = int((runs_dir / "scripted" / "best").resolve().name)
    assert best == outcome.json["updates"], "the newest, however the returns against the script went"
    state = checkpoint(runs_dir / "scripted", outcome.json["updates"])["curriculum"]["opponents"]
    assert [player for player, *_ in state["others"]] == ["script:greedy.ts"]
    # Resumed without the file: the run has its own copy.
    (project / "greedy.ts").rename(project / "moved.ts")
    again = run_attract(
        "train", "--resume", "--run-id", "scripted", "--json", "--total-steps", "6000",
        runs_dir=runs_dir, folder=project,
    )  # fmt: skip
    (project / "moved.ts").rename(project / "greedy.ts")
    assert again.code == 0, again.stderr
    match = run_attract(
        "match", "one:first", "script:greedy.ts", "--episodes", "40", "--json",
        runs_dir=runs_dir, folder=project,
    )  # fmt: skip
    assert match.code == 0, match.stderr
    assert match.json["players"][0]["player"] == "script:greedy.ts", "it beats who never learned"


# Scripts and past versions play in `make test`.
@pytest.mark.long
def test_a_version_of_another_run_plays_and_the_run_keeps_it(trained: Outcome, runs_dir: Path) -> None:
    shutil.copytree(runs_dir / "one", runs_dir / "earlier")
    words = ("train", GAME, "--run-id", "later", "--seats", "newest,earlier:first", "--no-check", "--json")
    outcome = run_attract(*words, "--workers", "1", "--total-steps", "4000", runs_dir=runs_dir)
    assert outcome.code == 0, outcome.stderr
    shutil.rmtree(runs_dir / "earlier")
    again = run_attract(
        "train", "--resume", "--run-id", "later", "--json", "--total-steps", "6000", runs_dir=runs_dir
    )
    assert again.code == 0, again.stderr
    ((player, _, scores),) = checkpoint(runs_dir / "later", again.json["updates"])["curriculum"]["opponents"][
        "others"
    ]
    assert player == "earlier:first" and scores


@pytest.mark.parametrize(
    ("player", "flags", "says"),
    [
        ("nobody", (), "nobody is called 'nobody'"),
        ("one:99999", (), "version 99999 is not there in one"),
        ("one", ("--policy.recurrent", "lstm"), "run one has no memory, this one lstm of 64"),
    ],
)
def test_who_cannot_sit_there_is_refused(
    player: str, flags: tuple[str, ...], says: str, trained: Outcome, runs_dir: Path
) -> None:
    words = ("train", GAME, "--run-id", "refused", "--seats", f"newest,{player}", "--no-check", *flags)
    outcome = run_attract(*words, "--total-steps", "4000", runs_dir=runs_dir)
    assert outcome.code == 2 and says in " ".join(outcome.stderr.split())


# Twice the watchdog's limit. `make test` has its report in web/worker/host.
@pytest.mark.long
def test_a_script_that_never_returns_is_named_and_ends_the_run(project: Path, runs_dir: Path) -> None:
    words = ("train", "duel.ts", "--seats", "newest,script:endless.ts", "--no-check", "--workers", "1")
    outcome = run_attract(*words, "--exit", "--total-steps", "4000", runs_dir=runs_dir, folder=project)
    assert outcome.code != 0
    assert "act() of script:endless.ts does not return" in " ".join(outcome.stdout.split())


@pytest.mark.parametrize("file", ["nothere.ts", "../greedy.ts", "/etc/hosts.js"])
def test_a_script_outside_of_the_project_is_refused(file: str, project: Path, runs_dir: Path) -> None:
    words = ("train", "duel.ts", "--seats", f"newest,script:{file}", "--no-check")
    outcome = run_attract(*words, "--total-steps", "4000", runs_dir=runs_dir, folder=project)
    assert outcome.code == 2 and f"there is no player {file!r}" in outcome.stderr


async def test_players_of_runs_meet_in_a_match_which_the_run_s_page_shows(
    trained: Outcome, runs_dir: Path, browser: Browser
) -> None:
    outcome = run_attract(
        "match", "one", "one:first", "random", "--episodes", "20", "--json", runs_dir=runs_dir
    )
    assert outcome.code == 0, outcome.stderr
    found = outcome.json
    assert (found["game"], found["episodes"]) == ("Duel-v1", 20)
    assert sorted(player["player"] for player in found["players"]) == ["one", "one:first", "random"]
    assert len(found["pairs"]) == 6
    assert all(pair["wins"] + pair["draws"] + pair["losses"] == 20 for pair in found["pairs"])
    meant = {player["player"]: player["policy_version"] for player in found["players"]}
    assert meant == {"one": trained.json["policy_version"], "one:first": 0, "random": None}
    (pair,) = [pair for pair in found["pairs"] if (pair["player"], pair["opponent"]) == ("one", "random")]
    replay = run_attract("replay", f"one:{pair['episode_id']}", "--json", runs_dir=runs_dir)
    assert replay.code == 0 and replay.json["equal"], replay.stderr
    kept = json.loads((runs_dir / "one" / "episodes" / f"{pair['episode_id']}.json").read_text())
    assert sorted(seat["player"] for seat in kept["seats"]) == ["policy", "random"]
    with serve(runs_dir) as address:
        async with open_page(browser, address) as (page, _):
            await page.goto(f"{address.split('#')[0]}#/runs/one/play")
            matrix = page.get_by_test_id("match")
            await expect(matrix.locator("tbody tr")).to_have_count(3)
            await expect(matrix.locator("tbody a")).to_have_count(6)
            await check_accessible(page, "a match")
            await photograph_all(page, PICTURES, "match")
            await page.get_by_role("link", name="an episode of one against random").click()
            await expect(page.locator("h1")).to_contain_text("Of a match")
            await expect(page.locator("main")).to_contain_text("random actions")


async def test_a_person_plays_any_seat_against_a_version_and_the_run_keeps_the_episode(
    trained: Outcome, runs_dir: Path, browser: Browser
) -> None:
    with serve(runs_dir) as address:
        async with open_page(browser, address) as (page, _):
            await page.goto(f"{address.split('#')[0]}#/runs/one/play?stage=play&version=8")
            play = page.get_by_test_id("play")
            await expect(play).to_have_attribute("data-phase", "ready")
            await expect(page.get_by_test_id("hud-against")).to_have_text("version 8")
            await check_accessible(page, "a seat to choose")
            await photograph_all(page, PICTURES, "play")
            await page.get_by_label("Seat that you play").select_option("Seat 1")
            await expect(play).to_have_attribute("data-phase", "ready")
            await page.get_by_role("button", name="Record", exact=True).click()
            await page.get_by_role("button", name="Play", exact=True).click()
            await page.keyboard.down("ArrowUp")
            await expect(play).to_have_attribute("data-phase", "over", timeout=90_000)
            score = await play.text_content()
            await expect(page.get_by_test_id("recorded-episodes")).to_contain_text("★ Played by hand")
    (path,) = (runs_dir / "one" / "episodes").glob("*-person-*.json")
    episode = json.loads(path.read_text())
    assert episode["seats"] == [
        {"player": "policy", "policy_id": "main", "policy_version": 8},
        {"player": "person"},
    ]
    actions = unpack_actions(PackedActions.model_validate(episode["actions"]))
    # The game's first action is up, which was held from the first steps on.
    assert np.mean(actions[:, 1] == 0) > 0.8 and len(set(actions[:, 0].tolist())) == 3
    replay = run_attract("replay", f"one:{path.stem}", "--json", runs_dir=runs_dir)
    assert replay.code == 0 and replay.json["equal"], replay.stderr
    assert f"Score {episode['returns'][1]:g}" in str(score)


# Which versions are levels, and how a page chooses one, has tests of its own.
@pytest.mark.long
def test_an_export_has_levels_that_a_page_can_choose(
    trained: Outcome, runs_dir: Path, tmp_path: Path
) -> None:
    outcome = run_attract(
        "export", "one", "--levels", "2", "--page", "--format", "js", "--out", str(tmp_path), "--json",
        runs_dir=runs_dir,
    )  # fmt: skip
    assert outcome.code == 0, outcome.stderr
    easy, hard = outcome.json["levels"]
    assert (easy["level"], easy["file"], easy["wins_below"]) == (1, "level-1.onnx", None)
    assert hard["rating"] >= easy["rating"] and 0 <= hard["wins_below"] <= 1
    document = json.loads((tmp_path / "policy.json").read_text())
    assert document["levels"] == outcome.json["levels"]
    seen = np.zeros((1, 6), np.float32)
    for level in (easy, hard):
        session = onnxruntime.InferenceSession(str(tmp_path / level["file"]))
        assert session.run(["logits"], {"obs": seen})[0].shape == (1, 3)


@pytest.mark.parametrize(
    ("players", "says"),
    [
        (("one",), "two players or more"),
        (("one", "one"), "each named once"),
        (("random", "randm"), "no run randm"),
        (("one:99", "random"), "version 99 is not there"),
    ],
)
def test_a_match_that_cannot_be_is_refused(
    players: tuple[str, ...], says: str, trained: Outcome, runs_dir: Path
) -> None:
    outcome = run_attract("match", *players, "--episodes", "2", runs_dir=runs_dir)
    assert outcome.code == 2 and says in outcome.stderr, outcome.stderr
