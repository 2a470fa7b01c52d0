"""A Playwright test for a finding: plays its episode in the built game, fails while the fault is there."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup

from attract.files import copy_file, write_atomically
from attract.playtest.judge import NOT_AGAIN
from attract.playtest.report import BuildFinding, OracleId
from attract.playtest.templates import WEB, rendered
from attract.runs.plain_text import plain

LIBRARY: Final = "attract-playwright.js"
"""What every test imports, in one file that needs nothing but Playwright: the npm package `attract-rl`."""
ADAPTER: Final = "adapter.js"
"""The adapter of a page game, bundled, beside the tests."""
TESTABLE: Final[frozenset[OracleId]] = frozenset(
    (
        "error",
        "nan",
        "soft-lock",
        "endless",
        "won-without-input",
        "cannot-be-lost",
        "retry-broken",
        "score-exploit",
    )
)
"""Oracles whose finding shows in one episode."""
SUFFIX: Final = ".spec.ts"


@dataclass(frozen=True)
class TestedModule:
    """A game of one module, which the test imports as Playwright imports TypeScript."""

    __test__ = False

    source: str
    """The module, as the test's folder names it: `../src/game.ts`."""


@dataclass(frozen=True)
class TestedPage:
    """A game in its built page; its adapter lies beside the test."""

    __test__ = False

    site: str
    """The folder that the page is served from, as the test's folder names it; or an address."""
    page: str
    """The page as a path in it; empty where `site` is the page's address."""
    adapter: str = ADAPTER
    """Name of its adapter, beside the test."""


def playwright_test(
    finding: BuildFinding, game: TestedModule | TestedPage, known: Sequence[str] = ()
) -> str | None:
    """The text of a `.spec.ts`; None: the oracle's finding shows in no single episode.

    The test needs `LIBRARY` and the finding's episode file beside it, no server and no Attract. It plays the
    recorded actions under a virtual clock with the recorded seed.

    Args:
        known: texts of the errors that the baseline has too, which are no failures.

    Raises: RuntimeError: the finding has no episode file.
    """
    if finding.oracle not in TESTABLE or finding.episode is None:
        return None
    if finding.episode_file is None:
        raise RuntimeError(f"a finding with an episode has an episode_file, got {finding.id!r} without one")
    order: dict[str, object] = {"oracle": finding.oracle, "known": list(known)}
    if finding.text.startswith(NOT_AGAIN):
        order["begins"] = True
    return rendered(
        "finding.spec.ts.j2", json.dumps,
        finding=finding, game=game, order=Markup(json.dumps(order)), library=LIBRARY,
        name=f"{finding.id}: {plain(finding.text, 200)}", episode=Path(finding.episode_file).name,
    )  # fmt: skip


def write_library(folder: Path, adapter: bytes | None, name: str = ADAPTER) -> list[Path]:
    """Put into `folder` what its tests load: `LIBRARY`, its types, and of a page game the bundled adapter."""
    names = (LIBRARY, LIBRARY.replace(".js", ".d.ts"))
    written = [copy_file(WEB / "playwright" / each, folder / each) for each in names]
    if adapter is not None:
        write_atomically(folder / name, adapter)
        written.append(folder / name)
    return written
