"""Who was let in stays in when the trainer is killed and started again, and goes when the admin says so."""

import asyncio
import re
import time
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from attract_command import AttractCommand
from dashboard_page import check_accessible, open_page, photograph_all
from servers import free_port

expect.set_options(timeout=60_000)

PICTURES = Path(__file__).resolve().parents[2] / "test-results" / "dashboard"
ADDRESSES = re.compile(r"dashboard: (\S+)[\s\S]*?join from another device: (\S+)")


@pytest.fixture(scope="module")
def pictures() -> Path:
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES


class Trainer:
    """`attract train` that waits for devices with its join link."""

    def __init__(self, port: int, runs_dir: Path, *more: str) -> None:
        self.command = AttractCommand(
            *(
                "train",
                "cartpole",
                "--no-headless",
                "--lan",
                "--port",
                str(port),
                "--json",
                "--run-id",
                "kept",
            ),
            *("--workers", "1", "--instances", "8", "--no-check", *more),
            runs_dir=runs_dir,
        )
        assert self.command.process.stderr is not None
        said = ""
        for line in self.command.process.stderr:
            said += line
            if found := ADDRESSES.search(said):
                self.dashboard, self.join = found.groups()
                return
        raise AssertionError(f"no addresses were printed:\n{said}")


def newest_version(runs_dir: Path) -> int:
    names = [path.parent.name for path in runs_dir.glob("kept/checkpoints/*/checkpoint.json")]
    return max((int(name) for name in names if name.isdecimal()), default=0)


def wait_for_version(runs_dir: Path, version: int) -> None:
    deadline = time.monotonic() + 120
    while newest_version(runs_dir) < version:
        assert time.monotonic() < deadline, f"no version {version} within two minutes"
        time.sleep(0.05)


@pytest.mark.soak
async def test_scale_07_pages_that_joined_by_link_train_on_after_the_trainer_was_killed(
    tmp_path: Path, pictures: Path, browser: Browser
) -> None:
    port = free_port()
    trainer = Trainer(port, tmp_path)
    try:
        async with (
            open_page(browser, trainer.dashboard) as (page, said_page),
            open_page(browser, f"{trainer.join}&workers=1", device="phone") as (guest, said_guest),
        ):
            said_page.expected += ["ERR_CONNECTION", "ERR_INCOMPLETE", "401"]
            said_guest.expected += ["ERR_CONNECTION", "WebSocket"]
            await expect(guest.locator("#state")).to_have_text(re.compile("^Playing for kept"))
            await asyncio.to_thread(wait_for_version, tmp_path, 2)
            trainer.command.kill()
            trainer.command.process.communicate()
            before = newest_version(tmp_path)
            link = trainer.join
            again = trainer = Trainer(port, tmp_path, "--resume")
            assert again.join == link
            # The page that joined by the old link comes back by itself, and what it plays is trained.
            await expect(guest.locator("#state")).to_have_text(re.compile("^Playing for kept"))
            await asyncio.to_thread(wait_for_version, tmp_path, before + 2)

            # The browser that was signed in still is, though the printed token is another.
            await page.reload()
            await page.get_by_role("link", name="Access").click()
            await expect(page.get_by_text("(this one)")).to_be_visible()
            invitation = page.locator(".rows li", has_text="printed at the start")
            await expect(invitation).to_contain_text("2 open sockets")
            await check_accessible(page, "access")
            await photograph_all(page, pictures, "access")
            await invitation.get_by_role("button", name="Revoke").click()
            await expect(invitation).to_have_count(0)
            await expect(guest.locator("#state")).not_to_have_text(re.compile("^Playing"))
            await page.get_by_role("button", name="Log out").first.click()
            await expect(page.get_by_role("heading", name="Open the printed address")).to_be_visible()
    finally:
        trainer.command.kill()
        trainer.command.process.communicate()
