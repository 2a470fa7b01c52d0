"""`attract probe`: opens a page in a headless browser, prints what it found, and writes an adapter."""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, async_playwright
from pydantic import ValidationError

from attract.browser.chromium import launch_switches, require_chromium, start_failure
from attract.commands import flags
from attract.commands.destination import check_writable, shown_path, write_output
from attract.commands.given_page import page_to_play
from attract.commands.json_output import MAX_ERROR_LENGTH, json_text, print_answer, shortened
from attract.commands.output import CommandConsole, say
from attract.commands.probe_drafts import (
    EPISODES,
    LONG_PLAY_SECONDS,
    MIN_EPISODES,
    PLAY_SECONDS,
    Write,
    first_choice,
    settle,
)
from attract.commands.train_display import printable
from attract.errors import AttractError, ConfigurationError, GameError
from attract.games.page_files import PageAddress, PageFiles, PageFolder
from attract.games.page_places import ADAPTER, PagePlace, page_place
from attract.games.project import PACKAGE_DIR
from attract.playtest.unadapted import MAX_SECONDS, playable
from attract.processes.exit_codes import DONE
from attract.schema.api import CheckView
from attract.schema.devices import DEVICES
from attract.schema.probe import (
    PageProbe,
    ProbeCandidates,
    ProbeChoice,
    ProbeDraft,
    ProbeReport,
    ProbeVerified,
)
from attract.server.app_server import run_async, serving_app
from attract.server.page_games import PROBE_PAGE, PageGameMiddleware, nothing_else
from attract.settings.run import ServerSettings

SIZE: Final = (800, 600)
PROBE_MS: Final = 240_000
CONNECT_SECONDS: Final = 5.0
KEY: Final = "0" * 32
HOST_SECONDS: Final = 30.0
WANTED: Final = {
    "keys": "what it may press",
    "observe": "what an agent sees",
    "score": "the score",
    "over": "when it is over",
    "playing": "when it has begun",
}
"""The options of an adapter that training needs, in words."""
UNPLAYABLE: Final = {"keys", "observe"}
"""Without these an adapter is not played."""
RELOADS: Final = "the page reloads itself"
CUT: Final = {name: (name,) for name in ("seen", "unheld", "errors", "contracts")} | {
    name: ("candidates", name) for name in ProbeCandidates.model_fields
}
"""Lists of a report that are cut to keep its JSON short."""


@flags.options
class ProbeOptions:
    out: Path | None = None
    """Adapter to write; by default game.page.ts in the page's folder, or next to a build folder."""
    size: tuple[int, int] = SIZE
    """Width and height of the page's window in pixels."""
    force: bool = False
    """Replace an existing adapter."""
    page_device: flags.PageDevice = None
    include: flags.Include = None
    json_output: flags.Json = False


def probe(page: str, /, options: ProbeOptions = ProbeOptions()) -> int:
    """Inspect a PAGE with a game, play it at random, and write a first adapter for it.

    Prints what it found: keys with an effect, readable state variables, likely score and end, how to start
    the game, its engine, and interfaces for agents that it has.

    Parameters
    ----------
    page
        Folder with an index.html, .html file, or address on this machine.

    Examples
    --------
    attract probe dist  # a build folder
    attract probe http://localhost:5173  # a development server
    attract probe dist --size 400 600 --force  # another window size; replaces the adapter
    """
    return run_async(probe_page(page, options, flags.server_settings(options)))


async def probe_page(page: str, options: ProbeOptions, server: ServerSettings) -> int:
    """Probe the page, print what was found, and write its adapter; 0.

    Raises:
        ConfigurationError: there is no such page, or an adapter is there already.
        GameError: kind `load`, when the page cannot be loaded.
    """
    console = CommandConsole(stderr=options.json_output)
    place = page_place(page, server.runs_dir, server.include)
    path = _adapter_path(place, options.out, force=options.force)
    report = await draft_adapter(place, path, server, options.size, console)
    shown = shown_path(path)
    unfinished = f"add {', '.join(missing(report.unfinished))} there and delete `unfinished`, "
    say(
        console,
        f"\nwrote {shown}: {unfinished if report.unfinished else ''}review it, then run\n"
        f"  attract check {shown}\n  attract train {shown}",
    )
    if options.json_output:
        print_answer(shortened(report, json_text, CUT))
    return DONE


