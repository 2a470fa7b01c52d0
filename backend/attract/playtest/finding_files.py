"""The files of a report's findings: each its episode and its Playwright test, in one folder."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attract.games.kept_game import CODE
from attract.games.library import GameLibrary, GameModule
from attract.playtest.playwright_test import SUFFIX, TestedModule, TestedPage, playwright_test, write_player
from attract.playtest.report import Finding, Report
from attract.runs.episode_files import SUFFIX as EPISODE_SUFFIX
from attract.runs.episode_files import written as written_episode

PAGE_URL: Final = re.compile("https?://")


def game_under_test(
    games: GameLibrary, module: GameModule, project_dir: Path, page: str | None, folder: Path
) -> TestedModule | TestedPage:
    """What the tests in `folder` play.

    Args:
        page: the page that the adapter names: a path beside it, or an address; None: the game is a module.
    """
    name = module.reference.name
    if page is not None:
        if PAGE_URL.match(page):
            return TestedPage(page, "")
        beside = games.adapter_folder(module.reference)
        place = (beside or project_dir) / page
        return TestedPage(_from(folder, place.parent), place.name)
    source = project_dir / name
    # A bundled game has no source of the user's.
    return TestedModule(_from(folder, source) if source.is_file() else f"./{CODE}")


def write_finding_files(
    report: Report, folder: Path, game: TestedModule | TestedPage, code: bytes, known: Sequence[str] = ()
) -> tuple[Report, list[Path]]:
    """Write an episode file and a test for each finding that has an episode.

    Args:
        folder: made where it is missing.
        code: the bundled module, of a page game the bundled adapter.
        known: as of `playwright_test`.

    Returns: the report whose findings name their files, and the files.

    Raises: OSError: one cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    taken: set[str] = set()
    findings: list[Finding] = []
    for finding in report.findings:
        named = finding
        if finding.episode is not None:
            name = _free(re.sub(r"[^a-z0-9_]+", "-", finding.id.lower()).strip("-") or "finding", taken)
            named = finding.model_copy(update={"episode_file": f"{name}{EPISODE_SUFFIX}", "test_file": None})
            written.append(folder / f"{name}{EPISODE_SUFFIX}")
            written[-1].write_bytes(written_episode(finding.episode))
            test = playwright_test(named, game, known)
            if test is not None:
                named = named.model_copy(update={"test_file": f"{name}{SUFFIX}"})
                written.append(folder / f"{name}{SUFFIX}")
                written[-1].write_text(test, encoding="utf-8")
        findings.append(named)
    if any(finding.test_file for finding in findings):
        written += write_player(folder, code if isinstance(game, TestedPage) else None)
        if isinstance(game, TestedModule) and game.source == f"./{CODE}":
            (folder / CODE).write_bytes(code)
            written.append(folder / CODE)
    return report.model_copy(update={"findings": findings}), written


def _free(name: str, taken: set[str]) -> str:
    number = 1
    free = name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free)
    return free


def _from(folder: Path, path: Path) -> str:
    """`path` as a test in `folder` names it."""
    relative = Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    return relative if relative.startswith("..") else f"./{relative}"
