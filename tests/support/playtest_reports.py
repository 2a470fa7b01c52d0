"""Reports of playtests, made by hand."""

from typing import Any

from attract.playtest.report import BuildFinding, OracleState, PlayerOutcome, Report
from attract.schema.recorded_episode import RecordedEpisode

BUILD = "1a2b3c4d5e6f" + "0" * 52
BASELINE = "9f8e7d6c5b4a" + "0" * 52


def report(**changes: Any) -> Report:
    """A clean run of two players."""
    players = [
        PlayerOutcome(
            player="idle", episodes=32, return_mean=1.25, length_mean=40.0, ended={"terminated": 32}
        ),
        PlayerOutcome(player="hold-0", episodes=16, return_mean=2.0, length_mean=30.5, ended={"cut": 16}),
        PlayerOutcome(player="hold-1", episodes=16, return_mean=None, length_mean=None),
    ]
    data: dict[str, Any] = {
        "game": "src/game.ts",
        "build": BUILD,
        "baseline_build": BASELINE,
        "verdict": "plays",
        "oracles": [OracleState(oracle="error", state="passed"), OracleState(oracle="nan", state="passed")],
        "players": players,
        "episodes": 64,
        "seconds": 12.3456,
    }
    return Report.model_validate({**data, **changes})


def found(episode: RecordedEpisode | None = None, **changes: Any) -> BuildFinding:
    """An error in line 41 of the game."""
    data: dict[str, Any] = {
        "id": "error",
        "oracle": "error",
        "text": "TypeError: cannot read <b>x</b> of undefined",
        "file": "src/game.ts",
        "line": 41,
        "column": 7,
        "stack": "TypeError: cannot read\n    at move (src/game.ts:41:7)\n    at update (src/game.ts:12:3)",
        "player": "random",
        "step": 21,
        "seconds": 2.1,
        "confirmed": 2,
        "episode": episode,
        "episode_file": "error.episode.json",
        "test_file": "error.spec.ts",
    }
    return BuildFinding.model_validate({**data, **changes})


def failed(*findings: BuildFinding, **changes: Any) -> Report:
    """A run with these findings."""
    oracles = dict.fromkeys(finding.oracle for finding in findings)
    states = [OracleState(oracle=oracle, state="found") for oracle in oracles]
    states += [
        OracleState(oracle="nan", state="passed"),
        OracleState(oracle="leak", state="not_judged", note="too few episodes"),
        OracleState(oracle="unreached", state="not_judged", note="there is no baseline"),
        OracleState(oracle="worse-policy", state="not_judged", note="there is no baseline"),
    ]
    return report(**{"verdict": "findings", "findings": list(findings), "oracles": states, **changes})
