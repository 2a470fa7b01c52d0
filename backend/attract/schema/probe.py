"""The answer of `attract probe`: what was found in a page, and how the adapter that was written plays."""

from typing import Annotated, Final, Literal

from pydantic import Field

from attract.schema.base import Count, FiniteModel
from attract.schema.look import Direction, Number, Scalar, Selector, Words

PROBE_VERSION: Final = 1
"""One more when a field of `ProbeReport` goes, or has another meaning."""
MAX_PLACES: Final = 100
MAX_MOVES: Final = 100
MAX_CANDIDATES: Final = 8
MAX_LINES: Final = 100
MAX_TRIED: Final = 12

Expression = Annotated[str, Field(max_length=10_000)]
"""JavaScript of the page's window `w`, as the adapter has it."""
Lines = Annotated[list[Words], Field(max_length=MAX_LINES)]
Expressions = Annotated[list[Expression], Field(max_length=MAX_LINES)]


class ProbeStarter(FiniteModel):
    """How a game starts from its menu."""

    kind: Literal["none", "key", "click", "element", "spot"]
    """`spot`: something that is drawn on a canvas."""
    ticks: Count
    """Frames until it has started."""
    code: Words | None
    """The key, where one is pressed."""
    x: Number | None
    """The place of a click, in CSS pixels; as `y`."""
    y: Number | None
    selector: Selector | None
    """The element; of several menu pages their buttons, separated by commas."""
    text: Words | None
    name: Words | None
    """The spot."""


class ProbeStart(FiniteModel):
    """A way to start the game that was tried."""

    starter: ProbeStarter
    why: Words
    num_moves: Count
    """Keys and places of the pointer that had an effect afterwards."""
    is_moving: bool
    """Whether anything moved without input."""


class ProbeMove(FiniteModel):
    """A key or a place of the pointer that has an effect."""

    label: Words
    keys: Annotated[list[Words], Field(max_length=16)]
    pointer: tuple[Number, Number, bool] | None
    """x and y in CSS pixels, and whether a button is down."""
    how: Words | None
    """What the pointer does, where that is not a press: see docs/adapter.md."""
    why: Words
    num_moved: Count
    """Places that it changes."""


class ProbePlace(FiniteModel):
    """A value that can be read, and what random play saw of it."""

    path: Expression
    kind: Literal["number", "truth", "word", "list", "grid"]
    first: Scalar
    """A list has its length here, a grid the number of its cells; as all below."""
    low: Number | None
    high: Number | None
    ups: Count
    """Frames in which it grew; as `downs`."""
    downs: Count
    moved_by: dict[Words, Direction]
    """Moves that change it, by their labels, and how."""
    at_end: Scalar
    """In the frame in which the game was over; without an end in the last frame."""


class ProbeScore(FiniteModel):
    """A number that may be the score."""

    text: Expression
    why: Words
    ups: Count
    """Frames in which it grew, of `frames` of random play."""
    frames: Count
    low: Number | None
    high: Number | None


class ProbeEnd(FiniteModel):
    """A sign that the game is over."""

    text: Expression
    why: Words
    ended: Count | None
    """Plays in which it came; None: this cannot be known from a play."""
    plays: Count
    frames: Count
    """Frames of all plays until it came."""


class ProbeRestart(FiniteModel):
    """A way to begin the next episode."""

    kind: Literal["call", "menu", "page"]
    """A function of the game's, its own menu, or a fresh page."""
    text: Expression
    why: Words


class ProbePress(FiniteModel):
    """How long a move is pressed."""

    taps: bool
    """Whether it is released halfway through a step."""
    ticks_per_step: Count
    why: Words


