"""Messages of a playtest: a host plays a game by many players and says what it saw (`attract ci`)."""

from typing import Annotated, Final, Literal

from pydantic import FailFast, Field

from attract.schema.base import Amount, Count, FiniteModel, Name, Seed, Text, WireBytes
from attract.schema.game import GameDescription, GameReference, MetricName
from attract.schema.game_messages import MethodSource
from attract.schema.recorded_episode import MAX_STEPS, RecordedEnd, RecordedEpisode

MAX_ORDER_SECONDS: Final = 600
MAX_ORDER_PLAYS: Final = 256
MAX_CLAIM: Final = 2_000
MAX_CLAIM_PARTS: Final = 64
AlarmId = Literal[
    "error",
    "nan",
    "soft-lock",
    "retry-broken",
    "dead-key",
    "leak",
    "slow",
    "blank",
    "flicker",
    "jump",
    "outside",
]
"""Oracles that are judged where the game is played; the others need outcomes of many episodes."""
DrillKind = Literal["soft-lock", "retry-broken", "dead-key", "leak", "slow", "sight"]
PlayerName = Annotated[
    str,
    Field(
        pattern="^(idle|random|sticky|novelty|(hold|recorded)-[0-9]{1,3}|outside:[A-Za-z0-9_-]{1,40}|[a-z0-9-]{1,40}:(greedy|sampled|clumsy|excursions))$"
    ),
]
"""`hold-K`: the K-th held action of the game; `recorded-K`: the K-th of `PlaytestGame.episodes`;
`outside:NAME`: a program outside, which is asked; `NAME:HOW`: a policy."""
PolicyName = Annotated[str, Field(pattern="^[a-z0-9-]{1,40}$")]


class PlaytestPolicy(FiniteModel):
    """A trained policy as `attract export` writes it."""

    name: PolicyName
    document: Annotated[str, Field(max_length=4 << 20)]
    """policy.json."""
    model: WireBytes
    """ONNX bytes."""


class PlaytestPlays(FiniteModel):
    """Episodes of one player: `first`, `first + 1`, ...; an index names the episode's random streams."""

    player: PlayerName
    first: Count
    count: Annotated[int, Field(ge=1, le=1024)]


class PlaytestDrill(FiniteModel):
    """A test of the game that begins in recorded episodes."""

    kind: DrillKind
    episodes: Annotated[list[RecordedEpisode], Field(max_length=64)] = []
    last_step: Count | None = None
    """`sight`: what is to be seen begins in this step at the latest; None: in any."""


class PlaytestObserved(FiniteModel):
    """What some numbers of an observation are read of, one after another."""

    text: Text
    numbers: Count


class PlaytestGame(FiniteModel):
    """Host: load this game in a thread of its own, play it as ordered and answer `game_playtested`."""

    type: Literal["playtest_game"] = "playtest_game"
    playtest_id: Count = 0
    """Set where it is sent."""
    game: GameReference
    seed: Seed
    plays: Annotated[list[PlaytestPlays], Field(max_length=MAX_ORDER_PLAYS)] = []
    """Played in turns of a few episodes each, so that a spent budget has some of every player."""
    drills: Annotated[list[PlaytestDrill], Field(max_length=16)] = []
    """After the plays."""
    policies: Annotated[list[PlaytestPolicy], Field(max_length=16)] = []
    episodes: Annotated[list[RecordedEpisode], Field(max_length=64)] = []
    """What the players `recorded-K` play."""
    parameters: Annotated[dict[Name, float], Field(max_length=1024)] = {}
    """Parameters of every episode; a missing one has its default."""
    max_steps: Annotated[int, Field(ge=1, le=MAX_STEPS)] | None = None
    """An episode is stopped after so many steps; None: by the game alone."""
    fresh_every: Annotated[int, Field(ge=0, le=1024)] = 0
    """An episode whose index is a multiple of this begins in a new page, 1: each does; 0: a page is kept as
    long as it is whole. Episodes of a module always have a copy of their own."""
    record: bool = False
    """Whether each episode is sent; else only those with an alarm."""
    budget_seconds: Annotated[float, Field(gt=0, le=MAX_ORDER_SECONDS)]
    """No episode begins after so long."""
    observed: Annotated[list[PlaytestObserved], Field(max_length=4096)] = []
    """What the observation's numbers are called, from its first on; others by their places."""
    claim: Annotated[str, Field(min_length=1, max_length=MAX_CLAIM)] | None = None
    """An expression that is evaluated after each step, in the page or with `game`: the first episode in which
    it holds ends there, is recorded, and is the last."""


class PlaytestAlarm(FiniteModel):
    """What an oracle saw in an episode."""

    oracle: AlarmId
    text: Text
    stack: Text | None = None
    method: MethodSource | None = None
    step: Count
    """Step of the episode in which it was seen."""
    tick: Count = 0


class PlaytestClaimPart(FiniteModel):
    """A comparison of a claim in one episode."""

    text: Text
    first: float | None
    """Its left side after the first step in which it was a number."""
    nearest: float | None
    """Its left side where it came nearest."""
    gap: float
    """What was lacking there, at most 0."""
    has_held: bool


class PlaytestClaim(FiniteModel):
    """What came of a claim in one episode."""

    held_at: Count | None = None
    """Step after which it held; None: it did not."""
    error: Text | None = None
    """Why it could not be evaluated after any step."""
    parts: Annotated[list[PlaytestClaimPart], Field(max_length=MAX_CLAIM_PARTS), FailFast()] = []


class PlaytestEpisode(FiniteModel):
    """Outcome of one episode."""

    play: Count
    """Place in `PlaytestGame.plays`."""
    index: Count
    episode_return: Amount
    """Mean over the agents."""
    num_steps: Count
    num_ticks: Count
    end_reason: RecordedEnd
    """`stopped`: at `max_steps`."""
    info: dict[MetricName, Amount] = {}
    """The game's own metrics over the episode, reduced as it declares."""
    play_seconds: float
    alarms: Annotated[list[PlaytestAlarm], Field(max_length=16), FailFast()] = []
    recorded: RecordedEpisode | None = None
    claim: PlaytestClaim | None = None
    """With `PlaytestGame.claim`."""


class PlaytestDrilled(FiniteModel):
    """Result of one drill."""

    kind: DrillKind
    alarms: Annotated[list[PlaytestAlarm], Field(max_length=64), FailFast()] = []
    recorded: Annotated[list[RecordedEpisode | None], Field(max_length=64), FailFast()] = []
    """Per alarm the episode that shows it; None where it is seen in no single one."""
    numbers: Annotated[dict[Name, float], Field(max_length=1024)] = {}
    """Measurements by name, for comparison with another build."""
    problem: Text | None = None
    """Why it was not finished."""


class GamePlaytested(FiniteModel):
    """Host: the result of a `playtest_game`."""

    type: Literal["game_playtested"] = "game_playtested"
    playtest_id: Count
    episodes: Annotated[list[PlaytestEpisode], Field(max_length=100_000), FailFast()]
    drilled: Annotated[list[PlaytestDrilled], Field(max_length=16), FailFast()] = []
    description: GameDescription | None = None
    """None: the game could not be loaded, or did not come back."""
    left_out: Annotated[list[Text], Field(max_length=256), FailFast()] = []
    """Players that cannot play this game, each with the reason; the others have played."""
    problem: Text | None = None
    """Why the game could not be played on, such as a hang."""
    is_late: bool = False
    """Whether `problem` is a matter of real time on a busy machine, not of the game."""
    seconds: float
