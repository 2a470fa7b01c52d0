"""A dashboard in a real browser: `attract serve` as a process, pages that fail on any complaint."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, Page

from attract_command import AttractCommand
from proxy import TcpProxy
from servers import free_port

URL = re.compile(r"dashboard: (\S+)")
DRIVER_REMARK = re.compile(r"GL Driver Message \(OpenGL, Performance,")
"""Chromium's warning that a page's WebGL is slow to read; it comes once the pixels were read often enough."""
REPORT_CSP = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} blocked ${event.blockedURI}`));
"""
AXE = Path(__file__).resolve().parents[2] / "node_modules/axe-core/axe.min.js"
RUN_AXE = """async (tags) => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"], runOnly: tags });
  return violations.map(({ id, help, nodes }) =>
    `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
}"""
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
CONTRAST = Path(__file__).with_name("contrast.js")
MIN_CONTRAST = 4.5
"""Contrast of a text of any size (WCAG 2.2, 1.4.3)."""
IS_DARK = "matchMedia('(prefers-color-scheme: dark)').matches"
TRANSITIONS_OVER = """Promise.allSettled(
  document.getAnimations()
    .filter((one) => one instanceof CSSTransition && one.effect.target?.checkVisibility())
    .map((one) => one.finished),
).then(() => undefined)"""
"""One in a part of the page that is not rendered, such as a closed `details`, never ends."""
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
FITS = "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
RETURN_CHART = 'figure[data-metric="rollout/ep_rew_mean"]'
ACTIVE_RUN = (
    "() => fetch('api/info').then((answer) => answer.ok && answer.json()).then((info) => info.active_run)"
)
"""The server is there before the run."""
VIEWPORTS = {"desktop": (1280, 900), "phone": (390, 844)}
TAKES_PICTURES = "ATTRACT_TEST_PICTURES" in os.environ
"""A picture is for a person to look at, and takes half a second: tests take them where that is asked for."""


@dataclass
class Complaints:
    """What the browser complained about; `expected` holds parts of messages that a test provokes."""

    messages: list[str] = field(default_factory=list[str])
    expected: list[str] = field(default_factory=list[str])

    def check(self) -> None:
        """Raises: AssertionError: naming every complaint that was not expected."""
        left = [text for text in self.messages if not any(part in text for part in self.expected)]
        assert not left, "\n".join(left)


@contextlib.contextmanager
def serve(runs_dir: Path, *arguments: str):
    """`attract serve` on a free port; gives the printed address, token included."""
    command = AttractCommand("serve", "--port", str(free_port()), *arguments, runs_dir=runs_dir)
    try:
        assert command.process.stderr is not None
        said = ""
        for line in command.process.stderr:
            said += line
            if found := URL.search(said):
                break
        else:
            raise AssertionError(f"no address was printed:\n{said}")
        yield found.group(1)
    finally:
        command.kill()
        command.process.communicate()


@contextlib.asynccontextmanager
async def open_page(
    browser: Browser,
    url: str,
    *,
    device: Literal["desktop", "phone"] = "desktop",
    scheme: Literal["light", "dark"] = "light",
    moves: bool = False,
) -> AsyncGenerator[tuple[Page, Complaints]]:
    """A page at `url`; leaving the block checks that there were no complaints.

    Games on it move only where it `moves`: that is half of what it costs to open Home.
    """
    width, height = VIEWPORTS[device]
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="no-preference" if moves else "reduce",
        has_touch=device == "phone",
        is_mobile=device == "phone",
    )
    complaints = Complaints()
    await context.add_init_script(REPORT_CSP)
    page = await context.new_page()
    page.set_default_timeout(60_000)
    page.on(
        "console",
        lambda message: (
            complaints.messages.append(f"{message.type}: {message.text} ({message.location['url']})")
            if message.type in ("error", "warning") and not DRIVER_REMARK.search(message.text)
            else None
        ),
    )
    page.on("pageerror", lambda error: complaints.messages.append(f"page error: {error}"))
    try:
        await page.goto(url)
        yield page, complaints
        complaints.check()
    finally:
        await context.close()


async def check_accessible(page: Page, name: str) -> None:
    """axe finds nothing on the page as it stands: WCAG 2.2 up to AA, and its best practices.

    Where the page's dots lie behind a text axe cannot tell its contrast: that is computed, in both schemes.

    Raises: AssertionError: naming each finding with the first elements it is about.
    """
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text())
    found = await page.evaluate(RUN_AXE, AXE_TAGS)
    is_dark = await page.evaluate(IS_DARK)
    for dark in (is_dark, not is_dark):
        scheme = "dark" if dark else "light"
        await page.emulate_media(color_scheme=scheme)
        await page.evaluate(TWO_FRAMES)
        # Colours change over time where a style says so.
        await page.evaluate(TRANSITIONS_OVER)
        found += [f"{scheme}: {text}" for text in await poor_contrasts(page)]
    await page.emulate_media(color_scheme="dark" if is_dark else "light")
    assert not found, f"{name}:\n" + "\n".join(found)