class ProbeCandidates(FiniteModel):
    """What was found for each part of the adapter: the likeliest first, which is also tried first."""

    start: Annotated[list[ProbeStart], Field(max_length=MAX_CANDIDATES)]
    moves: Annotated[list[ProbeMove], Field(max_length=MAX_MOVES)]
    press: Annotated[list[ProbePress], Field(max_length=MAX_CANDIDATES)]
    places: Annotated[list[ProbePlace], Field(max_length=MAX_PLACES)]
    """Those that a move changes, then those that change by themselves, then the others."""
    score: Annotated[list[ProbeScore], Field(max_length=MAX_CANDIDATES)]
    end: Annotated[list[ProbeEnd], Field(max_length=MAX_CANDIDATES)]
    restart: Annotated[list[ProbeRestart], Field(max_length=MAX_CANDIDATES)]


class ProbeChoice(FiniteModel):
    """Which of the candidates an adapter has, each by its index."""

    press: Count = 0
    score: Count | None = 0
    """None if none was found."""
    end: Count | None = 0
    """None: an episode ends by its time limit alone."""
    restart: Count = 0
    max_seconds: Count = 120
    """Length of an episode that the game does not end."""
    alive: bool = False
    """Whether each frame earns a little beside the score."""
    reached: bool = False
    """Whether each place that the player reaches first in an episode earns a little beside the score."""


class ProbeDraft(FiniteModel):
    """An adapter of certain candidates."""

    adapter: Annotated[str, Field(max_length=1_000_000)]
    score: Expression | None
    end: Expression | None
    restart: Expression | None
    taps: bool
    unfinished: Lines


class ProbePlay(FiniteModel):
    """Random play by an adapter."""

    choice: ProbeChoice
    steps: Count
    frames: Count
    episodes: Count
    return_mean: float | None
    """None: no episode ended."""
    standard_error: float | None
    length_mean: float | None
    """Steps of an episode."""
    ended: Count
    """Episodes that the game ended; the others ended by time."""
    paid_steps: Count
    """Steps in which the score grew."""
    problems: Annotated[list[Words], Field(max_length=4)]
    """How it differs from what the probe saw, or why it could not be played."""


class ProbeVerified(FiniteModel):
    """The adapter as it was written, played at random; what the probe saw itself is in `candidates`."""

    play: ProbePlay
    tried: Annotated[list[ProbePlay], Field(max_length=MAX_TRIED)]
    """The first plays, in their order."""
    open: Lines
    """Options of the adapter for which no candidate played as the probe saw it."""
    seconds: Number


class PageProbe(FiniteModel):
    """What the browser found; `ProbeReport` has the rest."""

    title: Words
    engine: Words | None
    contracts: Lines
    """What the page offers agents: `render_game_to_text()`, say."""
    starter: ProbeStarter
    moves: Lines
    """Labels of what has an effect."""
    taps: bool
    """Whether only the first moment of a press has an effect."""
    num_places: Count
    """All values that can be read."""
    seen: Expressions
    """What the agent observes."""
    seen_numbers: Annotated[list[Count], Field(max_length=MAX_LINES)]
    """How many numbers of the observation each of `seen` gives, in their order."""
    sees_pixels: bool
    """Whether the agent sees the canvas, in the place of values."""
    score: Expression | None
    end: Expression | None
    restart: Expression | None
    restarts_by_menu: bool
    unheld: Lines
    """What the page does that does not follow the clock."""
    errors: Lines
    """What the page threw."""
    listens: Lines
    """Input events that the page listens to once it is loaded: `keydown`, `touchstart`."""
    cut: Lines
    """What was not looked for to the end, since the time was up."""
    unfinished: Lines
    """Options that the adapter lacks: nothing plays it before they are written."""
    candidates: ProbeCandidates


class ProbeReport(PageProbe):
    """The object of `attract probe --json`."""

    version: Literal[1] = PROBE_VERSION
    adapter: str
    """File that was written."""
    verified: ProbeVerified | None
    """None: it lacks what it takes to be played, or there was no browser for it."""
    left_out: dict[str, Count]
    """Entries that were cut to keep the answer short, by the list's name."""
