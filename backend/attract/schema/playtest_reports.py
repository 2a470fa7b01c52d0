"""What `attract ci` found in builds of a game, as the dashboard lists it: `GET /api/findings`."""

from typing import Literal

from pydantic import ConfigDict

from attract.schema.base import Count, FiniteModel, Name, Text
from attract.schema.recorded_episode import RecordedEpisode


class PlaytestFinding(FiniteModel):
    """One finding of a report, with the episode that shows it."""

    model_config = ConfigDict(extra="ignore")

    id: Name
    """The oracle's id, of some with the number that changed."""
    text: Text
    """One sentence."""
    file: Text | None = None
    line: Count | None = None
    player: Text | None = None
    """Who played the episode."""
    step: Count | None = None
    """Step in which it happens."""
    seconds: float | None = None
    """Game time at that step."""
    episode_file: Name | None = None
    """Name of the episode's file, below the report's folder."""
    episode: RecordedEpisode | None = None
    problem: Text | None = None
    """Why the episode cannot be played."""


class PlaytestReport(FiniteModel):
    """One report of `attract ci`; fields that are not shown are left out."""

    model_config = ConfigDict(extra="ignore")

    format: Literal["attract-ci"]
    version: Literal[1]
    game: Text
    """As it was named in the command."""
    game_id: Text = ""
    """The id in the game's description; empty: the game could not be loaded."""
    verdict: Literal["plays", "findings", "not_played"]
    problem: Text | None = None
    findings: list[PlaytestFinding] = []
    episodes: Count = 0
    """Number that were played."""
    folder: Name = "attract-ci"
    """Name of the folder that has it."""
    written_at: Text = ""
    """UTC, ISO 8601."""
