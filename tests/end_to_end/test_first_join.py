"""What a device loads before it plays or watches: the inference engine only where it is needed."""

import contextlib
import re
import secrets
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, BrowserContext, Page, Request, expect

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

    Of what a worker loads Chromium may tell the headers alone: the server's `content-length` says the rest.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._requests: list[Request] = []
        context.on("requestfinished", lambda request: self._requests.append(request))

    async def num_bytes(self) -> int:
        total = 0
        for request in list(self._requests):
            sizes, response = await request.sizes(), await request.response()
            length = "0" if response is None else response.headers.get("content-length", "0")
            total += max(sizes["responseBodySize"], int(length)) + sizes["responseHeadersSize"]
        return total

    @property
    def has_engine(self) -> bool:
        return any(request.url.endswith(".wasm") for request in self._requests)


@dataclass(frozen=True)
class Trainer:
    """`attract train` that waits for workers from elsewhere."""

    address: str
    """As it was printed, with the admin's token."""
    visitors: str
    """The link of a visitor's device."""

    def own_link(self) -> str:
        """The link of a page of the admin's own. It says at once what the game is; a visitor waits 30 s."""
        root, token = self.address.split("#token=")
        answer = httpx.post(
            f"{root}api/join", json={"tier": "local"}, headers={"authorization": f"Bearer {token}"}
        )
        return f"{root}{answer.json()['url']}&workers=1"


@contextlib.contextmanager
def trainer(runs_dir: Path, *arguments: str) -> Generator[Trainer]:
    token = secrets.token_hex(32)
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
        address = found.group(1)
        yield Trainer(address, f"{address.split('#')[0]}join.html#token={token}&workers=1")
    finally:
        command.kill()
        command.process.communicate()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainer]:
    """Trains a network that the small player can play everywhere."""
    with trainer(tmp_path_factory.mktemp("small")) as trains:
        yield trains


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


async def test_a_phone_joins_without_the_inference_engine_and_a_laptop_with_it(small: Trainer) -> None:
    async with chromium() as browser:
        laptop, has_engine = await join(browser, small.own_link(), None)
        assert has_engine
        assert laptop > MIN_ENGINE_BYTES
        phone, has_engine = await join(browser, small.visitors, PHONE)
        print(f"a phone's first join: {phone / 1000:.0f} kB")
        assert not has_engine
        assert 100_000 < phone <= MAX_JOIN_BYTES
        # What the phone played was trained on and judged as any visitor's play: nothing of it was refused.
        async with await browser.new_context() as context:
            page = await context.new_page()
            await page.goto(small.address)
            run = await run_path(page)
            view = await page.evaluate("(path) => fetch(path).then((answer) => answer.json())", run)
            fleet = await page.evaluate(
                "(path) => fetch(path).then((answer) => answer.json())", f"{run}/fleet"
            )
    assert view["updates"] > 3
    assert fleet["blocks_refused"] == 0
    left_out = [worker["left_out"] for host in fleet["hosts"] for worker in host["workers"]]
    assert len(left_out) >= 2
    assert set(left_out) == {None}


async def watch(browser: Browser, trainer: Trainer, *, refuses: bool) -> tuple[int, bool]:
    """As `join`, of a page that is opened on a run and watches a version, and then a newer one."""
    async with await browser.new_context() as context:
        loaded = Loaded(context)
        page = await context.new_page()
        if refuses:
            await context.route("**/*.wasm", lambda route: route.abort())
        await page.goto(trainer.address)
        run = await run_path(page)
        await page.goto(f"{trainer.address.split('#')[0]}#/runs/{run.split('/')[-1]}")
        first = await wait_for_more(page, '[data-testid="watch"]', "data-version", 0)
        if refuses:
            await wait_for_more(page, '[data-testid="watch"]', "data-version", first + 1)
        return await loaded.num_bytes(), loaded.has_engine


async def test_a_first_watch_does_without_the_inference_engine(small: Trainer) -> None:
    async with chromium() as browser, await browser.new_context() as helper:
        guest = await helper.new_page()
        await guest.goto(small.own_link())
        # Newer versions take over, too.
        num_bytes, has_engine = await watch(browser, small, refuses=True)
    print(f"a first watch: {num_bytes / 1000:.0f} kB")
    assert not has_engine
    assert num_bytes < MIN_ENGINE_BYTES / 3


async def test_a_large_network_is_played_by_the_engine_on_a_phone_and_where_it_is_watched(
    tmp_path: Path,
) -> None:
    words = ("--policy.hidden-sizes", "1024,1024", "--worker-tier", "local")
    with trainer(tmp_path, *words) as large:
        async with chromium() as browser:
            for num_bytes, has_engine in (
                await join(browser, large.visitors, PHONE),
                await watch(browser, large, refuses=False),
            ):
                assert has_engine
                assert num_bytes > MIN_ENGINE_BYTES