async def draft_adapter(
    place: PagePlace, path: Path, server: ServerSettings, size: tuple[int, int], console: CommandConsole
) -> ProbeReport:
    """Probe the page, write its adapter, and play that at random until it plays as the page did.

    Raises: GameError: kind `load`, when the page cannot be loaded.
    """
    async with probe_tab(place.files, server) as tab:
        found = await _found(tab, place, on_screen(server, size))
        for line in found_lines(found):
            say(console, line)

        async def write(choice: ProbeChoice, unfinished: list[str]) -> ProbeDraft:
            text = await tab.evaluate(
                "(given) => attractProbe.write(...given)", [choice.model_dump(mode="json"), unfinished]
            )
            return ProbeDraft.model_validate(text)

        draft, verified = await write(first_choice(found), []), None
        if not set(draft.unfinished) & UNPLAYABLE:
            say(console, "playing the adapter at random")
            try:
                draft, verified = await _settled(found, place, path, server, write, console)
            except AttractError as error:
                say(console, f"  not played: {error}")
        write_adapter(path, place, draft.adapter)
    for line in [] if verified is None else verified_lines(verified, draft):
        say(console, line)
    written = {name: getattr(draft, name) for name in ("score", "end", "restart", "taps", "unfinished")}
    if found.end == RELOADS and draft.end is not None:
        written["end"] = found.end
    return ProbeReport(**{**dict(found), **written}, adapter=str(path), verified=verified, left_out={})


async def _settled(
    found: PageProbe,
    place: PagePlace,
    path: Path,
    server: ServerSettings,
    write: Write,
    console: CommandConsole,
) -> tuple[ProbeDraft, ProbeVerified]:
    """As `settle`, by a browser that checks what lies at `path`."""
    # A check leaves nothing behind.
    with tempfile.TemporaryDirectory() as folder:
        checking = server.model_copy(update={"runs_dir": Path(folder)})
        # The gateway takes half a second to load, and `attract look` does without it.
        from attract.commands.own_host import gateway_with_host

        async with gateway_with_host(checking, console) as gateway:

            async def play(draft: ProbeDraft) -> CheckView:
                write_adapter(path, place, playable(draft.adapter, draft.unfinished, server.page_device))
                module = await gateway.service.games.resolve(str(path))
                checker = gateway.service.membership.checker
                view = await checker.try_out(module, EPISODES, PLAY_SECONDS, {}, HOST_SECONDS)
                if view.play is None or view.play.episodes >= MIN_EPISODES:
                    return view
                # A slow page.
                return await checker.try_out(module, MIN_EPISODES, LONG_PLAY_SECONDS, {}, HOST_SECONDS)

            return await settle(found, write, play)


async def adapter_of(given: str, server: ServerSettings) -> Path:
    """The adapter of a page: the one next to it, or else a new one.

    Raises:
        ConfigurationError: there is no such page, there are several adapters, or what was written does not
            say all that training needs.
        GameError: kind `load`, when the page cannot be loaded.
    """
    console = CommandConsole(stderr=True)
    place, known = page_to_play(given, server, console)
    if known is not None:
        return known
    path = place.folder / ADAPTER
    if path.exists():
        raise ConfigurationError(
            f"{shown_path(path)} is for another page than {given}",
            setting="game",
            fix=f"write `page: {json.dumps(place.page)}` there, or move it away to have a new one written",
        )
    say(console, f"{given} has no adapter yet: probing the page")
    report = await draft_adapter(place, path, server, SIZE, console)
    if report.unfinished:
        raise ConfigurationError(
            f"wrote {shown_path(path)}, which is incomplete: {', '.join(missing(report.unfinished))}",
            setting="game",
            fix=f"add it there and delete `unfinished`, then: attract train {shown_path(path)}",
        )
    say(console, f"wrote {shown_path(path)}; its score and end are guesses: review it\n")
    return path


async def found_in_time(
    place: PagePlace,
    server: ServerSettings,
    size: tuple[int, int],
    budget_seconds: float,
    limit_seconds: float,
) -> dict[str, Any] | None:
    """What a probe finds and the adapter of it, in a limited time and not played; None: it took longer.

    Args:
        budget_seconds: after which nothing further is tried; what is tried then is finished.
        limit_seconds: with the start of the browser.

    Raises: GameError: kind `load`, when the page cannot be loaded.
    """
    screen = {**on_screen(server, size), "budgetMs": 1000 * budget_seconds}
    try:
        async with asyncio.timeout(limit_seconds), probe_tab(place.files, server) as tab:
            found = await _found(tab, place, screen)
            choice = first_choice(found).model_copy(update={"max_seconds": MAX_SECONDS})
            adapter = await tab.evaluate(
                "(given) => attractProbe.write(...given)", [choice.model_dump(mode="json"), []]
            )
            return {**found.model_dump(mode="json"), **adapter}
    except TimeoutError:
        return None


