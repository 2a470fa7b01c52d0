"""Every page of the dashboard at every width, in both colour schemes: axe, contrasts, nothing too wide."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Browser, Page, expect

from attract.runs.archive import VIEW
from attract.runs.directory import RunDirectory
from attract.runs.metrics import MetricsStore
from attract.runs.studies import locked_study, study_folder, write_view
from attract.schema.studies import StudyConfirmation, StudyTrial, StudyView
from dashboard_page import FITS, TWO_FRAMES, check_accessible, open_page, serve, wait_until
from known_runs import run_on_disk

expect.set_options(timeout=60_000)

NARROW = (320,)
ALL_WIDTHS = (320, 720, 768, 1440, 1920)
"""720: a window of 1,440 at 200 %."""
OVER = ("finished", "stopped", "failed")
LIVE = ("starting", "running", "paused", "evaluating")
BROKEN = 'throw new Error("no such sprite");\n'


class Place(NamedTuple):
    """A page, and what is there once it has loaded."""

    fragment: str
    shown: str
    opened: str | None = None
    """A button or summary that opens one more part."""


PLACES = {
    "home": Place("#/", ".game-place, form"),
    "runs": Place("#/runs?q=is:all", 'tr[data-id="live-paused"]'),
    "groups of runs": Place("#/runs?group=game", "tbody tr button"),
    "compare": Place("#/compare?runs=finished-1,stopped-1,failed-1", 'figure[data-runs="3"]'),
    "studies": Place("#/tuning", ".rows li"),
    "study": Place("#/tuning/live", "tr[data-id]"),
    "study that is over": Place("#/tuning/over", ".front-chart canvas"),
    "access": Place("#/access", "main h1"),
    "game": Place("#/games/cartpole", '[data-testid="agent"][data-ready="true"]'),
    "run": Place("#/runs/p", '[data-testid="ship"]'),
    "failed run": Place("#/runs/failed-1", "[data-testid=run-head]"),
    "stopped run": Place("#/runs/stopped-1", "[data-testid=run-head]"),
    "charts": Place("#/runs/p/charts", "[data-testid=chart-group] canvas"),
    "play": Place("#/runs/p/play", "tr[data-version]"),
    "workers": Place("#/runs/p/workers", "main section"),
    "settings": Place("#/runs/p/settings", 'tr[data-setting="seed"]', "settings the same"),
    "log": Place("#/runs/p/log", ".log-entries li"),
}


def study(**changes: object) -> StudyView:
    """A study with a trial in each state."""
    good: dict[str, Any] = {"state": "finished", "on_front": True}
    trials = [
        StudyTrial(number=0, settings={}, score=1.0, seconds=2.0, **good),
        StudyTrial(number=1, state="pruned", settings={"ppo.gamma": 0.9}, score=9.0, seconds=1.0),
        StudyTrial(number=2, state="running", settings={"policy.hidden_sizes": [64, 64]}),
        StudyTrial(number=3, state="failed", settings={"ppo.gamma": 0.5}, error="out of memory"),
        StudyTrial(number=4, settings={"ppo.gamma": 0.8}, score=3.0, seconds=4.0, **good),
    ]
    whole: dict[str, object] = {
        "study": "live", "game": "snake", "state": "searching", "total_steps": 100, "num_trials": 8,
        "parallel": 1, "elapsed_seconds": 1.0, "trials": trials, "command": "attract tune snake --study live",
    }  # fmt: skip
    return StudyView.model_validate(whole | changes)


@pytest.fixture(scope="module")
def address(trained_cartpole: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a run in each state, a study that searches, one that is over, and a broken game."""
    project = tmp_path_factory.mktemp("project")
    (project / "broken.js").write_text(BROKEN)
    runs = trained_cartpole
    for number, state in enumerate((*OVER, *LIVE)):
        rate = {"learning_rate": 0.001 * (number + 1)}
        run_on_disk(
            runs,
            f"{'live' if state in LIVE else state}-{state if state in LIVE else 1}",
            [float(number * update) for update in range(10)],
            state=state,
            settings={"seed": number, "ppo": rate},
            error="the disk is full" if state == "failed" else None,
        )
    winner = StudyConfirmation(trial=4, seeds=[1], scores=[3.0], seconds=[4.0], verdict="better", chance=0.02)
    defaults = StudyConfirmation(trial=0, seeds=[1], scores=[1.0], seconds=[2.0])
    over = study(
        study="over",
        state="finished",
        winner=4,
        winner_yaml="ppo:\n  gamma: 0.8\n",
        confirmations=[defaults, winner],
    )
    with contextlib.ExitStack() as held:
        for state in LIVE:
            directory = held.enter_context(
                contextlib.closing(RunDirectory.open_locked(runs, f"live-{state}"))
            )
            store = MetricsStore(directory.path / "metrics.db")
            store.put_fact(VIEW, {**store.fact(VIEW), "state": state})
            store.close()
        for view in (study(), over):
            folder = study_folder(runs, view.study)
            held.enter_context(locked_study(folder))
            write_view(folder, view)
        yield held.enter_context(serve(runs, "--project-dir", str(project)))


async def check_place(page: Page, name: str, place: Place, widths: tuple[int, ...]) -> list[str]:
    """What is wrong with a page, at each width."""
    found: list[str] = []
    await expect(page.locator(place.shown).first).to_be_visible()
    # A page that still waits for what it shows has none yet.
    await expect(page.locator("h1").first).to_be_visible()
    if place.opened is not None:
        await page.get_by_text(place.opened).click()
    for width in widths:
        await page.set_viewport_size({"width": width, "height": 900})
        await page.evaluate(TWO_FRAMES)
        try:
            await wait_until(page, FITS, seconds=3)
        except TimeoutError:
            found.append(f"{name} at {width}: wider than the window")
        try:
            await check_accessible(page, f"{name} at {width}")
        except AssertionError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize(
    "widths", [pytest.param(NARROW, id="narrow"), pytest.param(ALL_WIDTHS, id="all", marks=pytest.mark.long)]
)
async def test_every_page_reads_well_and_fits(
    address: str, widths: tuple[int, ...], browser: Browser
) -> None:
    found: list[str] = []
    async with open_page(browser, address) as (page, _):
        await expect(page.get_by_role("heading", name="Pick a game")).to_be_visible()
        for name, place in PLACES.items():
            await page.evaluate("(hash) => { location.hash = hash; }", place.fragment)
            found += await check_place(page, name, place, widths)
    join = address.replace("#", "join.html#")
    for link, said in ((join, r"Waiting|Connected"), (join.split("#")[0], "No token")):
        async with open_page(browser, link) as (page, _):
            await expect(page.locator("#state")).to_have_text(re.compile(said))
            found += await check_place(page, f"join: {said}", Place("", "#state"), widths)
    assert not found, "\n\n".join(found)
