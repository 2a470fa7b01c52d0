"""The recorded episode: all that it takes to play an episode again and to see that it is the same.

The page `docs/episodes.md` describes the file; `web/worker/src/episode` writes and plays it.
"""

import math
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, FailFast, Field

from attract.schema.base import MAX_AGENTS, Amount, Count, FiniteModel, Name, Seed, Text, WireModel
from attract.schema.devices import DeviceName

FORMAT_VERSION: Final = 2
"""1 was never released."""
MAX_ACTION_BYTES: Final = 1 << 20
"""Bytes of an episode's actions before they are deflated: a longer episode is not recorded."""
MAX_STEPS: Final = 1 << 20
HASH_DIGITS: Final = 8
MAX_HASH_CHARACTERS: Final = 1 << 20

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
RecordedEnd = Literal["terminated", "time_limit", "game_truncated", "cut", "failed", "stopped"]
"""`cut`: by the trainer; `failed`: the game failed in the last step; `stopped`: the player stopped before."""
PlayerKind = Literal["policy", "person", "random", "script"]


class EpisodeSeat(FiniteModel):
    """Who controlled one agent."""

    player: PlayerKind
    policy_id: Name | None = None
    """`policy`, or `script` with `script:` and its file, or `outside:` and the program's name."""
    policy_version: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    """`policy` only: the newest version that took part."""
    deterministic: bool = False
    """`policy` only: it took its most probable actions."""


class PackedActions(FiniteModel):
    """Every agent's action of every step, as they travel: box actions in unit space, before clipping (P6)."""

    dtype: Literal["uint8", "uint16", "int32", "float32"]
    shape: Annotated[
        list[Annotated[int, Field(ge=0, le=MAX_ACTION_BYTES)]],
        Field(min_length=2, max_length=3),
        FailFast(),
    ]
    """[steps, agents] or [steps, agents, components]. Zeros for an agent that does not take part."""
    deflated: bool
    """Whether `data` is a raw deflate stream."""
    data: Annotated[str, Field(max_length=2 * MAX_ACTION_BYTES, pattern="^[A-Za-z0-9+/]*={0,2}$")]
    """Base64 of the numbers, little-endian, in C order."""


class EpisodeMarks(FiniteModel):
    """Hashes of what the agents see, about one a second of game time: a replay that differs shows where."""

    interval: Annotated[int, Field(ge=1, le=MAX_STEPS)]
    """Steps from one to the next; the first is of what is seen before step 0."""
    hashes: Annotated[str, Field(max_length=MAX_HASH_CHARACTERS, pattern="^([0-9a-f]{8})*$")]
    """8 hexadecimal digits each, one after the other."""


class EpisodeError(FiniteModel):
    """How the game failed in the last step, or in its start where there is no step."""

    kind: Name
    name: Text
    """The error's class name."""
    text: Text
    stack: Text | None = None
    tick: Count
    """Tick of the episode, counted from 1; 0: in `start()`."""


