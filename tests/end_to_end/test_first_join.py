"""What a device loads before it plays or watches: the inference engine only where it is needed."""

import contextlib
import re
import secrets
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, BrowserContext, Request, expect

from attract_command import AttractCommand
from dashboard_page import ACTIVE_RUN, URL, wait_for_more, wait_until
from servers import free_port
from waiting import WAIT_SECONDS, until

expect.set_options(timeout=60_000)

PHONE = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Mobile Safari/537.36"
)
MAX_JOIN_BYTES = 700_000
MIN_ENGINE_BYTES = 3_000_000


class Loaded:
    """Bytes that the pages of one context were sent, headers and all, without what goes over websockets.

    Chromium tells only the headers of the supervisor's script: the server's `content-length` says the rest.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._requests: list[Request] = []
        context.on("requestfinished", lambda request: self._requests.append(request))

    async def num_bytes(self) -> int:
        total = 0
        for request in list(self._requests):
            if request.url.startswith("blob:"):
                continue
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

    @property
    def root(self) -> str:
        return self.address.split("#")[0]

    def admin(self) -> httpx.Client:
        """Asks the server with the admin's token."""
        token = self.address.split("#token=")[1]
        return httpx.Client(base_url=self.root, headers={"authorization": f"Bearer {token}"})

    def own_link(self) -> str:
        """The link of a page of the admin's own. It says at once what the game is; a visitor waits 30 s."""
        with self.admin() as admin:
            answer = admin.post("api/join", json={"tier": "local"})
        return f"{self.root}{answer.json()['url']}&workers=1"


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


async def join(
    browser: Browser, link: str, user_agent: str | None, *, loads_engine: bool = False
) -> tuple[int, bool]:
    """Bytes of a first join until the device plays for itself, and whether it has loaded the engine.

    `loads_engine`: wait until Chromium has said that it did, which may come after the first steps.
    """
    context = await browser.new_context(user_agent=user_agent, is_mobile=user_agent is not None)
    loaded = Loaded(context)
    page = await context.new_page()
    await page.goto(link)
    await expect(page.locator("#state")).to_have_text(re.compile("^Playing for cartpole"))
    await expect(page.locator("#speed")).not_to_have_text("0")
    if loads_engine:
        await until(lambda: loaded.has_engine, WAIT_SECONDS)
    found = await loaded.num_bytes(), loaded.has_engine
    await page.get_by_role("button", name="Leave").click()
    await context.close()
    return found


async def test_a_phone_joins_without_the_inference_engine_and_a_laptop_with_it(
    small: Trainer, browser: Browser
) -> None:
    laptop, has_engine = await join(browser, small.own_link(), None, loads_engine=True)
    assert has_engine
    assert laptop > MIN_ENGINE_BYTES
    phone, has_engine = await join(browser, small.visitors, PHONE)
    print(f"a phone's first join: {phone / 1000:.0f} kB")
    assert not has_engine
    assert 100_000 < phone <= MAX_JOIN_BYTES
    # What the phone played was trained on and judged as any visitor's play: nothing of it was refused.
    with small.admin() as admin:
        run = f"api/runs/{admin.get('api/info').json()['active_run']}"
        view, fleet = admin.get(run).json(), admin.get(f"{run}/fleet").json()
    assert view["updates"] > 3
    assert fleet["blocks_refused"] == 0
    left_out = {worker["left_out"] for host in fleet["hosts"] for worker in host["workers"]}
    assert left_out == {None}


async def watch(browser: Browser, trainer: Trainer, *, refuses: bool) -> tuple[int, bool]:
    """As `join`, of a page that is opened on a run and watches a version, and then a newer one."""
    async with await browser.new_context() as context:
        loaded = Loaded(context)
        page = await context.new_page()
        if refuses:
            await context.route("**/*.wasm", lambda route: route.abort())
        await page.goto(trainer.address)
        run_id = await wait_until(page, ACTIVE_RUN)
        await page.goto(f"{trainer.root}#/runs/{run_id}")
        first = await wait_for_more(page, '[data-testid="watch"]', "data-version", 0)
        if refuses:
            await wait_for_more(page, '[data-testid="watch"]', "data-version", first + 1)
        else:
            await until(lambda: loaded.has_engine, WAIT_SECONDS)
        return await loaded.num_bytes(), loaded.has_engine


# `make test` joins without the engine above; who watches loads it as late.
@pytest.mark.long
async def test_a_first_watch_does_without_the_inference_engine(small: Trainer, browser: Browser) -> None:
    async with await browser.new_context() as helper:
        guest = await helper.new_page()
        await guest.goto(small.own_link())
        # Newer versions take over, too.
        num_bytes, has_engine = await watch(browser, small, refuses=True)
    print(f"a first watch: {num_bytes / 1000:.0f} kB")
    assert not has_engine
    assert num_bytes < MIN_ENGINE_BYTES / 3


# `make test` has the engine on a laptop above.
@pytest.mark.long
async def test_a_large_network_is_played_by_the_engine_on_a_phone_and_where_it_is_watched(
    tmp_path: Path,
    browser: Browser,
) -> None:
    words = ("--policy.hidden-sizes", "1024,1024", "--worker-tier", "local")
    with trainer(tmp_path, *words) as large:
        for num_bytes, has_engine in (
            await join(browser, large.visitors, PHONE, loads_engine=True),
            await watch(browser, large, refuses=False),
        ):
            assert has_engine
            assert num_bytes > MIN_ENGINE_BYTES
