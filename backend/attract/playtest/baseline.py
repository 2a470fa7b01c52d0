"""The baseline of a game: outcomes of a build that plays well, a text file of the game's repository."""

import json
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from attract.errors import FileError
from attract.files import parse_model, parse_object, read_file, write_atomically
from attract.playtest.outcomes import Outcome, Outcomes, rounded
from attract.schema.base import Count, FiniteModel, Name, Seed, Text
from attract.schema.recorded_episode import Sha256

MAX_BYTES: Final = 200_000
NAME: Final = "attract-ci.json"
"""File that `attract ci` looks for beside the game."""
CODES: Final = {
    "terminated": "t",
    "time_limit": "l",
    "game_truncated": "g",
    "cut": "c",
    "failed": "f",
    "stopped": "s",
}
ENDS: Final = {code: end for end, code in CODES.items()}


class KnownFinding(FiniteModel):
    """What an oracle found in the baseline's build: no news when it is found again."""

    id: Name
    text: Text


class PlayerColumns(FiniteModel):
    """A player's episodes from index 0 on: a letter each for the end, and numbers apart by spaces."""

    ends: Annotated[str, Field(max_length=4096, pattern="^[tlgcfs]*$")]
    numbers: dict[Name, Annotated[str, Field(max_length=100_000)]]


class Baseline(FiniteModel):
    """Content of the file."""

    format: Literal["attract-ci-baseline"] = "attract-ci-baseline"
    version: Literal[1] = 1
    game: Text
    build: Sha256
    seed: Seed
    max_steps: Count | None
    fresh_every: Count = 0
    """How its pages were played, see `PlaytestGame.fresh_every`."""
    policies: dict[Name, Sha256] = {}
    """Hash of each policy's model."""
    known: list[KnownFinding] = []
    measured: dict[Name, float] = {}
    """What drills measured: `dead-key/action 3`."""
    players: dict[Name, PlayerColumns] = {}

    def outcomes(self) -> Outcomes:
        """The episodes. Raises: ValueError: columns disagree."""
        found = Outcomes()
        for player, columns in self.players.items():
            numbers = {name: [float(word) for word in text.split()] for name, text in columns.numbers.items()}
            if any(len(values) != len(columns.ends) for values in numbers.values()):
                raise ValueError(f"the columns of {player} are not of one length")
            found.players[player] = {
                index: Outcome(ENDS[code], {name: values[index] for name, values in numbers.items()})
                for index, code in enumerate(columns.ends)
            }
        return found


def columns_of(outcomes: Outcomes, limit: int) -> dict[str, PlayerColumns]:
    """The first episodes of each player, up to `limit` and to the first index that was not played."""
    found: dict[str, PlayerColumns] = {}
    for player, episodes in outcomes.players.items():
        count = next(index for index in range(len(episodes) + 1) if index not in episodes)
        kept = [episodes[index] for index in range(min(count, limit))]
        if not kept:
            continue
        found[player] = PlayerColumns(
            ends="".join(CODES[outcome.end_reason] for outcome in kept),
            numbers={
                name: " ".join(f"{outcome.numbers[name]:g}" for outcome in kept)
                for name in kept[0].numbers
                if all(name in outcome.numbers for outcome in kept)
            },
        )
    return found


def read_baseline(path: Path) -> Baseline:
    """The baseline of a file. Raises: FileError: it cannot be read, or is none."""
    baseline = parse_model(parse_object(read_file(path, 2 * MAX_BYTES), path), Baseline, path)
    try:
        baseline.outcomes()
    except ValueError as error:
        raise FileError(path, f"is no baseline: {error}") from None
    return baseline


def write_baseline(path: Path, baseline: Baseline, outcomes: Outcomes, limit: int) -> int:
    """Write `baseline` with as many episodes of each player as fit, at most `limit`; how many that are."""
    while True:
        whole = baseline.model_copy(update={"players": columns_of(outcomes, limit)})
        document = whole.model_dump(mode="json")
        document["measured"] = {name: rounded(value) for name, value in baseline.measured.items()}
        data = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
        if len(data) <= MAX_BYTES or limit <= 1:
            break
        limit //= 2
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
    return limit