class RecordedEpisode(FiniteModel):
    """One episode as it was played: with its game's build it can be played again, step for step (rule C5)."""

    format: Literal["attract-episode"] = "attract-episode"
    version: Literal[2] = 2
    id: Annotated[str, Field(max_length=64, pattern="^[A-Za-z0-9._-]*$")] = ""
    """Its name where it is kept; empty until then."""
    run_id: Name | None = None
    game_id: Name
    """The id in the game's description."""
    game_sha256: Sha256 | None = None
    """Hash of the module that was played."""
    description_sha256: Sha256 | None = None
    """Hash of the game's description as canonical JSON."""
    page_sha256: Sha256 | None = None
    """Hash over the names and hashes of the page's files; None where the game lives in no page."""
    device: DeviceName | None = None
    """What the page was played on; None: a desktop, or no page."""
    seed: Seed
    instance: Count
    episode: Count
    """With `seed` and `instance` it names the game's random stream."""
    parameters: Annotated[dict[Name, float], Field(max_length=1024)] = {}
    """Game parameters of this episode; a missing one has its default."""
    lesson_id: Annotated[str, Field(max_length=64)] | None = None
    seats: Annotated[list[EpisodeSeat], Field(min_length=1, max_length=MAX_AGENTS), FailFast()]
    """One per agent."""
    seconds_per_step: Annotated[float, Field(gt=0, le=86_400)]
    """Game time of a step, for showing."""
    actions: PackedActions
    marks: EpisodeMarks
    returns: Annotated[list[Amount], Field(min_length=1, max_length=MAX_AGENTS), FailFast()]
    """Raw undiscounted return per agent."""
    num_steps: Annotated[int, Field(ge=0, le=MAX_STEPS)]
    """Actions; the last of a failed episode is the one in which it failed."""
    num_ticks: Count
    end_reason: RecordedEnd
    error: EpisodeError | None = None
    """`failed` only."""
    created_at: Annotated[str, Field(max_length=40)] = ""
    """ISO 8601, UTC; set where it is kept."""

    @property
    def seconds(self) -> float:
        """Game time of the whole episode."""
        return self.num_steps * self.seconds_per_step

    @property
    def shown_agent(self) -> int:
        """The agent that a person plays, or the first."""
        return next((agent for agent, seat in enumerate(self.seats) if seat.player == "person"), 0)

    @property
    def mean_return(self) -> float:
        return math.fsum(self.returns) / len(self.returns)


class EpisodeDifference(FiniteModel):
    """Where a replay first differs from its record."""

    step: Count
    seconds: float
    """Game time at that step."""
    text: Text


class EpisodeReplay(FiniteModel):
    """Result of replaying a recorded episode."""

    equal: bool
    difference: EpisodeDifference | None
    """None where it is equal."""
    returns: Annotated[list[Amount], Field(min_length=1, max_length=MAX_AGENTS), FailFast()]
    num_steps: Count
    num_ticks: Count
    end_reason: RecordedEnd
    error: EpisodeError | None = None
    play_seconds: float


class StarEpisode(WireModel):
    """Keep an episode for good, or no longer."""

    starred: bool


EpisodeSource = Literal["evaluation", "training", "failure", "person", "check", "match"]
EpisodeRole = Literal["best", "worst", "median"]


class EpisodeEntry(WireModel):
    """One recorded episode that a run keeps, without its actions."""

    id: str
    source: EpisodeSource
    role: EpisodeRole | None = None
    """Among the episodes of its evaluation, or of that part of the training."""
    policy_version: Count | None = None
    """Newest version that took part; None: no policy did."""
    agent_steps: Count | None = None
    """Agent steps of the run when it was played."""
    episode_return: float
    """Mean over the agents."""
    num_steps: Count
    seconds: float
    """Game time."""
    end_reason: RecordedEnd
    error: Text | None = None
    """First line of what failed."""
    starred: bool = False
    num_bytes: Count
    created_at: str
    problem: Text | None = None
    """Why the file cannot be played; the other fields are then as the index has them."""


class PlaytestFinding(FiniteModel):
    """One finding of a report, with the episode that shows it."""

    model_config = ConfigDict(extra="ignore")

    id: Name
    """The oracle's id, of some with the number that changed."""
    level: Literal["warn", "error"] = "error"
    """A warning fails no build."""
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


class DemonstrationEntry(WireModel):
    """One kept demonstration of a game."""

    id: str
    game_id: str
    returns: list[float] = []
    """Per agent; empty where the file is damaged."""
    num_steps: int = 0
    ended: bool = True
    """False: the player stopped before the game did."""
    created_at: str = ""
    player: str = ""
    """Of the agent that is shown."""
    agent: Count = 0
    """Which one that is: the person's, or the first."""
    problem: str | None = None
    """Why the file cannot be used."""
