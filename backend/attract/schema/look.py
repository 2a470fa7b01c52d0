"""The answer of `attract look`: what a page shows, keeps and says after some frames of given input."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from attract.schema.base import Count, FiniteModel

LOOK_VERSION: Final = 1
"""One more when a field of `LookReport` goes, or has another meaning."""
MAX_LISTED: Final = 400
"""Entries of each list, before the answer is cut to its length."""
MAX_ALERTS: Final = 20
MAX_WORDS: Final = 400
"""Characters of one text of the page."""

Words = Annotated[str, Field(max_length=MAX_WORDS)]
Selector = Annotated[str, Field(max_length=2_000)]
Number = Annotated[float, Field()]
Direction = Literal["up", "down", "both", "changed", "still"]
"""`changed`: a value without an order, such as a text."""
Scalar = float | bool | Words | None
Plain = Annotated[Any, WithJsonSchema({"tsType": "unknown"})]
"""JSON, cut to four levels and 100 entries each."""


class LookInput(FiniteModel):
    """An input that was asked for."""

    name: Words
    """A key, the target of a click, or an action of the adapter: `moved_by` uses it."""
    first_frame: Count
    end_frame: Count
    """The first frame without it."""
    problem: Words | None
    """Why it did nothing: there was no such element, say. None: it was pressed."""
    num_moved: Count | None
    """Number of globals that differ from a play without this name; None: that play was left out for time."""


class LookText(FiniteModel):
    """A text that is visible at the end."""

    text: Words
    x: Number
    """The middle, in CSS pixels of the page's window; as `y`."""
    y: Number
    on: Literal["element", "canvas"]


class LookButton(FiniteModel):
    """Something that may be clicked."""

    selector: Selector | None
    """For `--click`; None: it is drawn on a canvas, click its place."""
    text: Words
    x: Number
    y: Number
    count: Count
    """How many elements like it there are side by side: cells of a board."""


class LookThing(FiniteModel):
    """Drawn or positioned things of one look, as `drawn(w).things(look)` has them in an adapter."""

    look: Words
    count: Count
    x: Number
    """The first one's middle, as a share of its canvas or the window; as `y`."""
    y: Number
    width: Number
    height: Number


class LookGlobal(FiniteModel):
    """A number, boolean, text, list or grid that can be read from the page's window `w`."""

    path: Annotated[str, Field(max_length=1_000)]
    """An expression for `--eval` and for adapters; without `w.`: a variable of a classic script."""
    kind: Literal["number", "truth", "word", "list", "grid"]
    value: Scalar
    """At the end; of a list its length, of a grid the number of its cells."""
    fields: Annotated[list[Words], Field(max_length=16)]
    """The numbers of each element of a list."""
    row: Annotated[list[Number | None], Field(max_length=16)]
    """`fields` of a list's first element, or a grid's first cells."""
    first: Scalar
    """At frame 0."""
    low: Number | None
    high: Number | None
    direction: Direction
    """From sample to sample."""
    moved_by: dict[Words, Direction]
    """Inputs without which the play has another value here, and how they move it; the most specific first."""


class LookLine(FiniteModel):
    """A line of a console."""

    by: Literal["page", "adapter"]
    level: Literal["log", "info", "warn", "error", "debug"]
    text: Words
    times: Count
    """How often it was written in a row."""


class LookEval(FiniteModel):
    """The value of `--eval` after the last frame."""

    value: Plain
    error: Words | None


class LookStep(FiniteModel):
    """What an adapter says after a step; step 0 is the episode's start."""

    step: Count
    frame: Count
    observation: Plain
    """As `observe` gave it; of pixels a text with their shape."""
    score: Plain
    """What `score` gives, or the sum of `reward` in this step."""
    over: Plain
    mask: Plain
    """What `allowed` gives; None: the adapter has none."""


class LookEpisode(FiniteModel):
    """The game as its adapter has it."""

    game_id: Words
    actions: Annotated[list[Words], Field(max_length=MAX_LISTED)]
    """Labels for `--action`; empty: the actions have none."""
    ticks_per_step: Count
    has_score: bool
    """Whether `score` of a step is the adapter's `score`, not a sum of its `reward`."""
    steps: Annotated[list[LookStep], Field(max_length=MAX_LISTED)]
    num_steps: Count


class PageLook(FiniteModel):
    """What the browser found; `LookReport` has the rest."""

    title: Words
    engine: Words | None
    contracts: Annotated[list[Words], Field(max_length=MAX_LISTED)]
    """What the page offers agents: `render_game_to_text()`, say."""
    size: tuple[Number, Number]
    """Width and height of the page's window, in CSS pixels."""
    frames: Count
    """Frames that were played; fewer than asked for when the page or the episode ended."""
    ended: Words | None
    """Why it ended early."""
    inputs: Annotated[list[LookInput], Field(max_length=MAX_LISTED)]
    texts: Annotated[list[LookText], Field(max_length=MAX_LISTED)]
    buttons: Annotated[list[LookButton], Field(max_length=MAX_LISTED)]
    things: Annotated[list[LookThing], Field(max_length=MAX_LISTED)]
    globals: Annotated[list[LookGlobal], Field(max_length=MAX_LISTED)]
    """Moved by an input, then changed by themselves, then still; each nearest first."""
    num_globals: Count
    """All that can be read, listed or not."""
    console: Annotated[list[LookLine], Field(max_length=MAX_LISTED)]
    alerts: Annotated[list[Words], Field(max_length=MAX_ALERTS)]
    errors: Annotated[list[Words], Field(max_length=MAX_LISTED)]
    """What the page or the adapter threw."""
    notes: Annotated[list[Words], Field(max_length=MAX_LISTED)]
    """What the page does that does not work here, or not by the clock."""
    eval: LookEval | None
    episode: LookEpisode | None


class LookMissing(FiniteModel):
    """A request that failed."""

    address: Words
    """Path on the page's own server, or a whole address."""
    why: Words


class LookReport(PageLook):
    """The object of `attract look --json`."""

    version: Literal[1] = LOOK_VERSION
    missing: Annotated[list[LookMissing], Field(max_length=MAX_LISTED)]
    png: str | None
    """File with the picture."""
    sheet: str | None
    """File with the sheet of pictures."""
    seconds: Number
    left_out: dict[str, Count]
    """Entries that were cut to keep the answer short, by the list's name: `--full` has them."""
