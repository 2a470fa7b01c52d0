"""Games that live in a page: frames a second, memory, what it costs to begin, and the usual way beside it."""

import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attract.games.library import GameLibrary
from attract_benchmarks.harness.figure import Figure
from attract_benchmarks.harness.game_origin import GameOrigin, at_origin
from attract_benchmarks.harness.measure import BenchOptions, Measure

GAMES = ("meteors", "moles", "hopper", "stars", "lanes", "juggler")
PAGES = (1, 4, 16, 64)
REAL_TIME = 60.0
"""Frames a second that a person sees."""
UNIT = "frames/s"
FURTHER_PAGES = 8
MEMORY_STEPS = 20


def names_of(game: str) -> tuple[str, ...]:
    """The figures of one game."""
    speeds = (f"page_games/{game}_{count}_pages" for count in PAGES)
    rest = ("drawn", "restart_ms", "reload_ms", "by_evaluate", "page_mib")
    return (*speeds, *(f"page_games/{game}_{name}" for name in rest))


def _measured(game: str, options: BenchOptions) -> Mapping[str, Figure]:
    async def measure(origin: GameOrigin) -> dict[str, Figure]:
        return await _figures(origin, game, options)

    library = GameLibrary(Path.cwd())
    figures = at_origin(game, library, measure)
    options.say(f"  {game}, memory of a page")
    # In a browser of its own: another that had 64 pages gives the next what it freed.
    return figures | {f"page_games/{game}_page_mib": at_origin(game, library, page_memory)}


async def _figures(origin: GameOrigin, game: str, options: BenchOptions) -> dict[str, Figure]:
    milliseconds = 300 if options.quick else 2_000
    figures: dict[str, Figure] = {}
    for count in PAGES:
        options.say(f"  {game}, {count} pages")
        figures[f"page_games/{game}_{count}_pages"] = await _speed(
            origin, count, milliseconds, options.rounds
        )
    figures[f"page_games/{game}_drawn"] = await _speed(origin, 4, milliseconds, options.rounds, draws=True)
    begun: dict[str, list[float]] = await origin.ask("beginnings", 3 if options.quick else 10)
    for name in ("restart", "reload"):
        figures[f"page_games/{game}_{name}_ms"] = Figure.of(begun[name] or [0.0], "ms", better="lower")
    figures[f"page_games/{game}_by_evaluate"] = await _by_evaluate(
        origin, milliseconds / 1000, options.rounds, figures[f"page_games/{game}_4_pages"]
    )
    return figures


async def page_memory(origin: GameOrigin) -> Figure:
    """Resident memory that each further page takes which has played some steps; the first is not counted."""
    sizes: list[float] = []
    for _ in range(1 + FURTHER_PAGES):
        await origin.ask("single")
        for step in range(MEMORY_STEPS):
            await origin.ask("act", step % 2)
        sizes.append(await origin.renderer_bytes() / 2**20)
    return Figure.of([(sizes[-1] - sizes[0]) / FURTHER_PAGES], "MiB", better="lower")


async def _speed(
    origin: GameOrigin, count: int, milliseconds: int, rounds: int, *, draws: bool = False
) -> Figure:
    reports: list[Mapping[str, Any]] = []
    for _ in range(rounds):
        reports.append(await origin.ask("speed", count, milliseconds, draws))
    rates = [report["ticks"] / report["seconds"] for report in reports]
    return Figure.of(
        rates,
        UNIT,
        ratios=[rate / REAL_TIME for rate in rates],
        against="real time",
        detail={"renderer_mib": await origin.renderer_bytes() / 2**20},
    )


async def _by_evaluate(origin: GameOrigin, seconds: float, rounds: int, ours: Figure) -> Figure:
    """One call of the browser's driver for each step, as environments around a page are usually written."""
    rates: list[float] = []
    await origin.ask("single")
    for _ in range(rounds):
        steps, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            await origin.ask("act", steps % 2)
            steps += 1
        rates.append(steps * origin.ticks_per_step / (time.perf_counter() - began))
    return Figure.of(
        rates,
        UNIT,
        ratios=[rate / ours.value for rate in rates],
        against="four pages stepped from within",
        detail={"times_slower": ours.value / statistics.median(rates)},
    )


PAGE_GAMES = tuple(
    Measure(
        names=names_of(game),
        about=f"{game}, which lives in a page: 1 to 64 pages in one process, drawn, begun, by page.evaluate",
        run=lambda options, game=game: _measured(game, options),
        by_default=False,
    )
    for game in GAMES
)
