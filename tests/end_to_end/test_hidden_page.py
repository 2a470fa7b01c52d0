"""A page that nobody sees costs next to nothing, and shows everything when it is seen again."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, CDPSession, expect

from attract_command import AttractCommand
from dashboard_page import ACTIVE_RUN, RETURN_CHART, URL, wait_until
from servers import free_port

expect.set_options(timeout=60_000)

LAST_STEPS = """async () => {
  const { active_run: run } = await (await fetch("api/info")).json();
  return (await (await fetch(`api/runs/${run}`)).json()).updates;
}"""
# Headless Chromium hides no page. As in a browser, a hidden one has no frames, layout or painting here.
HIDE = """
let isHidden = false;
const waiting = [];
Object.defineProperty(document, "hidden", { get: () => isHidden });
Object.defineProperty(document, "visibilityState", { get: () => (isHidden ? "hidden" : "visible") });
const frame = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (callback) => (isHidden ? waiting.push(callback) : frame(callback));
window.setHidden = (hidden) => {
  isHidden = hidden;
  document.documentElement.style.display = hidden ? "none" : "";
  if (!hidden) for (const callback of waiting.splice(0)) frame(callback);
  document.dispatchEvent(new Event("visibilitychange"));
};
"""
MAX_SHARE = 0.01


async def main_thread_share(session: CDPSession, seconds: float) -> float:
    """Share of one core that the page's main thread was busy."""

    async def busy() -> tuple[float, float]:
        answer: dict[str, Any] = await session.send("Performance.getMetrics")
        metrics = {metric["name"]: metric["value"] for metric in answer["metrics"]}
        return metrics["TaskDuration"], metrics["Timestamp"]

    (task, began), _ = await busy(), await asyncio.sleep(seconds)
    after, ended = await busy()
    return (after - task) / (ended - began)


@pytest.mark.parametrize(
    ("seen_seconds", "hidden_seconds"), [(2, 5), pytest.param(10, 30, marks=pytest.mark.long)]
)
async def test_a_hidden_page_uses_at_most_a_hundredth_of_its_thread(
    tmp_path: Path, seen_seconds: float, hidden_seconds: float, browser: Browser
) -> None:
    command = AttractCommand(
        *("train", "cartpole", "--headless", "--workers", "1", "--no-check", "--port", str(free_port())),
        *("--total-steps", "1000000000", "--ppo.horizon", "32"),
        runs_dir=tmp_path,
    )
    try:
        assert command.process.stdout is not None
        found = URL.search(command.process.stdout.readline())
        assert found is not None
        async with await browser.new_context() as context:
            await context.add_init_script(HIDE)
            page = await context.new_page()
            await page.goto(found.group(1))
            # The token of the address has become a session.
            await expect(page.locator("h1")).to_be_visible()
            run = await wait_until(page, ACTIVE_RUN)
            await page.goto(f"{found.group(1).split('#')[0]}#/runs/{run}")
            await wait_until(
                page,
                "(chart) => Number(document.querySelector(chart)?.dataset.points ?? 0) > 20",
                RETURN_CHART,
            )
            session = await context.new_cdp_session(page)
            # Time that the thread had a processor: a busy machine takes it away amid a task.
            await session.send("Performance.enable", {"timeDomain": "threadTicks"})
            seen = await main_thread_share(session, seen_seconds)
            await page.evaluate("setHidden(true)")
            before = await page.evaluate(LAST_STEPS)
            # What was under way, such as a picture, ends.
            await asyncio.sleep(2)
            hidden = await main_thread_share(session, hidden_seconds)
            updates = await page.evaluate(LAST_STEPS) - before
            print(
                f"seen {seen:.1%}, hidden {hidden:.2%}, {updates / (2 + hidden_seconds):.1f} updates a second"
            )
            assert hidden <= MAX_SHARE
            assert seen > 3 * hidden
            await page.evaluate("setHidden(false)")
            await expect(page.locator(f"{RETURN_CHART} .chart")).to_have_attribute(
                "aria-label", re.compile("return", re.IGNORECASE)
            )
    finally:
        command.kill()
        command.process.communicate()