def on_screen(server: ServerSettings, size: tuple[int, int], *, touch: bool = False) -> dict[str, Any]:
    """What a page without an adapter is opened on, in the words of `web/page-probe`."""
    name = server.page_device or "desktop"
    return {"device": name, "size": DEVICES[name].size or size, "touch": touch or DEVICES[name].touch}


async def _found(tab: Page, place: PagePlace, screen: dict[str, Any]) -> PageProbe:
    page = {"page": place.page, **screen}
    try:
        try:
            return PageProbe.model_validate(await tab.evaluate("(page) => attractProbe.run(page)", page))
        finally:
            # Without these files it would be played, or fail, in vain.
            if isinstance(place.files, PageFolder):
                place.files.check_whole()
    except PlaywrightError as error:
        raise GameError("load", f"the page could not be probed: {said_of(error).splitlines()[0]}") from None
    except ValidationError as error:
        raise GameError(
            "load", f"what was found in the page cannot be read: {error.errors()[0]['msg']}"
        ) from None


@asynccontextmanager
async def probe_tab(files: PageFiles, server: ServerSettings) -> AsyncGenerator[Page]:
    """A tab of a headless browser with `web/page-probe`, at the origin of one page's files.

    Raises: ConfigurationError: the page's server does not answer, or there is no Chromium that starts.
    """
    await _check_answers(files)
    chromium = require_chromium()
    web_dir = server.web_dir or PACKAGE_DIR / "web"
    # The page is loaded dozens of times, and its browser is gone before anyone builds it again.
    app = PageGameMiddleware(nothing_else, games=_One(files), web_dir=web_dir, kept_seconds=600)
    async with serving_app(app) as port, async_playwright() as playwright:
        url = f"http://g1-{KEY}.localhost:{port}{PROBE_PAGE}"
        try:
            browser = await playwright.chromium.launch(
                executable_path=chromium.path, headless=True, args=launch_switches(url)
            )
        except PlaywrightError as error:
            raise start_failure(chromium, error) from None
        try:
            # What is drawn for a screen with smaller pixels is pictured with as many.
            ratio = DEVICES[server.page_device or "desktop"].pixel_ratio
            tab = await browser.new_page(device_scale_factor=ratio)
            tab.set_default_timeout(PROBE_MS)
            await tab.goto(url)
            yield tab
        finally:
            await browser.close()


async def _check_answers(files: PageFiles) -> None:
    if not isinstance(files, PageAddress):
        return
    address = urlsplit(files.address)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(address.hostname, address.port or 80)
    except (OSError, TimeoutError):
        raise ConfigurationError(
            f"nothing answers at {files.address}",
            setting="PAGE",
            fix="start the page's server and give the address that it prints",
        ) from None
    writer.close()


class _One:
    """Knows one page, by whatever key."""

    def __init__(self, files: PageFiles) -> None:
        self._files = files

    def page_files(self, key: str) -> PageFiles | None:
        return self._files if key == KEY else None


def said_of(error: PlaywrightError) -> str:
    """What the page or the adapter threw, without the driver's words and the stack."""
    text = str(error).removeprefix("Page.evaluate: ").removeprefix("Error: ")
    if "context was destroyed" in text or "Target page" in text:
        return "it went to another address, with all that looks at it"
    lines = [line for line in text.splitlines() if not line.startswith("    at ")]
    return printable("\n".join(lines))[:MAX_ERROR_LENGTH]


