from collections.abc import Callable
from pathlib import Path

import pytest

from attract.commands import check
from attract.commands.check import CheckOptions, Saved, check_answer, check_lines, judged_play, save_checked
from attract.errors import ConfigurationError
from attract.runs.episodes import read_episode
from attract.schema.api import CheckFinding, CheckView
from attract.schema.game_messages import CheckedPlay
from attract.settings.run import ServerSettings
from recorded_episodes import recorded
from socket_fleet import DESCRIPTION

FINDING = CheckFinding(
    id="random",
    severity="error",
    text="the game calls Math.random() (once in all)",
    fix="draw from `random` of start()",
    file="g/catch.ts",
    line=6,
    column=38,
    stack="    at Catch.start (g/catch.ts:6:38)",
)
PLAY = CheckedPlay(
    steps=10_000,
    episodes=450,
    return_mean=22.25,
    length_mean=22.25,
    microseconds_per_tick=0.25,
    create_milliseconds=0.1,
)
VIEW = CheckView(
    game="g/catch.ts",
    findings=[FINDING, FINDING.model_copy(update={"severity": "warning"})],
    description=DESCRIPTION,
    play=PLAY,
    unplayable=False,
    seconds=0.14,
)


def test_lines_tell_the_game_the_play_each_finding_and_their_number() -> None:
    lines = check_lines(VIEW)
    assert lines[0] == ("Counting-v1: observes box, acts by discrete; 1 tick of 0.1 s a step, no time limit")
    assert lines[1] == (
        "random play: 10,000 steps, 450 episodes, mean return 22.25, mean length 22.25 steps, "
        "0.25 microseconds a tick"
    )
    assert lines[3].startswith("g/catch.ts:6:38: error: ")
    assert lines[-1] == "1 error, 1 warning in 0.1 s"
    clean = VIEW.model_copy(update={"findings": []})
    assert check_lines(clean)[2:] == ["", "nothing found in 0.1 s"]


def test_a_game_that_was_not_played_has_findings_alone() -> None:
    view = VIEW.model_copy(update={"description": None, "play": None, "findings": [FINDING]})
    assert check_lines(view)[1].startswith("g/catch.ts:6:38: error: ")
    never = VIEW.model_copy(
        update={"play": PLAY.model_copy(update={"return_mean": None, "length_mean": None, "episodes": 0})}
    )
    assert "0 episodes, no episode ended, 0.25 microseconds" in check_lines(never)[1]


def test_the_object_is_ok_without_errors() -> None:
    assert check_answer(VIEW).ok is False
    assert check_answer(VIEW).findings[0].line == 6
    warning = VIEW.model_copy(update={"findings": VIEW.findings[1:]})
    assert check_answer(warning).ok is True


FAILED = FINDING.model_copy(update={"id": "contract", "recorded": recorded(error="lost")})
RECORDED = VIEW.model_copy(
    update={"first_episode": recorded(), "findings": [FAILED, FINDING, FAILED]},
)


def test_each_episode_is_a_file_that_can_be_read_and_the_lines_say_what_plays_it_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "other").write_text("stays")
    saved = save_checked(tmp_path, RECORDED)
    names = ["first", "contract-1", "contract-2"]
    files = [tmp_path / f"Counting-v1-check-{name}.episode.json" for name in names]
    assert saved == Saved(files[0], {0: files[1], 2: files[2]})
    assert sorted(tmp_path.iterdir()) == sorted([*files, tmp_path / "other"])
    assert read_episode(files[0]) == recorded()
    assert read_episode(files[1]).error is not None
    lines = check_lines(RECORDED, saved)
    assert lines[2] == f"its first episode: attract replay {files[0]} --game g/catch.ts"
    again = [line for line in lines if "play it again" in line]
    assert again == [f"  play it again: attract replay {file} --game g/catch.ts" for file in files[1:]]
    bundled = check_lines(RECORDED.model_copy(update={"game": "catch"}), saved)
    assert bundled[2] == f"its first episode: attract replay {files[0]}"
    # What is not saved is not named, and a failure says how to save it.
    unsaved = check_lines(RECORDED)
    assert not any("attract replay" in line for line in unsaved)
    assert sum("--save DIR` keeps the episode" in line for line in unsaved) == 2


def test_the_object_names_the_files_and_has_no_episode() -> None:
    values = check_answer(RECORDED, Saved(Path("a.json"), {0: Path("b.json")})).model_dump()
    assert [found["episode"] for found in values["findings"]] == ["b.json", None, None]
    assert values["first_episode"] == "a.json"
    assert not any("recorded" in found for found in values["findings"])


def test_a_game_s_id_is_no_path_and_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    view = VIEW.model_copy(update={"first_episode": recorded(game_id="../../up"), "findings": []})
    first = save_checked(tmp_path / "new" / "one", view).first
    assert first == tmp_path / "new" / "one" / "..-..-up-check-first.episode.json"
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="file cannot be written"):
        save_checked(tmp_path / "file", view)


@pytest.mark.parametrize(
    ("steps", "episodes", "others", "expected"),
    [
        (0, 0, [], [("not-played", "error")]),
        (0, 0, ["error"], []),
        (0, 0, ["warning"], [("not-played", "error")]),
        (312, 0, [], [("no-episode", "warning")]),
        (312, 1, [], []),
        (None, 0, [], [("not-played", "error")]),
    ],
)
def test_a_game_that_was_hardly_played_is_not_ok(
    steps: int | None, episodes: int, others: list[str], expected: list[tuple[str, str]]
) -> None:
    play = None if steps is None else PLAY.model_copy(update={"steps": steps, "episodes": episodes})
    findings = [FINDING.model_copy(update={"severity": severity}) for severity in others]
    view = judged_play(VIEW.model_copy(update={"play": play, "findings": findings}))
    more = [found for found in view.findings if found not in findings]
    assert [(found.id, found.severity) for found in more] == expected
    assert check_answer(view).ok == all(found.severity == "warning" for found in view.findings)
    assert [found.severity for found in view.findings] == sorted(found.severity for found in view.findings)


def test_an_endless_game_is_one_finding() -> None:
    endless = FINDING.model_copy(update={"id": "endless", "severity": "warning"})
    play = PLAY.model_copy(update={"episodes": 0})
    view = VIEW.model_copy(update={"play": play, "findings": [endless]})
    assert judged_play(view) == view


def test_check_serves_the_project_of_a_module_of_ones_own(
    attract: Callable[..., object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checked: list[tuple[str, CheckOptions, ServerSettings]] = []

    async def check_game(game: str, options: CheckOptions, server: ServerSettings) -> int:
        checked.append((game, options, server))
        return 1

    monkeypatch.setattr(check, "check_game", check_game)
    monkeypatch.chdir(tmp_path)
    assert attract("check", "mine/walk.ts", "--json") == 1
    assert attract("check", "snake") == 1
    (own, options, own_server), (bundled, _, bundled_server) = checked
    assert (own, options) == (str(tmp_path / "mine" / "walk.ts"), CheckOptions(json_output=True))
    assert (own_server.project_dir, own_server.port) == (tmp_path, 0)
    assert bundled == "snake"
    assert bundled_server.project_dir == ServerSettings().project_dir
