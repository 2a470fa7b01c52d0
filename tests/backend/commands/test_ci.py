"""`attract ci` and `attract difficulty`: what they play and judge, and the files they write."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attract.commands.ci import CiOptions
from attract.commands.ci_outputs import DevicePlay, check_outputs, write_outputs
from attract.commands.ci_playing import (
    Chosen,
    check_game,
    check_lasted,
    check_moved,
    check_played,
    find_baseline,
    game_for_tests,
    is_known,
    read_folder,
    without_dead_ends,
)
from attract.commands.difficulty import cells, not_played, p_text, ranged, read_bands, spread
from attract.errors import AttractError, ConfigurationError
from attract.games.library import GameModule
from attract.playtest.baseline import Baseline, write_baseline
from attract.playtest.difficulty import Step, ValueDifficulty
from attract.playtest.findings import Build
from attract.playtest.outcomes import Outcome, Outcomes
from attract.playtest.plan import Plan, Played
from attract.playtest.playwright_test import TestedModule, TestedPage
from attract.playtest.report import BuildFinding, Report
from attract.playtest.report_page import EpisodePictures
from attract.runs.episodes import read_episode
from attract.schema.base import Seed
from attract.schema.match import Estimate
from fake_worker import counting_game
from recorded_episodes import failed, found, recorded, report
from socket_fleet import DESCRIPTION

PLAN = Plan(game=counting_game(), players=["idle", "random"], seed=Seed(low=0, high=0), seconds=100.0)
BASELINE = Baseline(game="Snake-v1", build="a" * 64, seed=Seed(low=0, high=0), max_steps=3000)


def finding(name: str, text: str) -> BuildFinding:
    return BuildFinding(id=name, oracle=name, text=text)  # type: ignore[arg-type]


def test_what_the_baseline_has_is_known_by_its_text_without_numbers() -> None:
    known = {("error", "x is # in cell #")}
    assert is_known(finding("error", "x is 3 in cell 12"), known)
    assert not is_known(finding("error", "y is 3 in cell 12"), known)
    assert not is_known(finding("nan", "x is 3 in cell 12"), known)


def test_a_restart_that_leaves_something_behind_is_known_in_every_form() -> None:
    known = {("retry-broken", "episode #: observation[#] is # instead of #")}
    assert is_known(finding("retry-broken", "episode 4: it is over"), known)
    assert not is_known(finding("retry-broken", "episode 4: it is over"), set())
    assert not is_known(finding("retry-broken", "a restart differs; in the baseline not"), known)


def test_a_baseline_lies_beside_a_game_that_is_a_file_of_its_own(tmp_path: Path) -> None:
    game = Chosen(str(tmp_path / "src" / "game.ts"))
    assert game.baseline == tmp_path / "src" / "attract-ci.json"
    assert Chosen("snake").baseline is None
    assert Chosen(str(tmp_path / "game.page.ts"), is_guessed=True).baseline is None


def test_the_baseline_that_is_there_is_read_and_one_that_is_named_must_be(tmp_path: Path) -> None:
    game = Chosen(str(tmp_path / "game.ts"))
    path = tmp_path / "attract-ci.json"
    assert find_baseline("game.ts", CiOptions(), game) == (path, None)
    write_baseline(path, BASELINE, Outcomes(), 256)
    assert find_baseline("game.ts", CiOptions(), game) == (path, BASELINE)
    # A new one is compared with none.
    assert find_baseline("game.ts", CiOptions(update_baseline=True), game) == (path, None)
    with pytest.raises(ConfigurationError, match="there is no"):
        find_baseline("game.ts", CiOptions(baseline=tmp_path / "other.json"), game)
    with pytest.raises(ConfigurationError, match="no folder of its own"):
        find_baseline("snake", CiOptions(update_baseline=True), Chosen("snake"))


def test_the_baseline_of_another_game_is_refused(tmp_path: Path) -> None:
    check_game(tmp_path / "attract-ci.json", BASELINE, "Snake-v1")
    with pytest.raises(ConfigurationError, match="baseline of Snake-v1, and the game is Maze-v1"):
        check_game(tmp_path / "attract-ci.json", BASELINE, "Maze-v1")


def test_more_recorded_episodes_than_can_be_played_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has 0 files"):
        read_folder(tmp_path)
    for number in range(65):
        (tmp_path / f"{number}.episode.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="has 65 files"):
        read_folder(tmp_path)


def test_a_game_of_which_nothing_was_played_does_not_pass() -> None:
    with pytest.raises(AttractError, match="no episode came to its end in 100 s: give it more time"):
        check_played(Played(), [], PLAN, is_written=False)
    with pytest.raises(AttractError, match="no episode came to its end"):
        check_played(Played(), [finding("error", "it hangs")], PLAN, is_written=True)
    check_played(Played(), [finding("error", "it hangs")], PLAN, is_written=False)
    played = Played(outcomes=Outcomes({"random": {0: Outcome("terminated", {})}}))
    check_played(played, [], PLAN, is_written=True)


def test_a_game_that_only_the_player_without_input_ends_does_not_pass() -> None:
    played = Played(outcomes=Outcomes({"idle": {0: Outcome("terminated", {})}}), drilled={"soft-lock"})
    with pytest.raises(AttractError, match="no episode with input came to its end in 100 s: give it more"):
        check_played(played, [], PLAN, is_written=False)
    check_played(played, [finding("error", "it hangs")], PLAN, is_written=False)
    # A project that asks for this player alone has what it wants.
    check_played(played, [], replace(PLAN, players=["idle"]), is_written=True)


def test_a_rule_passes_no_build_that_fails_in_every_episode() -> None:
    failed = Outcomes({"idle": {0: Outcome("failed", {})}, "random": {0: Outcome("failed", {})}})
    warned = finding("error", "it throws").model_copy(update={"level": "warn"})
    for findings in ([warned], []):
        with pytest.raises(AttractError, match="every episode failed"):
            check_played(Played(outcomes=failed), findings, PLAN, is_written=False)
    check_played(Played(outcomes=failed), [finding("error", "it throws")], PLAN, is_written=False)
    failed.players["random"][0] = Outcome("terminated", {})
    check_played(Played(outcomes=failed), [warned], PLAN, is_written=False)


def test_a_page_whose_guessed_end_comes_at_once_was_not_played() -> None:
    short, longer = Outcome("terminated", {"length": 1.0}), Outcome("terminated", {"length": 2.0})
    played = Played(outcomes=Outcomes({"idle": {0: short}, "random": {0: short}}))
    with pytest.raises(AttractError, match="every episode is over at its first step"):
        check_lasted(played, [])
    check_lasted(played, [finding("error", "it throws")])
    played.outcomes.players["random"][0] = longer
    check_lasted(played, [])


def test_a_game_that_no_player_moves_was_not_played() -> None:
    menu, other = Outcome("time_limit", {"return": 60.0}), Outcome("time_limit", {"return": 61.0})
    played = Played(outcomes=Outcomes({"idle": {0: menu, 1: menu}, "random": {0: menu, 1: menu, 2: other}}))
    with pytest.raises(AttractError, match=r"no player's episode differs .*controls: left, right.*--seconds"):
        check_moved(played, [], "left, right", knows_inputs=True)
    check_moved(played, [finding("error", "it throws")], "left, right", knows_inputs=True)
    # That some input changes what is seen was looked for, and found.
    drilled = Played(outcomes=played.outcomes, drilled={"soft-lock"})
    check_moved(drilled, [], "left, right", knows_inputs=True)
    in_part = Played(outcomes=played.outcomes, measured={"soft-lock/episodes": 2.0, "soft-lock/locked": 1.0})
    check_moved(in_part, [], "left, right", knows_inputs=True)
    seen = Played(outcomes=played.outcomes, measured={"sight/moved": 1.0})
    check_moved(seen, [], "usual keys are pressed", knows_inputs=False)
    in_part.measured["soft-lock/locked"] = 2.0
    with pytest.raises(AttractError, match="no player's episode differs"):
        check_moved(in_part, [], "left, right", knows_inputs=True)
    with pytest.raises(AttractError, match="usual keys are pressed"):
        check_moved(drilled, [], "usual keys are pressed", knows_inputs=False)
    played.outcomes.players["random"][1] = other
    check_moved(played, [], "left, right", knows_inputs=True)
    check_moved(Played(outcomes=Outcomes({"random": {0: menu}})), [], "left", knows_inputs=False)


def test_where_no_input_is_known_none_that_does_anything_is_no_dead_end() -> None:
    locked = finding("soft-lock", "no input changes anything")
    error = finding("error", "it throws")
    with pytest.raises(AttractError, match=r"no key or click that was tried .* write an adapter"):
        without_dead_ends(Played(), [locked])
    played = Played(drilled={"soft-lock"})
    assert without_dead_ends(played, [error, locked]) == [error]
    assert "no key or click" in played.problems["soft-lock"] and not played.drilled
    assert without_dead_ends(Played(), [error]) == [error]


def test_the_tests_of_a_build_find_it_from_their_folder(tmp_path: Path) -> None:
    game, out = tmp_path / "src" / "game.ts", tmp_path / "attract-ci"
    game.parent.mkdir()
    game.touch()
    site: Any = SimpleNamespace(adapter_folder=lambda _reference: tmp_path / "dist")
    gateway: Any = SimpleNamespace(service=SimpleNamespace(games=site))

    def found(game: str, page: str | None) -> object:
        description = DESCRIPTION.model_copy(update={"page": page})
        return game_for_tests(gateway, Build(GameModule(counting_game(), b"", None), description), game, out)

    assert found(str(game), None) == TestedModule("../src/game.ts")
    assert found("snake", None) is None, "it is bundled"
    assert found("g.page.ts", "index.html") == TestedPage("../dist", "index.html")
    assert found("g.page.ts", "http://localhost:5173/") == TestedPage("http://localhost:5173/", "")


BUILD = Build(GameModule(counting_game(), b"export default {}", None), DESCRIPTION)


def test_a_finding_is_an_episode_and_a_test_beside_it(tmp_path: Path) -> None:
    out = tmp_path / "attract-ci"
    finding = found(recorded(), id="changed:return:lower", episode_file=None, test_file=None)
    error = found(recorded(error="gone"), episode_file=None, test_file=None)
    game = TestedModule("../src/game.ts")
    pictures = {1: EpisodePictures([0.5], [b"jpeg"], 0.5, b"sheet")}
    whole, lines = write_outputs(
        CiOptions(out=out), [DevicePlay(failed(finding, error), BUILD, game, pictures=pictures)]
    )
    first, second = whole.findings
    assert (first.sheet_file, second.sheet_file) == (None, "02-error.png")
    assert (out / "02-error.png").read_bytes() == b"sheet"
    assert any(line.endswith("attract-ci/02-error.png") for line in lines)
    assert first.episode_file == "01-changed-return-lower.episode.json"
    assert read_episode(out / first.episode_file).num_steps == recorded().num_steps
    assert second.test_file == "02-error.spec.ts"
    assert '"../src/game.ts"' in (out / second.test_file).read_text()
    assert (out / "attract-playwright.js").is_file()
    assert any("attract replay" in line and "02-error.episode.json" in line for line in lines)


def test_the_report_of_the_last_build_is_kept_beside_its_episodes(tmp_path: Path) -> None:
    out = tmp_path / "attract-ci"
    error = found(recorded(error="gone"), episode_file=None, test_file=None)
    written, _ = write_outputs(CiOptions(out=out), [DevicePlay(failed(error), BUILD)])
    kept = Report.model_validate_json((out / "report.json").read_text())
    assert kept.version == 1
    assert [finding.episode_file for finding in kept.findings] == ["01-error.episode.json"]
    assert kept.model_dump() == written.model_dump()
    _, lines = write_outputs(CiOptions(out=out), [DevicePlay(report(), BUILD)])
    plays = Report.model_validate_json((out / "report.json").read_text())
    assert plays.verdict == "plays"
    assert lines[-1] == plays.summary == "plays: no finding"
    # A game that cannot be loaded has no build.
    stopped = Report(game="game.ts", build="", verdict="not_played", problem="no browser")
    write_outputs(CiOptions(out=out), [DevicePlay(stopped)])
    assert Report.model_validate_json((out / "report.json").read_text()).problem == "no browser"


def test_every_form_that_is_asked_for_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    outputs = CiOptions(
        out=tmp_path / "o",
        junit=tmp_path / "new" / "junit.xml",
        html=tmp_path / "report.html",
        github=True,
    )
    _, lines = write_outputs(outputs, [DevicePlay(failed(found(recorded(error="gone"))), BUILD)])
    suite = ElementTree.parse(tmp_path / "new" / "junit.xml").getroot()
    assert len(list(suite.iter("failure"))) == 1
    assert "<html" in (tmp_path / "report.html").read_text()
    assert any(line.startswith("::error file=src/game.ts,line=41") for line in lines)
    assert "error" in summary.read_text()


def test_a_file_that_cannot_be_written_is_said_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError):
        check_outputs(CiOptions(out=tmp_path, junit=tmp_path / "file" / "junit.xml"))


def bands(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bands.yaml"
    path.write_text(text)
    return path


def test_bands_are_limits_by_number(tmp_path: Path) -> None:
    path = bands(tmp_path, "win_rate: [0.3, 0.7]\ndifficulty: [null, 0.5]\nreturn: [10, null]\n")
    assert read_bands(path) == {"win_rate": (0.3, 0.7), "difficulty": (None, 0.5), "return": (10, None)}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no band"),
        ("winrate: [0, 1]", "there is no number 'winrate'"),
        ("win_rate: 0.5", "win_rate: must be"),
        ("win_rate: [0.7, 0.3]", "win_rate: must be"),
        ("win_rate: [0.3]", "win_rate: must be"),
        ("win_rate: [true, 1]", "win_rate: must be"),
        ("win_rate: [a, b]", "win_rate: must be"),
    ],
)
def test_other_bands_are_refused_with_their_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"bands\.yaml: {problem}"):
        read_bands(bands(tmp_path, text))


def test_estimates_are_told_with_their_interval() -> None:
    assert spread(Estimate(mean=0.5, low=0.46, high=0.54), ".2f") == "0.50 +- 0.04"
    assert spread(Estimate(mean=0.5, low=None, high=None), ".2f") == "0.50"
    assert ranged(Estimate(mean=4.0, low=2.0, high=5.0), ".3g") == "4 (2-5)"
    assert ranged(Estimate(mean=None, low=20.5, high=None), ".3g") == "> 20.5"


def test_a_row_has_all_numbers() -> None:
    one = Estimate(mean=0.5, low=0.25, high=0.75)
    row = ValueDifficulty(
        value=1, difficulty=None, win_rate=one, attempts=one, episode_return=one, length=one, episodes=4
    )
    assert cells(row) == ["-", "0.50 (0.25-0.75)", "0.5 (0.25-0.75)", "0.5 +- 0.25", "0.5 +- 0.25"]


def test_a_step_is_told_by_its_p_value_and_by_the_number_unless_that_is_the_difficulty() -> None:
    step = Step(before=1, now=2, differs=True, number="difficulty", p_value=0.001)
    assert p_text(step) == "1e-03"
    assert p_text(step.model_copy(update={"number": "length"})) == "1e-03 (length)"
    assert p_text(Step(before=1, now=2, differs=False)) == "-"


def test_what_could_not_be_played_is_exit_code_2() -> None:
    assert not_played("snake", "size", "it hangs").exit_code == 2