def found_lines(found: PageProbe) -> list[str]:
    starter, seen = found.starter, found.seen
    begun = {
        "none": "by itself" if found.restart is None or found.restarts_by_menu else f"by {found.restart}",
        "key": f"by the key {starter.code}",
        "click": "by a click in the middle of the page",
        "spot": f"by a click on {starter.name!r}, which it draws",
        "element": f"by a click on {starter.selector} ({starter.text!r})",
    }[starter.kind]
    if found.starter.kind == "none" and not found.moves and found.cut:
        begun = "not found in the time that there was"
    none = "no responsive key or pointer was found"
    lines = [
        f"{found.title}: made with {found.engine or 'no known engine'}",
        f"  api:      {', '.join(found.contracts) or 'none known'}",
        f"  start:    {begun}",
        f"  controls: {', '.join(found.moves) or none}" + (" (each press counts once)" if found.taps else ""),
        f"  state:    {found.num_places} readable variables; the observation takes {len(seen)}"
        + ("; the agent observes its canvas (train with --preset pixels)" if found.sees_pixels else ""),
        *(f"            {text}" for text in seen[:8]),
        *([f"            and {len(seen) - 8} more"] if len(seen) > 8 else []),
        f"  score:    {found.score or 'not found'}",
        f"  end:      {found.end or 'not found: an episode ends by its time limit'}",
        f"  restart:  {found.restart or 'not found: each episode loads a new page'}",
    ]
    lines += [f"  listens:  {', '.join(found.listens) or 'to no key or pointer'}"] if not found.moves else []
    lines += (
        [f"  cut:      the time was up while {', '.join(found.cut)} were looked for"] if found.cut else []
    )
    lines += [f"  note:     it {what}" for what in found.unheld]
    lines += [f"  threw:    {text}" for text in found.errors[:3]]
    return [printable(line) for line in lines]


def verified_lines(verified: ProbeVerified, draft: ProbeDraft) -> list[str]:
    """The printed lines of how the adapter plays, and what was changed to that end."""
    first, play = verified.tried[0], verified.play
    mean = "no episode ended" if play.return_mean is None else f"mean return {play.return_mean:.4g}"
    error = "" if play.standard_error is None else f" +- {play.standard_error:.2g} (standard error)"
    length = "" if play.length_mean is None else f", mean length {play.length_mean:.4g} steps"
    lines = [
        f"  random play: {play.episodes} episodes, {mean}{error}{length}; "
        f"the game ended {play.ended} of them, the score grew in {play.paid_steps} of {play.steps} steps"
    ]
    if play.choice.alive:
        lines.append("  added:    a small reward for each second alive: random play rarely scored")
    if play.choice.reached:
        lines.append("  added:    a small reward for each place reached first: random play rarely scored")
    if play.choice.max_seconds != first.choice.max_seconds:
        lines.append(f"  added:    episodes of {play.choice.max_seconds} s: random play did not end one")
    same = {"alive": False, "reached": False, "max_seconds": first.choice.max_seconds}
    if play.choice.model_copy(update=same) != first.choice:
        lines.append(f"  changed:  {'; '.join(first.problems)}")
        lines.append(
            f"            now: score {draft.score}, end {draft.end or 'by time'}, "
            f"restart {draft.restart or 'by a fresh page'}, {'taps' if draft.taps else 'held keys'}"
        )
    lines += [f"  open:     {problem}" for problem in play.problems]
    return [printable(line) for line in lines]


def missing(unfinished: list[str]) -> list[str]:
    """The missing parts of the adapter, in words."""
    return [WANTED.get(name, name) for name in unfinished]


def write_adapter(path: Path, place: PagePlace, text: str) -> None:
    """Write the adapter; the path of its page is relative to the adapter's folder."""
    page = place.page
    if "://" not in page:
        page = (place.folder / page).relative_to(path.parent).as_posix()
    text = text.replace(f"page: {json.dumps(place.page)}", f"page: {json.dumps(page)}", 1)
    write_output(path, text.encode())


def _adapter_path(place: PagePlace, out: Path | None, *, force: bool) -> Path:
    asked = place.folder / ADAPTER if out is None else out
    check_writable(asked)
    # A link in its place is replaced, not followed.
    path = asked.parent.resolve() / asked.name
    if not path.name.endswith((".page.ts", ".page.js")):
        raise ConfigurationError(
            f"{path.name} is not a valid name of an adapter", setting="--out", fix="game.page.ts"
        )
    if "://" not in place.page and not (place.folder / place.page).is_relative_to(path.parent):
        raise ConfigurationError(
            f"an adapter in {path.parent} cannot name {place.folder / place.page}",
            setting="--out",
            fix="put it into the page's folder or a parent folder",
        )
    if os.path.lexists(path) and not force:
        raise ConfigurationError(
            f"{shown_path(path)} already exists",
            setting="--out",
            fix="give another --out, or --force to replace it",
        )
    return path
