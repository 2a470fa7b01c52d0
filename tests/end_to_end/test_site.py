"""The guide as a site: it is built, its links lead somewhere, and the agent on its first page plays."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from dashboard_page import open_page
from servers import served_folder

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "docs" / ".vitepress" / "dist"

expect.set_options(timeout=60_000)


async def run_make_docs() -> str:
    """What `make docs` says; a link that leads nowhere fails it."""
    process = await asyncio.create_subprocess_exec(
        "make", "docs", cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_it_is_built_and_a_trained_agent_plays_on_its_first_page(browser: Browser) -> None:
    await run_make_docs()
    with served_folder(BUILT) as address:
        async with open_page(browser, address, moves=True) as (page, _):
            await expect(page.get_by_role("heading", name="An agent for your browser game")).to_be_visible()
            frame = page.frame_locator("iframe")
            await page.locator("iframe").scroll_into_view_if_needed()
            await expect(frame.locator("#status")).to_have_text("The agent plays.")
            # One that was not trained crashes at -100 and below.
            landed = re.compile(r"^The agent: [12]\d\d\.\d")
            await expect(frame.get_by_role("listitem")).to_have_text(landed, timeout=120_000)
            await page.get_by_role("link", name="Ten minutes").first.click()
            await expect(page.get_by_role("heading", name="Ten minutes")).to_be_visible()
            await page.get_by_role("link", name="Every setting").first.click()
            row = page.get_by_role("row").filter(has_text="ppo.gamma ")
            await expect(row).to_contain_text("0.99")
            await page.get_by_role("link", name="Every command").first.click()
            await expect(page.get_by_role("heading", name="attract export")).to_be_visible()
