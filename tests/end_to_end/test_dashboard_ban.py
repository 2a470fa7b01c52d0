"""A guest that was banned from a run, and the admin who lifts the ban on the dashboard, in a real browser."""

import shutil
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, expect

from attract.collection.trust.verdict import UNREADABLE_MESSAGES
from attract.collection.trust_handlers import frame_unreadable
from attract.games.project import PACKAGE_DIR
from dashboard_page import open_page
from gateway_world import SMALL, gateway
from waiting import WAIT_SECONDS, until

expect.set_options(timeout=60_000)

ONE_WORKER = {**SMALL["collection"], "num_workers": 1}


async def test_an_admin_lifts_the_ban_of_a_guest_who_then_plays(tmp_path: Path, browser: Browser) -> None:
    async with gateway(tmp_path) as world:
        shutil.copytree(PACKAGE_DIR / "web/dashboard", tmp_path / "web/dashboard", dirs_exist_ok=True)
        # A host of the admin's own says what the game is. It plays nothing, so that nothing is audited.
        own, guest = world.fleet(max_workers=0), world.fleet(max_workers=1, host_id="c" * 32)
        guest.token = world.guard.issue("worker", tier="invited")
        async with own.joined(), guest.joined():
            run_id = (await world.start(collection=ONE_WORKER)).run_id
            await until(lambda: guest.leases, WAIT_SECONDS)
            run: Any = world.service.active
            workers = run.runner.collection.fleet.workers.values()
            (worker,) = [worker for worker in workers if worker.tier == "invited"]
            for _ in range(UNREADABLE_MESSAGES):
                run.runner.collect(frame_unreadable, worker.connection_id, "no map at byte 0")
            url = f"http://127.0.0.1:{world.port}/#token={world.guard.admin_token}"
            async with open_page(browser, url) as (page, _):
                await expect(page.locator("h1")).to_be_visible()
                await page.evaluate("(hash) => { location.hash = hash; }", f"#/runs/{run_id}/workers")
                row = page.locator(f'[data-testid=fleet] tr[data-worker="{worker.worker_id}"]')
                await expect(row).to_have_attribute("data-state", "left_out")
                await expect(row).to_contain_text("Banned: it sent messages that cannot be read")
                lift = row.get_by_role("button", name="Lift the ban", exact=True)
                num_leases = len(guest.leases)
                await lift.click()
                await expect(lift).to_have_count(0)
                await expect(row).not_to_contain_text("Banned")
                await until(lambda: len(guest.leases) > num_leases, 20)
