"""A block's episodes between the columns that travel and the rows that are counted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Final, NamedTuple, Self

from attract.errors import ProtocolError
from attract.schema.base import MAX_AMOUNT
from attract.schema.episode_results import EndReason, EpisodeColumns, EpisodeResult
from attract.schema.frames import malformed
from attract.schema.game import GameDescription

NOTHING: Final[Mapping[str, float]] = {}


class Episode(NamedTuple):
    """One finished (or cut) episode of one instance; the fields are those of `EpisodeResult`."""

    instance_id: int
    episode: int
    step: int
    returns: Sequence[float]
    """Raw undiscounted return per agent."""
    length_steps: int
    length_ticks: int
    end_reason: EndReason
    metrics: Mapping[str, float] = NOTHING
    reward_terms: Mapping[str, float] = NOTHING
    lesson_id: str | None = None


class Episodes:
    """Episodes kept as the columns they came in: most are only counted, and a row costs more than a number.

    `columns` passed `check_columns`, and each episode has its `num_agents` returns.
    """

    __slots__ = ("columns", "num_agents")

    def __init__(self, columns: EpisodeColumns, num_agents: int) -> None:
        self.columns = columns
        self.num_agents = num_agents

    @classmethod
    def of(cls, rows: Iterable[Episode], num_agents: int) -> Self:
        """These episodes, in this order."""
        return cls(columns_of(tuple(rows)), num_agents)

    def __len__(self) -> int:
        return len(self.columns.instance_id)

    def __iter__(self) -> Iterator[Episode]:
        columns, count = self.columns, len(self)
        return map(
            Episode._make,
            zip(
                columns.instance_id,
                columns.episode,
                columns.step,
                self.returns,
                columns.length_steps,
                columns.length_ticks,
                columns.end_reason,
                _rows(columns.metrics, count),
                _rows(columns.reward_terms, count),
                columns.lesson_id or repeat(None, count),
                strict=True,
            ),
        )

    @property
    def returns(self) -> Iterator[tuple[float, ...]]:
        """Returns of each episode, one per agent."""
        return zip(*[iter(self.columns.returns)] * self.num_agents, strict=True)

    def finished(self) -> "Episodes":
        """All but those that were cut (rule E1)."""
        if "cut" not in self.columns.end_reason:
            return self
        return Episodes.of((episode for episode in self if episode.end_reason != "cut"), self.num_agents)


def check_columns(columns: EpisodeColumns) -> None:
    """Check that every column except `returns`, whose length depends on the game, has an entry per episode.

    Raises: ProtocolError: naming the one that has not, or that has a negative number where there is none.
    """
    count = len(columns.instance_id)
    for name in ("instance_id", "episode", "step", "length_steps", "length_ticks"):
        numbers: list[int] = getattr(columns, name)
        if len(numbers) != count:
            raise _uneven(name, numbers, count)
        if count and min(numbers) < 0:
            raise malformed(f"block.episodes.{name}: {min(numbers)}", fix="it must be 0 or more")
    if len(columns.end_reason) != count:
        raise _uneven("end_reason", columns.end_reason, count)
    if columns.lesson_id and len(columns.lesson_id) != count:
        raise _uneven("lesson_id", columns.lesson_id, count)
    for kind, by_name in (("metrics", columns.metrics), ("reward_terms", columns.reward_terms)):
        for name, values in by_name.items():
            if len(values) != count:
                raise _uneven(f"{kind}.{name}", values, count)
            _check_amounts(f"{kind}.{name}", [value for value in values if value is not None])
    _check_amounts("returns", columns.returns)


def check_names(named: EpisodeColumns | EpisodeResult, description: GameDescription) -> None:
    """Check that an episode has only names that its game declares: each name becomes a metric of the run.

    Raises: ProtocolError: naming one that is not declared.
    """
    for kind, given, declared in (
        ("metrics", named.metrics, description.metrics),
        ("reward_terms", named.reward_terms, description.reward_terms),
    ):
        if not given.keys() <= declared.keys():
            strange = min(given.keys() - declared.keys())
            raise malformed(
                f"episodes.{kind}: {strange[:80]!r}", fix=f"the game declares {list(declared)[:20]}"
            )


def _check_amounts(name: str, values: Sequence[float]) -> None:
    if values and not (min(values) >= -MAX_AMOUNT and max(values) <= MAX_AMOUNT):
        worst = max(values, key=abs)
        raise malformed(f"block.episodes.{name}: {worst:g}", fix=f"at most {MAX_AMOUNT:g} either way")


def _uneven(name: str, entries: Sequence[object], count: int) -> ProtocolError:
    return malformed(
        f"block.episodes.{name}: {len(entries)} entries", fix=f"`instance_id` names {count} episodes"
    )


def columns_of(episodes: Sequence[EpisodeResult | Episode]) -> EpisodeColumns:
    """The wire form of these episodes, in this order."""
    lessons = [episode.lesson_id for episode in episodes]
    return EpisodeColumns(
        instance_id=[episode.instance_id for episode in episodes],
        episode=[episode.episode for episode in episodes],
        step=[episode.step for episode in episodes],
        returns=list(chain.from_iterable(episode.returns for episode in episodes)),
        length_steps=[episode.length_steps for episode in episodes],
        length_ticks=[episode.length_ticks for episode in episodes],
        end_reason=[episode.end_reason for episode in episodes],
        metrics=_by_name([episode.metrics for episode in episodes]),
        reward_terms=_by_name([episode.reward_terms for episode in episodes]),
        lesson_id=lessons if any(lesson is not None for lesson in lessons) else [],
    )


def _rows(columns: Mapping[str, Sequence[float | None]], count: int) -> Iterator[Mapping[str, float]]:
    if not columns:
        return repeat(NOTHING, count)
    return (
        {name: value for name, value in zip(columns, values, strict=True) if value is not None}
        for values in zip(*columns.values(), strict=True)
    )


def _by_name(rows: Sequence[Mapping[str, float]]) -> dict[str, list[float | None]]:
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}
