"""Tests of the whole system, which other programs of the machine can disturb, get another chance."""

import json
import os
import re
import signal
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from attract.commands.output import AGENT_VARIABLES

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

    from shared_chromium import SharedChromium

# Before torch is imported. Tests run side by side, and their tensors are small: threads that wait for each
# other by spinning took half as much time again. What is measured or trained sets its own number.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Who runs the tests, an agent or a job of GitHub's, types no command in them: a test says itself who does.
for _variable in (*AGENT_VARIABLES, "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(_variable, None)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control starts background jobs so, and every process of the tests would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
TESTS = Path(__file__).parent
# They start browsers, servers and trainers, kill them, and wait for each other by the clock.
WHOLE_SYSTEM = tuple(
    TESTS / folder
    for folder in (
        "end_to_end",
        "faults",
        "benchmarks",
        "backend/browser",
        "backend/processes",
        "backend/learner/group/test_averaging.py",
        "backend/run/service",
        "backend/server",
        "backend/vector",
    )
)
RERUNS = 2
MAX_RERUN = 8
"""Tests of one run that may need another chance: more are no chance of the machine."""
MAX_LINES_OF_CAUSE = 12
LINE_OF_TEST = re.compile(r"tests/\S+:\d+: ")
_rerun: dict[str, list[str]] = {}
"""By test, what each failed try said."""
DURATIONS = TESTS.parent / "build" / "durations.pytest.json"
_durations: defaultdict[str, dict[str, float]] = defaultdict(dict)
"""Seconds by test and by phase (setup, call, teardown): `make slowest` reads them."""


@pytest.fixture(scope="session")
def _chromium() -> "SharedChromium":
    # Most tests need no browser.
    from shared_chromium import SHARED

    return SHARED


@pytest.fixture
def one_browser(_chromium: "SharedChromium", monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in the test's process, and hosts, use the worker's Chromium."""
    from shared_chromium import share_chromium

    share_chromium(_chromium.socket_path(), monkeypatch.setattr)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _playwright() -> AsyncIterator["Playwright"]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        yield playwright


@pytest_asyncio.fixture(loop_scope="session")
async def browser(_playwright: "Playwright", _chromium: "SharedChromium") -> AsyncIterator["Browser"]:
    """The worker's Chromium; what the test opens in it is closed with the test."""
    from shared_chromium import connect_to

    browser = await connect_to(_playwright.chromium, _chromium.address())
    yield browser
    await browser.close()


@pytest.fixture
def attract(monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Runs `attract WORD ...`; its exit code."""

    # Most tests need no command.
    from attract import cli

    def run(*words: str) -> object:
        monkeypatch.setattr("sys.argv", ["attract", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code

    return run


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test of these that fails is run again, and the summary says so; one that fails thrice is red.

    A pause of the machine hits one run of a test, a defect hits each. `-p no:rerunfailures`: one chance.
    """
    for item in items:
        if "_playwright" in getattr(item, "fixturenames", ()):
            # To start Playwright's driver takes 0.3 s of CPU, and it is bound to its loop.
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return
    paths = {item.path for item in items}
    whole = {path for path in paths if any(path.is_relative_to(folder) for folder in WHOLE_SYSTEM)}
    for item in items:
        if item.path in whole:
            item.add_marker(pytest.mark.flaky(reruns=RERUNS, reruns_delay=2))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long each phase of a test took, which test needed another chance, and why."""
    phases = _durations[report.nodeid]
    phases[report.when] = phases.get(report.when, 0.0) + report.duration
    if report.outcome == "rerun":  # type: ignore[comparison-overlap]
        _rerun.setdefault(report.nodeid, []).append(report.longreprtext)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the durations; a run in which many tests needed another chance is red, though each passed."""
    if not hasattr(session.config, "workerinput"):
        DURATIONS.parent.mkdir(exist_ok=True)
        earlier = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
        written = DURATIONS.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps(earlier | _durations, indent=0))
        # At once: another run of pytest may read it.
        written.replace(DURATIONS)
    if len(_rerun) > MAX_RERUN and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were run again, and why a run with many of them is red."""
    for test, tries in _rerun.items():
        for text in tries:
            terminalreporter.write_line(f"another chance: {test}")
            lines = text.splitlines()
            said = [line for line in lines if line.startswith("E ")] or lines
            said = [*filter(LINE_OF_TEST.match, lines), *said]
            terminalreporter.write_line("\n".join(said[:MAX_LINES_OF_CAUSE]))
    if len(_rerun) > MAX_RERUN:
        text = f"{len(_rerun)} tests needed another chance, {MAX_RERUN} may: look for what they share"
        terminalreporter.write_line(text, red=True)
