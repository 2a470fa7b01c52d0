"""Recorded episodes, and reports of playtests that hold them."""

from typing import Any

import numpy as np

from attract.playtest.baseline import Baseline, KnownFinding
from attract.playtest.outcomes import Outcome, Outcomes
from attract.playtest.report import BuildFinding, OracleState, PlayerOutcome, Report
from attract.schema.base import Seed
from attract.schema.episode_actions import num_marks, pack_actions
from attract.schema.recorded_episode import EpisodeError, EpisodeMarks, EpisodeSeat, RecordedEpisode

INTERVAL = 5


def recorded(
    returns: float | list[float] = 1.0,
    *,
    steps: int = 7,
    version: int | None = 0,
    error: str | None = None,
    **changes: Any,
) -> RecordedEpisode:
    """An episode of the counting game that came to `returns`, with action `step % 3` in each step.

    `version`: of the policy that played; None: a person did. `error`: what the game failed with.
    """
    each = returns if isinstance(returns, list) else [returns]
    actions = np.repeat((np.arange(steps, dtype=np.int64) % 3)[:, None], len(each), axis=1)
    player = EpisodeSeat(player="person")
    if version is not None:
        player = EpisodeSeat(player="policy", policy_id="main", policy_version=version)
    data: dict[str, Any] = {
        "game_id": "Counting-v1",
        "seed": {"low": 1, "high": 2},
        "instance": 0,
        "episode": 3,
        "seats": [player for _ in each],
        "seconds_per_step": 0.2,
        "actions": pack_actions(actions),
        "marks": EpisodeMarks(interval=INTERVAL, hashes="0123abcd" * num_marks(steps, INTERVAL)),
        "returns": each,
        "num_steps": steps,
        "num_ticks": 2 * steps,
        "end_reason": "time_limit",
    }
    if error is not None:
        failed = EpisodeError(kind="throw", name="TypeError", text=error, stack="at tick", tick=2 * steps)
        data |= {"end_reason": "failed", "error": failed}
    return RecordedEpisode.model_validate({**data, **changes})


def recorded_document(*args: Any, **changes: Any) -> dict[str, Any]:
    """`recorded` as the JSON of a file or a request has it."""
    return recorded(*args, **changes).model_dump(mode="json")


EPISODE = recorded_document(3.0, steps=3, seconds_per_step=0.02)


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
        "replay_game": "src/game.ts",
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


def baseline() -> Baseline:
    """Of a clean run, with a known finding and a measured rate."""
    return Baseline(
        game="Snake-v1",
        build="a" * 64,
        seed=Seed(low=1, high=2),
        max_steps=3000,
        policies={"trained": "b" * 64},
        known=[KnownFinding(id="retry-broken", text="episode # differs")],
        measured={"dead-key/action 1": 0.5512345678},
    )


def outcomes(count: int, num_info: int = 1) -> Outcomes:
    """Of so many episodes of each of two players."""
    found = Outcomes()
    for player in ("idle", "random"):
        found.players[player] = {
            i: Outcome(
                "terminated" if i % 2 else "stopped",
                {"return": i / 3, "length": float(i), "ended": float(i % 2)}
                | {f"info level {k}": float(f"{i * k / 7:.6g}") for k in range(num_info)},
            )
            for i in range(count)
        }
    return found
