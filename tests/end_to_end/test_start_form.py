"""The start form with the real server, in a real browser: what it shows runs, and what it is told is sent."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from attract.settings.run import ALGORITHM_SETTINGS
from attract.settings.schema import run_settings_schema, setting_paths
from dashboard_page import call, check_accessible, open_page, photograph, serve, stop_run, wait_until

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
SETTINGS = dict(setting_paths(run_settings_schema()))
WORKERS = "collection.num_workers"
SIZE = 7
# It draws in no colour of its own, as the README's does, and says on its canvas which size it has.
SIZED_GAME = """
import { box, defineGame, discrete } from "attract";
class Sized {
  start({ parameters }) { this.size = parameters.size; this.ticks = 0; return [0]; }
  update() {
    this.ticks += 1;
    return { observation: [this.ticks / 10], reward: 1, terminated: this.ticks === 10 };
  }
  draw(context, width, height) {
    context.clearRect(0, 0, width, height);
    context.fillRect(0, 0, width / 2, height);
    context.fillRect(width / 2, 0, width / 2, (height * this.size) / 10);
  }
}
export default defineGame({
  id: "Sized-v1", tickSeconds: 0.05, observation: box({ low: 0, high: 1, shape: [1] }), action: discrete(2),
  parameters: { size: { default: 3, low: 1, high: 9 } }, create: () => new Sized(),
});
"""
PIXELS = """(canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const column = (x) => context.getImageData(x, 0, 1, canvas.height).data;
  const right = column(canvas.width * 0.75).filter((_, i) => i % 4 === 3 && _ > 127).length;
  const middle = 4 * Math.floor(canvas.height / 2);
  const left = [...column(canvas.width / 4)].slice(middle, middle + 4);
  return { left, size: Math.round((10 * right) / canvas.height) };
}"""
"""What a game's canvas shows: its colour, and how high it has drawn the right half."""
SHOWN = """() => Object.fromEntries([...document.querySelectorAll("[data-path]")].map((field) =>
  [field.dataset.path, field.querySelector("input, select").value]))"""

