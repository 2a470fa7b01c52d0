"""What looks wrong: some of the crowd's episodes are played once more, drawn, in a drill of its own."""

import time
from collections.abc import Collection, Sequence
from typing import Final

from attract.playtest.causes import plain_text
from attract.playtest.outcomes import LENGTH, Outcomes
from attract.playtest.plan import MIN_DRILL_SECONDS, Confirmed, Orders, Played
from attract.schema.playtest import AlarmId, PlaytestAlarm, PlaytestDrill, PlaytestDrilled
from attract.schema.recorded_episode import RecordedEpisode

SIGHTS: Final[tuple[AlarmId, ...]] = ("blank", "flicker", "jump", "outside")
SIGHT_SHARE: Final = 0.24
"""Beside the time of the playtest, whose other drills have none to spare."""
FIRST_SHARE: Final = 0.6
"""Of that for the first look; the rest is for the two that confirm it."""
CONFIRMATIONS: Final = 2
CONFIRM_SECONDS: Final = 5.0
"""At most, for one of those, however little is left: it ends once the moment has passed."""
MAX_FOUND: Final = 6
MAX_EPISODES: Final = 6
NO_PAGE: Final = "only a game in a page is looked at"


def telling_episodes(outcomes: Outcomes, spoiled: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
    """Player and index of what shows most of a game: the longest, without input, by each kind of player."""
    players = outcomes.players
    lengths = {
        (player, index): outcome.numbers[LENGTH]
        for player, episodes in players.items()
        for index, outcome in episodes.items()
        if outcome.numbers[LENGTH] > 0
        and (player, index) not in spoiled
        and not player.startswith("recorded-")
    }
    longest = sorted(lengths, key=lambda place: -lengths[place])[:1]
    policies = [player for player in players if ":" in player]
    order = dict.fromkeys(("idle", *policies[:1], "sticky", "novelty", "random", *players))
    return list(dict.fromkeys([*longest, *((player, 0) for player in order if (player, 0) in lengths)]))


async def look(
    orders: Orders,
    played: Played,
    episodes: Sequence[tuple[str, RecordedEpisode]],
    seconds: float,
    sights: Collection[AlarmId] = SIGHTS,
) -> None:
    """Add to `played` what looks wrong, and alike in two further drills.

    Args:
        episodes: by player, as `telling_episodes` orders them.
        seconds: time of the whole playtest.
        sights: the oracles that judge.

    Raises: AttractError: no browser, or it does not answer.
    """
    end = time.monotonic() + SIGHT_SHARE * seconds
    shown = [episode for _, episode in episodes][:MAX_EPISODES]
    seconds = max(MIN_DRILL_SECONDS, FIRST_SHARE * SIGHT_SHARE * seconds)
    first = await _drilled(orders, played, shown, seconds)
    if not first:
        return
    if first[0].problem is not None:
        played.problems.update(dict.fromkeys(SIGHTS, first[0].problem))
        return
    played.drilled.add("sight")
    played.measured["sight/moved"] = first[0].numbers.get("moved", 0.0)
    found = list(zip(first[0].alarms, first[0].recorded, strict=False))
    first_seen: dict[tuple[str, str], tuple[PlaytestAlarm, RecordedEpisode]] = {}
    # The first that was played: what others leave in a page may change the later ones.
    for alarm, episode in found:
        if alarm.oracle in sights and episode is not None:
            first_seen.setdefault(_key(alarm), (alarm, episode))
    seconds = max(CONFIRM_SECONDS, (end - time.monotonic()) / (CONFIRMATIONS * max(1, len(first_seen))))
    for key, (alarm, episode) in list(first_seen.items())[:MAX_FOUND]:
        times = 0
        for _ in range(CONFIRMATIONS):
            for drilled in await _drilled(orders, played, [episode], seconds, alarm.step):
                times += key in map(_key, drilled.alarms)
        if times < CONFIRMATIONS:
            why = "seen once and not again when replayed"
            played.problems.setdefault(alarm.oracle, f"{why}: {alarm.text}")
            continue
        player = next((name for name, each in episodes if each == episode), None)
        played.findings.append(Confirmed(alarm.oracle, alarm.text, None, player, alarm, episode, times))


def _key(alarm: PlaytestAlarm) -> tuple[str, str]:
    return alarm.oracle, plain_text(alarm.text)


async def _drilled(
    orders: Orders,
    played: Played,
    episodes: Sequence[RecordedEpisode],
    seconds: float,
    last_step: int | None = None,
) -> Sequence[PlaytestDrilled]:
    """What a drill says; nothing where there was no time, with a note."""
    drill = PlaytestDrill(kind="sight", episodes=list(episodes), last_step=last_step)
    answer = await orders.give(drills=[drill], seconds=seconds)
    if not answer.drilled:
        why = answer.problem or "the browser did not finish it"
        played.problems.update(dict.fromkeys(SIGHTS, f"could not be judged: {why}"))
    return answer.drilled
