from attract.commands.check import check_lines, json_object
from attract.schema.api import CheckFinding, CheckView
from attract.schema.game_messages import CheckedPlay
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
    assert json_object(VIEW)["ok"] is False
    assert json_object(VIEW)["findings"][0]["line"] == 6
    warning = VIEW.model_copy(update={"findings": VIEW.findings[1:]})
    assert json_object(warning)["ok"] is True
