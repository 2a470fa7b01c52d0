"""A Playwright test for a finding: plays its episode in the built game, fails while the fault is there."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attract.files import copy_file, write_atomically
from attract.playtest.judge import NOT_AGAIN
from attract.playtest.report import Finding, OracleId
from attract.runs.plain_text import plain
from attract.schema.recorded_episode import RecordedEpisode

WEB: Final = Path(__file__).parents[1] / "web"
PLAYER: Final = "attract-test.js"
"""What every test loads: the virtual clock and the player of episodes, in one file without dependencies."""
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
TEST: Final = """\
// <about>
// Written by `attract ci`: it fails while the fault is there. Keep it with the files beside it that it names.
// <moment>
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { expect, test } from "@playwright/test";
import <player>;

// biome-ignore lint/suspicious/noExplicitAny: the script above makes it
declare const attractTest: any;

/** <what>. */
const GAME = process.env.<variable> ?? <place>;

test(<name>, async (<fixtures>) => {
  test.setTimeout(120_000);
  const folder = path.dirname(test.info().file);
  const read = (name: string) => readFileSync(path.join(folder, name), "utf8");
  const order = { ...<order>, episode: JSON.parse(read(<episode>)) };
<play>
  for (const description of played.notes) test.info().annotations.push({ type: "play", description });
  expect(played.failures).toEqual([]);
});
"""
MODULE_PLAY: Final = """\
  // By its path: Playwright compiles TypeScript, to CommonJS where package.json has no "type": "module".
  const file = path.resolve(folder, GAME);
  let module: { default: unknown };
  try {
    module = createRequire(file)(file);
  } catch {
    module = await import(file);
  }
  const played = await attractTest.playModule(module, order);"""
PAGE_PLAY: Final = """\
  const place = {
    script: path.join(folder, <script>),
    game: read(<adapter>),
    site: /^https?:/.test(GAME) ? GAME : path.resolve(folder, GAME),
    page: <page>,
  };
  const played = await attractTest.playInPage(page, place, order);"""


@dataclass(frozen=True)
class TestedModule:
    """A game of one module, which the test imports as Playwright imports TypeScript."""

    __test__ = False

    source: str
    """The module, as the test's folder names it: `../src/game.ts`."""


@dataclass(frozen=True)
class TestedPage:
    """A game in its built page; its adapter is `ADAPTER` beside the test."""

    __test__ = False

    site: str
    """The folder that the page is served from, as the test's folder names it; or an address."""
    page: str
    """The page as a path in it; empty where `site` is the page's address."""


def playwright_test(
    finding: Finding, game: TestedModule | TestedPage, known: Sequence[str] = ()
) -> str | None:
    """The text of a `.spec.ts`; None: the oracle's finding shows in no single episode.

    The test needs `PLAYER` and the finding's episode file beside it, no server and no Attract. It plays the
    recorded actions under a virtual clock with the recorded seed.

    Args:
        known: texts of the errors that the baseline has too, which are no failures.

    Raises: RuntimeError: the finding has no episode file.
    """
    if finding.oracle not in TESTABLE or finding.episode is None:
        return None
    if finding.episode_file is None:
        raise RuntimeError(f"a finding with an episode has an episode_file, got {finding.id!r} without one")
    order: dict[str, object] = {"oracle": finding.oracle, "step": finding.step, "known": list(known)}
    if finding.text.startswith(NOT_AGAIN):
        order["begins"] = True
    is_module = isinstance(game, TestedModule)
    values = {
        "about": f"{_comment(finding.id)}: {_comment(finding.text)}",
        "moment": _moment(finding.episode, finding.seconds),
        "player": json.dumps(f"./{PLAYER}"),
        "what": "The game" if is_module else "The folder of the built page, or its address",
        "variable": "ATTRACT_GAME" if is_module else "ATTRACT_SITE",
        "place": json.dumps(game.source if isinstance(game, TestedModule) else game.site),
        "name": json.dumps(f"{finding.id}: {plain(finding.text, 200)}"),
        "fixtures": "" if is_module else "{ page }",
        "episode": json.dumps(Path(finding.episode_file).name),
        "order": json.dumps(order),
        "script": json.dumps(PLAYER),
        "adapter": json.dumps(ADAPTER),
        "page": json.dumps("" if isinstance(game, TestedModule) else game.page),
    }
    play = MODULE_PLAY if is_module else PAGE_PLAY
    text = TEST.replace("<play>", play)
    return re.sub(r"<([a-z]+)>", lambda match: values[match[1]], text)


def write_player(folder: Path, adapter: bytes | None) -> list[Path]:
    """Put into `folder` what all its tests load: `PLAYER`, and of a page game the bundled adapter."""
    written = [copy_file(WEB / "finding-test" / PLAYER, folder / PLAYER)]
    if adapter is not None:
        write_atomically(folder / ADAPTER, adapter)
        written.append(folder / ADAPTER)
    return written


def _moment(episode: RecordedEpisode, seconds: float | None) -> str:
    at = "" if seconds is None else f", it happens at {seconds:.1f} s"
    return f"Its episode has {episode.num_steps} steps ({episode.seconds:.1f} s){at}."


def _comment(text: str) -> str:
    """Text that ends no comment's line."""
    return re.sub(r"\s+", " ", plain(text, 300))