async def poor_contrasts(page: Page) -> list[str]:
    """Each text of the page whose contrast is below 4.5:1, as a line that names it."""
    source = CONTRAST.read_text()
    return await page.evaluate(source[source.index("(least)") :].rstrip(";\n"), MIN_CONTRAST)


async def photograph(page: Page, path: Path, *, full_page: bool = True) -> None:
    """Nothing is cut off at the side, once charts have followed the window; a picture where asked."""
    try:
        await wait_until(page, FITS, seconds=10)
    except TimeoutError:
        raise AssertionError(f"{path.name}: wider than the window") from None
    if TAKES_PICTURES:
        await page.screenshot(path=path, full_page=full_page)


async def photograph_all(page: Page, folder: Path, name: str) -> None:
    """`name` on a desktop and a phone, light and dark; the page is a light desktop again afterwards."""
    for device, (width, height) in reversed(VIEWPORTS.items()):
        await page.set_viewport_size({"width": width, "height": height})
        for scheme in ("dark", "light") if TAKES_PICTURES else ("light",):
            await page.emulate_media(color_scheme=scheme)
            # The colours follow within a frame or two.
            await page.evaluate(TWO_FRAMES)
            await photograph(page, folder / f"{name}-{device}-{scheme}.png")


async def call(page: Page, path: str, body: Any = None) -> tuple[int, Any]:
    """Status and JSON of what the server answers to the page itself, with all that its browser may."""
    status, answer = await page.evaluate(
        """async ([path, body]) => {
          const key = localStorage.getItem(`attract key ${new URL(".", document.baseURI).pathname}`);
          const headers = { "content-type": "application/json", "x-attract-key": key };
          const init = body === null ? {} : { method: "POST", headers, body: JSON.stringify(body) };
          const answer = await fetch(path, init);
          return [answer.status, await answer.json()];
        }""",
        [path, body],
    )
    return status, answer


async def start_training(page: Page, title: str) -> None:
    """Start a run of a game from Home, with one worker in this tab; stop one that a failed try left going."""
    await page.get_by_role("radio", name=re.compile(f"^{title}")).click()
    _, info = await call(page, "api/info")
    if info["active_run"] is not None:
        status, answer = await call(page, f"api/runs/{info['active_run']}/stop", {})
        assert status == 200, answer
    form = page.get_by_role("form", name=f"Train {title}")
    await form.get_by_label("Workers", exact=True).fill("1")
    await form.get_by_role("button", name="Start training").click()
    await page.wait_for_url(re.compile(r"#/runs/"))


async def stop_run(page: Page) -> None:
    """Stop the run of this page, and say yes to the question."""
    await page.get_by_role("button", name="Stop", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Stop training").click()


async def open_part(page: Page, name: str) -> None:
    """Go to a part of a run's page, such as `Workers`."""
    await page.get_by_role("navigation", name="Parts of the run").get_by_role("link", name=name).click()


async def read_number(page: Page, selector: str, attribute: str) -> int:
    """A whole number in an attribute."""
    return int(await page.locator(selector).get_attribute(attribute) or "0")


async def wait_until(page: Page, condition: str, argument: object = None, *, seconds: float = 60) -> Any:
    """Wait until `condition`, a JavaScript function of `argument`, gives or promises something; gives that.

    Playwright's own waiting needs `eval`, which the page's policy forbids, and takes any promise for true.

    Raises: TimeoutError: after so many seconds.
    """
    loop = f"""async (argument) => {{
      const condition = {condition};
      let answer;
      while (!(answer = await condition(argument))) await new Promise((resolve) => setTimeout(resolve, 50));
      return answer;
    }}"""
    async with asyncio.timeout(seconds):
        return await page.evaluate(loop, argument)


async def wait_for_more(page: Page, selector: str, attribute: str, least: int) -> int:
    """Wait until the attribute's number is at least `least`; gives it."""
    condition = """([selector, attribute, least]) =>
      Number(document.querySelector(selector)?.getAttribute(attribute) ?? -1) >= least"""
    await wait_until(page, condition, [selector, attribute, least])
    return await read_number(page, selector, attribute)


class PrefixProxy(TcpProxy):
    """A reverse proxy that serves another server under `/prefix/` and strips it, websockets too."""

    refusal = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

    def __init__(self, target: int, prefix: str) -> None:
        super().__init__(target)
        self._prefix = prefix

    async def first_bytes(self, reader: asyncio.StreamReader) -> bytes | None:
        """The request's head without the prefix."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, rest = head.split("\r\n", 1)
        method, path, version = first.split(" ")
        if not path.startswith(f"/{self._prefix}/"):
            return None
        # One request per connection, so that every request's line passes here.
        if "upgrade: websocket" not in rest.lower():
            rest = re.sub(r"(?im)^connection:.*$", "connection: close", rest.replace("\r\n", "\n"))
            rest = rest.replace("\n", "\r\n")
        return f"{method} {path.removeprefix(f'/{self._prefix}')} {version}\r\n{rest}".encode()
