"""What a device loads before it plays or watches: the inference engine only where it is needed."""

import contextlib
import re
import secrets
from collections.abc import Generator
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, Request, Route, expect

from attract_command import AttractCommand
from dashboard_page import URL, chromium, wait_for_more
from free_port import free_port

expect.set_options(timeout=60_000)

PHONE = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Mobile Safari/537.36"
)
MAX_JOIN_BYTES = 700_000
MIN_ENGINE_BYTES = 3_000_000


class Loaded:
    """Bytes that the pages of one context were sent, headers and all, without what goes over websockets.

    Of the supervisor's script, 29 kB, Chromium tells the headers alone.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._requests: list[Request] = []
        context.on("requestfinished", lambda request: self._requests.append(request))

    async def num_bytes(self) -> int:
        total = 0
        for request in list(self._requests):
            sizes = await request.sizes()
            total += sizes["responseBodySize"] + sizes["responseHeadersSize"]
        return total

    @property
    def has_engine(self) -> bool:
        return any(request.url.endswith(".wasm") for request in self._requests)


@contextlib.contextmanager
def trainer(runs_dir: Path, token: str, *arguments: str) -> Generator[str]:
    """`attract train` that waits for workers from elsewhere; gives the printed address."""
    command = AttractCommand(
        *("train", "cartpole", "--no-headless", "--no-check", "--port", str(free_port())),
        *("--total-steps", "100000000", *arguments),
        runs_dir=runs_dir,
        environment={"ATTRACT_WORKER_TOKEN": token},
    )
    try:
        assert command.process.stdout is not None
        found = URL.search(command.process.stdout.readline())
        assert found is not None
        yield found.group(1)
    finally:
        command.kill()
        command.process.communicate()


async def join(browser: Browser, link: str, user_agent: str | None) -> tuple[int, bool]:
    """Bytes of a first join until the device plays for itself, and whether it has loaded the engine."""
    context = await browser.new_context(user_agent=user_agent, is_mobile=user_agent is not None)
    loaded = Loaded(context)
    page = await context.new_page()
    await page.goto(link)
    await expect(page.locator("#state")).to_have_text(re.compile("^Playing for cartpole"))
    await expect(page.locator("#speed")).not_to_have_text("0")
    found = await loaded.num_bytes(), loaded.has_engine
    await page.get_by_role("button", name="Leave").click()
    await context.close()
    return found


async def run_path(page: Page) -> str:
    """Path of the server's run in its API, once the page is signed in."""
    await page.wait_for_function("() => fetch('api/info').then((answer) => answer.ok)")
    active = await page.evaluate("() => fetch('api/info').then((answer) => answer.json())")
    return f"api/runs/{active['active_run']}"


async def test_a_phone_joins_without_the_inference_engine_and_a_laptop_with_it(tmp_path: Path) -> None:
    token = secrets.token_hex(32)
    with trainer(tmp_path, token) as address:
        link = f"{address.split('#')[0]}join.html#token={token}&workers=1"
        async with chromium() as browser:
            phone, has_engine = await join(browser, link, PHONE)
            print(f"a phone's first join: {phone / 1000:.0f} kB")
            assert not has_engine
            assert 100_000 < phone <= MAX_JOIN_BYTES
            laptop, has_engine = await join(browser, link, None)
            assert has_engine
            assert laptop > MIN_ENGINE_BYTES
        # What the phone played was trained on and judged as any visitor's play: nothing of it was refused.
        async with chromium() as browser, await browser.new_context() as context:
            page = await context.new_page()
            await page.goto(address)
            run = await run_path(page)
            view = await page.evaluate("(path) => fetch(path).then((answer) => answer.json())", run)
            fleet = await page.evaluate(
                "(path) => fetch(path).then((answer) => answer.json())", f"{run}/fleet"
            )
        assert view["updates"] > 3
        assert fleet["blocks_refused"] == 0
        assert [worker["left_out"] for host in fleet["hosts"] for worker in host["workers"]] == [None, None]


async def test_a_phone_loads_the_engine_for_a_large_network_and_then_plays(
    tmp_path: Path,
) -> None:
    token = secrets.token_hex(32)
    with trainer(tmp_path, token, "--policy.hidden-sizes", "256,256") as address:
        link = f"{address.split('#')[0]}join.html#token={token}&workers=1"
        async with chromium() as browser:
            loaded, has_engine = await join(browser, link, PHONE)
    assert has_engine
    assert loaded > MIN_ENGINE_BYTES


async def watch(tmp_path: Path, least: int, *arguments: str, refuses: bool) -> tuple[int, bool]:
    """As `join`, of a page that is opened on a run and watches version `least` or a newer one of it."""
    token = secrets.token_hex(32)

    async def refuse(route: Route) -> None:
        await route.abort()

    with trainer(tmp_path, token, *arguments) as address:
        root = address.split("#")[0]
        async with chromium() as browser, await browser.new_context() as helper:
            guest = await helper.new_page()
            await guest.goto(f"{root}join.html#token={token}&workers=1")
            context = await browser.new_context()
            loaded = Loaded(context)
            page = await context.new_page()
            if refuses:
                await context.route("**/*.wasm", refuse)
            await page.goto(address)
            run = await run_path(page)
            await page.goto(f"{root}#/runs/{run.split('/')[-1]}")
            await wait_for_more(page, '[data-testid="watch"]', "data-version", least)
            found = await loaded.num_bytes(), loaded.has_engine
            await context.close()
            return found


async def test_a_first_watch_does_without_the_inference_engine(tmp_path: Path) -> None:
    # Newer versions take over, too.
    num_bytes, has_engine = await watch(tmp_path, 1, refuses=True)
    print(f"a first watch: {num_bytes / 1000:.0f} kB")
    assert not has_engine
    assert num_bytes < MIN_ENGINE_BYTES / 3


async def test_a_watched_network_that_is_too_large_is_played_by_the_engine(tmp_path: Path) -> None:
    num_bytes, has_engine = await watch(tmp_path, 0, "--policy.hidden-sizes", "1024,1024", refuses=False)
    assert has_engine
    assert num_bytes > MIN_ENGINE_BYTES
