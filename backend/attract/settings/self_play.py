"""Who plays the seats of a game of several agents, and the pool of past versions that opponents come from."""

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from attract.settings.base import Fraction, Positive, Settings, split_names

NEWEST: Final = "newest"
POOL: Final = "pool"
RANDOM: Final = "random"
SCRIPT: Final = "script:"
"""Before the file of a module that plays."""
OUTSIDE: Final = "outside:"
"""Before the name of a program that plays, which only a command line of this machine can define."""
OF_RUN: Final = "run:"
"""Begins the id of a policy of another run: no policy of this one has such an id."""
OF_ANY_RUN: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,89}(:[A-Za-z0-9]{1,16})?"
Player = Annotated[
    str,
    Field(
        pattern=rf"^(script:[^\\,]{{1,100}}\.(ts|js|mts|mjs)|outside:[A-Za-z0-9_-]{{1,40}}|{OF_ANY_RUN})$",
        examples=["pool"],
    ),
]
"""Who plays a seat during training."""


class SelfPlaySettings(Settings):
    """Opponents of the policy that learns, in games of several agents."""

    section: ClassVar[str] = "self_play"

    seats: Annotated[
        tuple[Player, ...], BeforeValidator(split_names), Field(title="Players of the seats")
    ] = ()
    """Player of each seat, separated by commas: `newest` learns, `pool` is a past version of it, `random`
    plays at random, `script:players/greedy.ts` is a module with `act(observation, mask, random)`,
    `duel-1:best` a version of another run, `outside:NAME` a program of the command's `--outside`. Which seat
    each of them takes is drawn, so that the policy learns every side. Empty: the newest version plays all
    seats and learns from each."""
    save_steps: Annotated[Positive | None, Field(title="Steps between saved opponents")] = None
    """Agent steps after which the newest version joins the pool. None: a twentieth of the run."""
    window: Annotated[int, Field(ge=1, le=1000, title="Opponents in the pool")] = 10
    """Versions in the pool; the oldest leaves for the next."""
    play_against_latest_model_ratio: Annotated[Fraction, Field(title="Share of the newest version")] = 0.5
    """Probability with which a `pool` seat is played by the newest version, which does not learn there."""
    swap_steps: Annotated[Positive, Field(title="Steps between opponents")] = 20_000
    """Agent steps after which each worker gets other opponents and sides."""
    draw: Literal["uniform", "hard"] = "uniform"
    """How a version is drawn from the pool. `hard`: those that the newest version seldom beats come more
    often."""

    against: Annotated[Player | None, Field(title="Win against")] = None
    """The opponent that `until_win_rate` counts, as `seats` names it; None: all of them."""

    @model_validator(mode="after")
    def _learns(self) -> Self:
        if self.seats and NEWEST not in self.seats:
            raise ValueError("seats: none is `newest`, so nothing would learn; name it for one seat at least")
        if self.against is not None and (self.against == NEWEST or self.against not in self.seats):
            seats = ", ".join(self.seats) or "empty"
            raise ValueError(f"against {self.against!r}: it is no opponent; seats are {seats}")
        return self

    @property
    def is_on(self) -> bool:
        """Whether a seat is played by somebody who does not learn."""
        return any(seat != NEWEST for seat in self.seats)

    @property
    def brought(self) -> tuple[str, ...]:
        """Scripts and versions of other runs that play, each once, as seats name them."""
        others = (seat for seat in self.seats if seat not in (NEWEST, POOL, RANDOM))
        return tuple(dict.fromkeys(seat for seat in others if not seat.startswith(OUTSIDE)))

    @property
    def outside(self) -> tuple[str, ...]:
        """Each program outside that plays, as seats name it."""
        return tuple(dict.fromkeys(seat for seat in self.seats if seat.startswith(OUTSIDE)))

    @property
    def num_learning(self) -> int:
        """Seats of each game that learn; 0: all of them."""
        return self.seats.count(NEWEST) if self.is_on else 0


def policy_id_of(player: str) -> str:
    """Id under which the model or the code of one of `SelfPlaySettings.brought` travels, as version 0."""
    return player if player.startswith(SCRIPT) else f"{OF_RUN}{player}"