PLACEHOLDERS = """() => Object.fromEntries([...document.querySelectorAll("[data-path] input")]
  .filter((input) => input.value === "").map((input) =>
    [input.closest("[data-path]").dataset.path, input.placeholder]))"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    project = tmp_path / "project"
    project.mkdir()
    (project / "sized.js").write_text(SIZED_GAME)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with serve(tmp_path / "runs", "--project-dir", str(project)) as url:
        yield url


def shows(selector: str, size: int) -> str:
    """A condition of the page: that canvas is there, and shows a game of that size."""
    return f"""() => {{
      const canvas = document.querySelector({json.dumps(selector)});
      return canvas !== null && canvas.width > 0 && ({PIXELS})(canvas).size === {size};
    }}"""


def value_at(settings: Any, path: str) -> Any:
    for name in path.split("."):
        settings = settings[name]
    return settings


def text_of(value: Any) -> str:
    """A value as a field shows it."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, int | float | str) for item in value):
        return ", ".join(str(item) for item in value) if value else ""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def same(path: str, shown: str, value: Any) -> bool:
    """Whether a field shows `value`; numbers as numbers: 1.0 is shown as 1."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(shown) == value
    if SETTINGS[path].get("type") == "array" and value == []:
        return shown in ("", "[]")
    return shown == text_of(value)


def settings_of(algorithm: str) -> set[str]:
    """Paths that the form shows for an algorithm: the settings of others have no effect."""
    others = tuple(f"{name}." for name in ALGORITHM_SETTINGS if name != algorithm)
    return {path for path in SETTINGS if path != "preset" and not path.startswith(others)}


async def test_the_form_shows_and_sends_what_will_run(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        await page.get_by_role("radio", name=re.compile("^Memory")).click()
        form = page.get_by_role("form", name="Train Memory")
        await expect(form).to_be_visible()
        own = (await call(page, "api/settings", {"game": "memory"}))[1]["own"]
        # The number of workers is this machine's, and nobody's change.
        await expect(form.locator('[data-path="ppo.gamma"] input')).not_to_have_value("")
        await expect(form.locator("[data-changed=you], [data-changed=preset]")).to_have_count(0)
        await expect(form.get_by_text("As YAML")).to_have_count(0)
        workers = form.locator(f'[data-path="{WORKERS}"]')
        suggested = await page.evaluate("Math.max(1, Math.min(4, navigator.hardwareConcurrency - 1))")
        is_own = value_at(own, WORKERS) == suggested
        await expect(workers).to_have_attribute("data-changed", "no" if is_own else "machine")
        await workers.locator("input").fill(str(suggested + 1))
        await expect(workers).to_have_attribute("data-changed", "you")
        await expect(form.get_by_text("As YAML")).to_have_count(1)
        await workers.get_by_role("button", name=f"Back to {suggested}: Workers").click()
        await expect(form.locator("[data-changed=you], [data-changed=preset]")).to_have_count(0)
        shown = await page.evaluate(SHOWN)
        assert set(shown) == settings_of("ppo")
        assert shown.pop(WORKERS) == str(suggested)
        wrong = {path: text for path, text in shown.items() if not same(path, text, value_at(own, path))}
        assert wrong == {}

        # Open, it fits on a desktop and a phone.
        await page.locator("details.fold").evaluate_all(
            "(all) => all.forEach((fold) => { fold.open = true; })"
        )
        await check_accessible(page, "the open form")
        await photograph(page, PICTURES / "form-desktop-light.png")
        await page.set_viewport_size({"width": 390, "height": 844})
        await photograph(page, PICTURES / "form-phone-light.png")

        # What the server refuses stands at its field.
        start = form.get_by_role("button", name="Start training")
        rate = form.locator('[data-path="ppo.learning_rate"]')
        await rate.locator("input").fill("0")
        await expect(rate).to_contain_text("above 0")
        await expect(start).to_be_disabled()
        await check_accessible(page, "a refused form")
        await rate.get_by_role("button", name=re.compile("^Back to")).click()
        seats = form.locator('[data-path="collection.seats"]')
        await seats.locator("input").fill("sc/out")
        await expect(seats.locator(".mantine-TextInput-error")).to_be_visible()
        await expect(start).to_be_disabled()
        await seats.get_by_role("button", name=re.compile("^Back to")).click()
        await expect(start).to_be_enabled()

        # A preset changes what is shown, as the server says.
        preset, effective = "", own
        for choice in (await call(page, "api/settings"))[1]["presets"]:
            tried = {"game": "memory", "settings": {"preset": choice["name"]}}
            preset, effective = choice["name"], (await call(page, "api/settings", tried))[1]["effective"]
            if effective["ppo"] != own["ppo"]:
                break
        await form.get_by_label("Settings", exact=True).select_option(preset)
        await expect(form.locator("[data-changed=preset]").first).to_be_visible()
        shown = await page.evaluate(SHOWN)
        shown.pop(WORKERS)
        assert {path for path in shown if not same(path, shown[path], value_at(effective, path))} == set()
        await form.get_by_label("Settings", exact=True).select_option("")
        await expect(form.locator("[data-changed=preset]")).to_have_count(0)

        # A default that is chosen against the game's own value is sent, and runs.
        path, usual = next(
            (path, part["default"])
            for path, part in SETTINGS.items()
            if "enum" in part and value_at(own, path) != part["default"]
        )
        await form.locator(f'[data-path="{path}"] select').select_option(usual)
        await expect(form.locator(f'[data-path="{path}"]')).to_have_attribute("data-changed", "you")
        await form.get_by_role("switch", name="Run the workers in this tab").uncheck()
        await start.click()
        await page.wait_for_url(re.compile(r"#/runs/"))
        run_id = page.url.rsplit("/", 1)[1]
        _, run = await call(page, f"api/runs/{run_id}")
        assert value_at(run["settings"], path) == usual != value_at(own, path)

        # Nobody joins; stopped, the run has nothing to show and asks for no model that is not there.
        await expect(page.get_by_test_id("waiting")).to_be_visible()
        await stop_run(page)
        await expect(page.locator("[data-testid=run-head] [data-testid=state]")).to_have_text("Stopped")
        _, kept = await call(page, f"api/runs/{run_id}")
        assert kept["newest_model"] is None
        await page.reload()
        await expect(page.get_by_test_id("watch")).to_contain_text("No policy")
        await expect(page.locator(".chart").first).to_have_text("The run ended before there was any")
        await expect(page.get_by_role("link", name="Get policy", exact=True)).to_have_count(0)
        # Trained again it begins with the same settings.
        await page.get_by_role("link", name="Train again").click()
        await expect(page.locator(f'[data-path="{path}"]')).to_have_attribute("data-changed", "you")


IN_WINDOW = """(selector) => {
  const box = document.querySelector(selector)?.getBoundingClientRect();
  return box !== undefined && box.height > 0 && box.top >= 0 && box.left >= 0 &&
    box.bottom <= innerHeight && box.right <= innerWidth;
}"""


# `make test` starts a run by this button in test_dashboard.py.
@pytest.mark.long
async def test_the_start_button_is_within_the_window_beside_every_game(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address) as (page, _):
        await page.set_viewport_size({"width": 1280, "height": 720})
        button = "#start-form button[type=submit]"
        await wait_until(page, IN_WINDOW, button)
        await wait_until(page, IN_WINDOW, "#start-form form")
        # The folds open within the form, and the last game is chosen without a way back up.
        await page.locator("details.fold").evaluate_all(
            "(all) => all.forEach((fold) => { fold.open = true; })"
        )
        await wait_until(page, IN_WINDOW, button)
        await page.get_by_role("radio", name=re.compile("^Stars")).click()
        await expect(page.get_by_role("form", name="Train Stars")).to_be_visible()
        await wait_until(page, IN_WINDOW, "#start-form form")

        # Below the games of a phone, a tap brings the form into sight, and its button with it.
        await page.set_viewport_size({"width": 390, "height": 844})
        await page.emulate_media(reduced_motion="reduce")
        await page.get_by_role("radio", name=re.compile("^CartPole")).click()
        await expect(page.get_by_role("form", name="Train CartPole")).to_be_in_viewport()
        await wait_until(page, IN_WINDOW, button)
        # What stands on a card stays within it.
        inside = """() => [...document.querySelectorAll(".game-place")].flatMap((place) =>
          [...place.querySelectorAll("*")].filter((one) =>
            one.getBoundingClientRect().right > place.getBoundingClientRect().right + 1 ||
            one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "hidden")
        ).length === 0"""
        await wait_until(page, inside)


# `make test` has what the form sends below, and each setting's default in contract/test_resolved_settings.py.
@pytest.mark.long
async def test_empty_fields_read_what_the_run_will_use(address: str, browser: Browser) -> None:
    async with open_page(browser, address) as (page, _):
        for game, preset, expected in (
            ("Snake", "", {"ppo.gae_lambda": "0.95 (automatic)", "ppo.minibatch_steps": "256 (automatic)"}),
            ("Meteors", "memory", {"ppo.gae_lambda": "0.95 (automatic)"}),
            (
                "Foragers",
                "pixels",
                {"collection.seats": "main, main, main (automatic)", "ppo.gae_lambda": "automatic"},
            ),
        ):
            await page.get_by_role("radio", name=re.compile(f"^{game}")).click()
            form = page.get_by_role("form", name=f"Train {game}")
            await form.get_by_label("Settings", exact=True).select_option(preset)
            # The game is loaded first: several settings depend on it.
            batch = form.locator('[data-path="ppo.batch_segments"] input')
            await expect(batch).to_have_attribute("placeholder", re.compile(r"^\d+ \(automatic\)$"))
            # Until the server answers for the preset, the fields read what it said without it.
            if preset:
                await expect(form.locator("[data-changed=preset]")).not_to_have_count(0)
            read = await page.evaluate(PLACEHOLDERS)
            assert {path: read[path] for path in expected} == expected
            wrong = {text for text in read.values() if not re.search(r"^none$|automatic\)?$", text)}
            assert wrong == set()
        await page.locator("details.fold").evaluate_all(
            "(all) => all.forEach((fold) => { fold.open = true; })"
        )
        await check_accessible(page, "a form with notes")
        await photograph(page, PICTURES / "form-resolved.png")


@pytest.mark.long
async def test_a_game_of_ones_own_is_first_and_shown_with_the_runs_parameters(
    address: str, browser: Browser
) -> None:
    async with open_page(browser, address, moves=True) as (page, _):
        card = page.locator(".game-card").first
        await expect(card).to_contain_text("Sized")
        # Drawn without a colour of its own it is light on the dark stage.
        await wait_until(page, shows(".game-card canvas", 3))
        red, green, blue, alpha = (await card.locator("canvas").evaluate(PIXELS))["left"]
        assert min(red, green, blue, alpha) > 200

        form = page.get_by_role("form", name="Train Sized")
        await form.get_by_label("Workers", exact=True).fill("1")
        await form.get_by_text("General").click()
        await form.get_by_label("Parameters", exact=True).fill(json.dumps({"size": {"constant": SIZE}}))
        await form.get_by_role("button", name="Start training").click()
        await page.wait_for_url(re.compile(r"#/runs/"))
        await wait_until(page, shows("[data-testid=watch] canvas", SIZE))
        await page.get_by_role("button", name="Play yourself").click()
        await wait_until(page, shows("[data-testid=play] canvas", SIZE))
