"""`attract ci` looks at the pages that it plays: planted faults of sight, and a page that stops who looks."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from attract_command import run_attract

METEORS = Path(__file__).parents[2] / "web" / "page-games" / "meteors"
SIGHTS = ("blank", "flicker", "jump", "outside")


def played(folder: Path, *edits: tuple[str, str], seconds: int = 10) -> tuple[int, dict[str, Any]]:
    """Exit code and report of a copy of Meteors with these changes of its script."""
    game = folder / "game"
    shutil.copytree(METEORS, game, ignore=shutil.ignore_patterns("trained"))
    script = game / "meteors.js"
    text = script.read_text()
    for find, replace in edits:
        assert text.count(find) == 1
        text = text.replace(find, replace)
    script.write_text(text)
    out = str(folder / "out")
    words = ("ci", str(game / "game.page.ts"), "--seconds", str(seconds), "--out", out, "--json")
    outcome = run_attract(*words, runs_dir=folder / "runs", timeout_seconds=240)
    return outcome.code, json.loads(outcome.stdout)


# A browser plays for ten seconds, looks three times at each fault, and takes pictures.
@pytest.mark.long
def test_faults_of_sight_are_findings_with_a_sheet(tmp_path: Path) -> None:
    code, report = played(
        tmp_path,
        (
            "  draw();\n  requestAnimationFrame(frame);",
            "  if (++count % 40) draw();\n  else context.reset();\n  requestAnimationFrame(frame);",
        ),
        ("let audio = null;", "let audio = null;\nlet count = 0;"),
        ("s`, 8, 20)", "s`, WIDTH - 18, 20)"),
    )
    found = {finding["id"]: finding for finding in report["findings"]}
    assert code == 1 and {"flicker", "outside"} <= set(found)
    for name in ("flicker", "outside"):
        assert found[name]["confirmed"] == 2 and found[name]["test_file"] is None
        assert (tmp_path / "out" / found[name]["episode_file"]).is_file()
    # On a busy machine there is time for the first alone.
    sheet = report["findings"][0]["sheet_file"]
    assert (tmp_path / "out" / sheet).stat().st_size > 5_000
    assert "beyond the right edge" in found["outside"]["text"]


# A browser plays for ten seconds, and is waited for as long once more.
@pytest.mark.long
def test_a_page_that_stops_who_looks_costs_its_time_and_no_more(tmp_path: Path) -> None:
    stop = "Element.prototype.checkVisibility = () => {\n  for (;;);\n};\nlet audio = null;"
    _, report = played(tmp_path, ("let audio = null;", stop))
    states = {each["oracle"]: each for each in report["oracles"]}
    for name in SIGHTS:
        assert states[name]["state"] == "not_judged"
        assert states[name]["note"].startswith("could not be judged: the game did not come back")
        # Twelve seconds, or as much longer as the machine is slower.
        assert "during the drill sight" in states[name]["note"]
    assert report["episodes"] > 10
