"""The tests of findings, run by Playwright's own runner: red on the fault, green on the clean build."""

import json
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from attract.playtest.judge import NOT_AGAIN
from attract.playtest.playwright_test import (
    LIBRARY,
    SUFFIX,
    WEB,
    TestedModule,
    TestedPage,
    playwright_test,
    write_library,
)
from attract.playtest.report import BuildFinding, OracleId
from attract.runs.episodes import written
from attract.schema.base import Seed
from attract.schema.episode_actions import pack_actions
from attract.schema.recorded_episode import EpisodeMarks, EpisodeSeat, RecordedEpisode
from playwright_runs import install_playwright, run_playwright

ROOT = Path(__file__).parents[3]
MODULE = """
import { box, defineGame, discrete } from "attract";

interface Held { place: number; tick: number }

export default defineGame({
  id: "Held-v1",
  tickSeconds: 0.1,
  maxSeconds: 30,
  observation: box({ low: -1e6, high: 1e6, shape: [2] }),
  action: discrete(["left", "right", "jump"]),
  create: () => {
    let held: Held = { place: 0, tick: 0 };
    return {
      start() {
        held = { place: 0, tick: 0 };
        return [0, 0];
      },
      update(_: number, action: number) {
        const now = held;
        now.tick++;
        now.place += action - 1;
        return { observation: [now.place, now.tick], reward: 1, terminated: now.tick >= 60 };
      },
    };
  },
});
"""
STEP = "now.place += action - 1;"


@dataclass(frozen=True)
class Case:
    """A fault in a game, and the finding that shows it."""

    name: str
    oracle: OracleId
    folder: str | None
    """A bundled page game; None: the module above."""
    old: str
    new: str
    actions: list[int]
    step: int | None = None
    returns: float = 0.0
    known: tuple[str, ...] = ()
    text: str = "it was\nseen */ by a player"


WANDERING = [0, 2, 1, 2, 2] * 12
CASES = [
    Case("throws", "error", None, STEP,
         f"{STEP} if (now.tick === 30) throw new TypeError('no wall');", WANDERING),
    Case("says", "error", None, STEP, f"{STEP} if (now.tick === 31) console.error('no door 12');", WANDERING),
    Case("nan", "nan", None, STEP, "now.place += now.tick > 40 ? Number.NaN : action - 1;", WANDERING),
    Case("stuck", "soft-lock", None, f"now.tick++;\n        {STEP}",
         f"if (now.tick < 20) {{ now.tick++; {STEP} }}", [2] * 90, step=20),
    Case("endless", "endless", None, "terminated: now.tick >= 60", "terminated: false", [1] * 90),
    Case("unlosable", "cannot-be-lost", None, "terminated: now.tick >= 60", "terminated: false", [1] * 90),
    Case("exploit", "score-exploit", None, "reward: 1", "reward: action === 2 ? 50 : 1",
         [2] * 20, returns=1000),
    Case("retry", "retry-broken", None, "held = { place: 0, tick: 0 };",
         "held = { place: held.place, tick: 0 };", WANDERING),
    Case("again", "retry-broken", None, "start() {",
         "start() { if (held.tick > 0) throw new Error('no second life');", WANDERING,
         text=f"{NOT_AGAIN}: no second life"),
    Case("meteors-throws", "error", "meteors", "survived += seconds;",
         "survived += seconds; if (survived > 1) meteors.none.x = 1;", [0, 2] * 60),
    Case("meteors-says", "error", "meteors", "survived += seconds;",
         "survived += seconds; if (survived > 1 && !held.said) { held.said = true; console.error('lost'); }",
         [0, 2] * 60),
    Case("meteors-file", "error", "meteors", "survived += seconds;",
         "survived += seconds; if (survived > 1 && !held.said) { held.said = true; fetch('a.json'); }",
         [0, 2] * 60),
    Case("meteors-stuck", "soft-lock", "meteors", "if (state === \"playing\") update(seconds);",
         "if (state === \"playing\" && !(survived > 1)) update(seconds);", [0, 2] * 60, step=30),
    Case("moles-throws", "error", "moles", "score -= 0.25;",
         "{ score -= 0.25; if (score < -0.3) field.missing.remove(); }", list(range(10)) * 6),
    Case("moles-stuck", "soft-lock", "moles", "if (left <= 0) end();",
         "if (left <= 24) { running = false; clearTimeout(moleTimer); }", list(range(10)) * 6, step=45),
]  # fmt: skip


def episode(game_id: str, actions: list[int], seconds_per_step: float, returns: float) -> RecordedEpisode:
    return RecordedEpisode(
        game_id=game_id,
        seed=Seed(low=3, high=4),
        instance=2,
        episode=0,
        seats=[EpisodeSeat(player="script")],
        seconds_per_step=seconds_per_step,
        actions=pack_actions(np.array(actions, dtype=np.uint8)[:, None]),
        marks=EpisodeMarks(interval=1, hashes=""),
        returns=[returns],
        num_steps=len(actions),
        num_ticks=0,
        end_reason="stopped",
    )


