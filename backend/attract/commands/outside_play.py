"""Episodes that programs outside play alone: for the crowd of `attract ci`, and as demonstrations."""

import asyncio
from collections.abc import Collection, Sequence, Set
from typing import TYPE_CHECKING, Final

from attract.commands.crowd_play import HOST_SECONDS, MAX_STEPS
from attract.commands.output import CommandConsole, say
from attract.commands.train_display import printable
from attract.playtest.findings import Build
from attract.schema.base import Seed
from attract.schema.match import OutsideReport
from attract.schema.playtest import MAX_ORDER_SECONDS, PlaytestGame, PlaytestPlays
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.self_play import OUTSIDE

if TYPE_CHECKING:
    from attract.server.in_process import Gateway

ORDER_EPISODES: Final = 16
"""Of one order: its answer has all of them as they were played."""
MAX_EPISODES: Final = 64
"""Recorded ones that an order can have."""
CROWD_SHARE: Final = 0.25
"""Share of the seconds of `attract ci` for the programs outside."""


async def join_crowd(
    gateway: "Gateway",
    build: Build,
    seed: Seed,
    seconds: float,
    recorded: Sequence[RecordedEpisode],
    console: CommandConsole,
) -> tuple[Sequence[RecordedEpisode], Set[str], list[OutsideReport]]:
    """The episodes that the crowd plays again, with those of the programs outside that the command defines.

    So they are judged, and what they show is confirmed, without the programs.

    Returns: the episodes; of those the players `recorded-K` that are the programs'; how these have played.
    Raises: AttractError: as `outside_episodes`.
    """
    most = (MAX_EPISODES - len(recorded)) // max(1, len(gateway.settings.outside))
    played, reports = await outside_episodes(gateway, build, seed, CROWD_SHARE * seconds, most, console)
    theirs = {f"recorded-{len(recorded) + number}" for number in range(len(played))}
    return [*recorded, *played], theirs, reports


async def outside_episodes(
    gateway: "Gateway",
    build: Build,
    seed: Seed,
    seconds: float,
    count: int,
    console: CommandConsole,
    names: Collection[str] | None = None,
) -> tuple[list[RecordedEpisode], list[OutsideReport]]:
    """What programs outside play, as they play it: each for an equal share of the time.

    Args:
        gateway: whose settings define them.
        build: that they play.
        seed: of the episodes.
        seconds: for all of them.
        count: most episodes of each.
        console: for what is wrong with them.
        names: of those that play; None: all.

    Raises: AttractError: as `play`.
    """
    players = gateway.service.membership.outside(lambda text: say(console, printable(text)))
    episodes: list[RecordedEpisode] = []
    problems: dict[str, str] = {}
    names = gateway.settings.outside if names is None else names
    clock = asyncio.get_running_loop().time
    try:
        for name in names:
            until, first = clock() + seconds / len(names), 0
            while first < count and clock() < until:
                number = min(ORDER_EPISODES, count - first)
                order = PlaytestGame(
                    game=build.module.reference,
                    seed=seed,
                    plays=[PlaytestPlays(player=f"{OUTSIDE}{name}", first=first, count=number)],
                    max_steps=MAX_STEPS,
                    record=True,
                    # As they are played again.
                    fresh_every=1,
                    budget_seconds=min(until - clock(), MAX_ORDER_SECONDS),
                )
                checker = gateway.service.membership.checker
                answer = await checker.playtest(
                    build.module, order, HOST_SECONDS, (players, build.description)
                )
                episodes += [each.recorded for each in answer.episodes if each.recorded is not None]
                first += number
                if (problem := answer.problem or next(iter(answer.left_out), None)) is not None:
                    # Such as a game that hangs: the others play on.
                    problems[f"{OUTSIDE}{name}"] = f"{OUTSIDE}{name} could not play on: {problem}"
                    break
    finally:
        await players.close()
    reports = {report.player: report for report in players.reports()}
    for player, problem in problems.items():
        # Such as a game that cannot be begun: nothing was asked.
        report = reports.get(player) or OutsideReport(player=player, decisions=0, defaults=0)
        reports[player] = report.model_copy(update={"problems": [*report.problems, problem]})
    return episodes, list(reports.values())