def lay(folder: Path, case: Case, *, is_faulty: bool) -> None:
    """The game as a developer has it, and beside it what `attract ci` writes."""
    folder.mkdir(parents=True)
    tests = folder / "tests"
    tests.mkdir()
    if case.folder is None:
        (folder / "src").mkdir()
        assert case.old in MODULE
        text = MODULE.replace(case.old, case.new) if is_faulty else MODULE
        (folder / "src" / "game.ts").write_text(text)
        game: TestedModule | TestedPage = TestedModule("../src/game.ts")
        played, adapter = episode("Held-v1", case.actions, 0.1, case.returns), None
    else:
        site = folder / "dist"
        shutil.copytree(WEB / "page-games" / case.folder, site)
        script = site / f"{case.folder}.js"
        text = script.read_text()
        assert case.old in text
        if is_faulty:
            script.write_text(text.replace(case.old, case.new))
        game = TestedPage("../dist", "index.html")
        adapter = (site / "game.page.js").read_bytes()
        seconds = 0.2 if case.folder == "moles" else 4 / 60
        played = episode(f"{case.folder.capitalize()}-v1", case.actions, seconds, case.returns)
    finding = BuildFinding(
        id=case.oracle,
        oracle=case.oracle,
        text=case.text,
        step=case.step,
        episode=played,
        episode_file=f"{case.name}.episode.json",
    )
    (tests / f"{case.name}.episode.json").write_bytes(written(played))
    text = playwright_test(finding, game, case.known)
    assert text is not None
    (tests / f"{case.name}{SUFFIX}").write_text(text)
    write_library(tests, adapter)


def share_library(folder: Path, tests: Path) -> None:
    """Playwright compiles each copy of the library: those that are loaded alike are one."""
    if not (folder / LIBRARY).exists():
        shutil.copy(tests / LIBRARY, folder)
    (tests / LIBRARY).unlink()
    (tests / LIBRARY).symlink_to(folder / LIBRARY)


def lay_build(folder: Path, build: str, case: Case, tests: str | None) -> str:
    """As `lay`, in a folder of its own; gives its name.

    Args:
        tests: None, or the package type of the tests' folder, beside a game that is compiled to CommonJS.
    """
    name = "-".join((build, tests or "", case.name))
    lay(folder / name, replace(case, name=name), is_faulty=build == "faulty")
    if tests is None:
        share_library(folder, folder / name / "tests")
    if tests is not None:
        (folder / name / "package.json").write_text("{}")
        (folder / name / "tests" / "package.json").write_text(json.dumps({"type": tests}))
    return name


SHORT = ["throws", "unlosable", "moles-stuck"]
COMPILED = [case for case in CASES if case.name in ("throws", "meteors-throws")]


@pytest.mark.parametrize(
    ("cases", "tests"),
    [
        pytest.param([case for case in CASES if case.name in SHORT], "commonjs", id="some"),
        # `make test` has a fault of each kind of game, in each way that it is loaded, above.
        pytest.param([case for case in CASES if case.name not in SHORT], "module", id="others",
                     marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_it_is_red_on_the_fault_and_green_on_the_clean_build(
    cases: list[Case], tests: str, tmp_path: Path
) -> None:
    # One run of all: most of what it takes is to start Playwright.
    wanted = {
        lay_build(tmp_path, build, case, compiled): build == "clean"
        for build in ("faulty", "clean")
        for case, compiled in [(case, None) for case in cases] + [(case, tests) for case in COMPILED]
    }
    (says,) = (case for case in CASES if case.name == "says")
    # A known error of the baseline is no failure.
    for name, known in (("known", "no door #"), ("another", "no window")):
        lay(tmp_path / name, replace(says, name=name, known=(known,)), is_faulty=True)
        share_library(tmp_path, tmp_path / name / "tests")
        wanted[name] = name == "known"
    install_playwright(tmp_path)
    outcomes = {name: (ran.is_green, ran.said) for name, ran in run_playwright(tmp_path).items()}
    assert {name: is_green for name, (is_green, _) in outcomes.items()} == wanted, outcomes
    # Red by its own word, not by a mistake in the test's text.
    assert all(is_green or "failures).toEqual" in said for is_green, said in outcomes.values())


def test_a_finding_of_many_episodes_has_no_test() -> None:
    game = TestedModule("../game.ts")
    slow = BuildFinding(id="slow", oracle="slow", text="a tick takes 30 ms")
    assert playwright_test(slow, game) is None
    nowhere = BuildFinding(id="error", oracle="error", text="it failed")
    assert playwright_test(nowhere, game) is None
    played = episode("Held-v1", [1], 0.1, 0.0)
    with pytest.raises(RuntimeError, match="episode_file"):
        playwright_test(nowhere.model_copy(update={"episode": played}), game)


def test_a_finding_cannot_write_code_into_its_test() -> None:
    played = episode("Held-v1", [1], 0.1, 0.0)
    text = 'it said "); evil(` // \n*/ evil(); ${evil()}'
    finding = BuildFinding(
        id="error", oracle="error", text=text, episode=played, episode_file="e.episode.json"
    )
    test = playwright_test(finding, TestedModule('../"game".ts'))
    assert test is not None
    calls = [line for line in test.splitlines() if "evil" in line]
    # Once in the first comment, once within a string.
    assert (
        len(calls) == 2 and calls[0].startswith("// ") and json.dumps(f"error: {text}"[:9])[:-1] in calls[1]
    )
    subprocess.run(
        [str(ROOT / "node_modules" / ".bin" / "esbuild"), "--loader=ts", "--log-level=error"],
        input=test, text=True, check=True, capture_output=True,
    )  # fmt: skip


def test_what_every_test_loads_is_laid_beside_it(tmp_path: Path) -> None:
    assert [path.name for path in write_library(tmp_path, None)] == [LIBRARY, LIBRARY.replace(".js", ".d.ts")]
    assert [path.name for path in write_library(tmp_path, b"export default 1;")] == [
        LIBRARY,
        LIBRARY.replace(".js", ".d.ts"),
        "adapter.js",
    ]
