"""Oracles that need the outcomes of many episodes, those of the baseline among them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import pstdev
from typing import Final

from attract.playtest.comparison import Change, beyond, compare, least_p_value, threshold
from attract.playtest.outcomes import ENDED, LENGTH, RETURN, Outcomes
from attract.playtest.report import OracleId
from attract.playtest.rules import USUAL, Rules
from attract.schema.playtest import PlaytestAlarm

MIN_EPISODES: Final = 8
"""A player has played so many before anything is said of all of them."""
SPOKEN: Final = {
    RETURN: "the return",
    LENGTH: "the length of an episode",
    ENDED: "the share of episodes that end",
}
TICK_NAME: Final = "slow/microseconds_per_tick"
RESTARTS: Final = {
    "retry-broken/drawn_alike": "the first picture after other episodes is not that of a new copy",
    "retry-broken/restarts_alike": "a restart after other episodes differs from one in a new page",
}
"""What is measured of restarts, and what a 0 means."""
NOT_BEFORE: Final = "; in the baseline not"
NOT_AGAIN: Final = "after this episode the game does not begin again in the same page"
"""How the alarm of a host begins whose record is of that episode."""
WEAK: Final = ("idle", "random", "sticky", "hold")
"""Players that lose where a game can be lost."""


@dataclass(frozen=True)
class Judged:
    """One cause, and the episode that shows it: of `player`, by index."""

    id: str
    oracle: OracleId
    text: str
    player: str | None = None
    index: int | None = None


def judge_changes(before: Outcomes, now: Outcomes, block: int = 1, rules: Rules = USUAL) -> list[Judged]:
    """`changed`, `unreached`, `worse-policy` and `score-exploit`: at most one a number.

    Args:
        block: episodes of a player after one another that depend on each other: they are compared as one.
    """
    both = _Both(before, now, block, rules)
    found: list[Judged] = []
    for name in both.names:
        changed = _changed(name, both)
        judged = (_exploit(both) if name == RETURN else _unreached(name, both)) or changed
        if judged is not None:
            found.append(judged)
    return found


class _Both:
    """What both builds have, and how small a p-value must be."""

    def __init__(self, before: Outcomes, now: Outcomes, block: int, rules: Rules) -> None:
        self.rules = rules
        self.before = before
        self.now = now
        self.block = block
        self.players = [player for player in now.players if player in before.players]
        known = now.names()
        self.names = [name for name in before.names() if name in known]
        least = [least_p_value(*self.pairs(player, name)) for player in self.players for name in self.names]
        least += [self.beyond(player, name)[1] for player in self.players for name in self.own_names]
        self.limit = threshold(least)

    @property
    def own_names(self) -> list[str]:
        """The game's own metrics."""
        return [name for name in self.names if name not in (RETURN, LENGTH, ENDED)]

    def pairs(self, player: str, name: str) -> tuple[dict[int, float], dict[int, float]]:
        """Means of blocks by the index of their first episode, over episodes that both builds have."""
        was, values = self.before.values(player, name), self.now.values(player, name)
        blocks = _blocks(sorted(was.keys() & values.keys()), self.block)
        return tuple(  # type: ignore[return-value]
            {first: math.fsum(each[index] for index in block) / len(block) for first, block in blocks.items()}
            for each in (was, values)
        )

    def beyond(self, player: str, name: str) -> tuple[float | None, float]:
        """See `comparison.beyond`; of each block the highest value."""
        both = self.before.values(player, name), self.now.values(player, name)
        was, values = (
            [max(each[index] for index in block) for block in _blocks(sorted(each), self.block).values()]
            for each in both
        )
        return beyond(was, values)


def _blocks(indices: Sequence[int], size: int) -> dict[int, list[int]]:
    """Indices of one block by its first episode's."""
    found: dict[int, list[int]] = {}
    for index in indices:
        found.setdefault(index - index % size, []).append(index)
    return found


def _changed(name: str, both: _Both) -> Judged | None:
    least = both.rules.threshold("changed", "share")
    changes = [
        change
        for player in both.players
        if (change := compare(player, name, *both.pairs(player, name), both.limit, least))
    ]
    if not changes:
        return None
    strongest = max(changes, key=lambda change: change.effect)
    policies_alone = all(":" in change.player for change in changes)
    if name == RETURN and strongest.direction == "lower" and policies_alone:
        text = f"the trained policy plays worse: {_means(strongest, both)}"
        return Judged("worse-policy", "worse-policy", text, strongest.player, strongest.largest)
    what = SPOKEN.get(name, name)
    number = name.removeprefix("info ")
    return Judged(
        f"changed:{number}:{strongest.direction}",
        "changed",
        f"{what} is {strongest.direction} than in the baseline: {_means(strongest, both)}",
        strongest.player,
        strongest.largest,
    )


def _means(change: Change, both: _Both) -> str:
    share = "" if math.isinf(change.effect) else f", {100 * change.effect:.0f} %"
    played = (outcomes.values(change.player, change.number) for outcomes in (both.before, both.now))
    num_episodes = len(set.intersection(*map(set, played)))
    return (
        f"{change.now:.4g} instead of {change.before:.4g} in the mean of {num_episodes} episodes "
        f"of {change.player}{share}"
    )


def _unreached(name: str, both: _Both) -> Judged | None:
    before, now = both.before, both.now
    best = max((value for player in now.players for value in now.values(player, name).values()), default=None)
    if best is None or name not in both.own_names:
        return None
    for player in both.players:
        value, chance = both.beyond(player, name)
        # No player reaches it.
        if value is None or chance >= both.limit or value <= best:
            continue
        number = name.removeprefix("info ")
        was = list(before.values(player, name).values())
        share = sum(reached >= value for reached in was) / len(was)
        text = (
            f"no player reaches {number} = {value:g} any more, the best is {best:g}; "
            f"in the baseline {player} did in {100 * share:.0f} % of its episodes"
        )
        top = max(now.values(player, name).items(), key=lambda item: item[1])[0]
        return Judged(f"unreached:{number}", "unreached", text, player, top)
    return None


def _exploit(both: _Both) -> Judged | None:
    was = {player: list(both.before.values(player, RETURN).values()) for player in both.before.players}
    known = [value for values in was.values() for value in values]
    if len(known) < MIN_EPISODES:
        return None
    best = max(known)
    limit = best + both.rules.threshold("score-exploit", "deviations") * max(
        *(pstdev(values) for values in was.values() if values), 1e-3 * abs(best)
    )
    for player in both.players:
        # Few episodes say nothing of how far a player's scores lie apart.
        if len(was[player]) < MIN_EPISODES:
            continue
        for index, value in both.now.values(player, RETURN).items():
            if value > limit:
                text = f"{player} scores {value:g}; no player had more than {best:g} in the baseline"
                return Judged("score-exploit", "score-exploit", text, player, index)
    return None


def judge_play(before: Outcomes | None, now: Outcomes, rules: Rules = USUAL) -> Iterator[Judged]:
    """`endless`, `won-without-input` and `cannot-be-lost`."""
    yield from _endless(before, now)
    yield from _cannot_be_lost(before, now)
    yield from _won_without_input(before, now, rules.threshold("won-without-input", "share"))


def _endless(before: Outcomes | None, now: Outcomes) -> Iterator[Judged]:
    """Episodes of a player that ended before, or of every player, go on for ever."""
    for player, episodes in now.players.items():
        played = [outcome for outcome in episodes.values() if outcome.end_reason != "failed"]
        if len(played) < MIN_EPISODES or any(outcome.end_reason != "stopped" for outcome in played):
            continue
        if before is None:
            if all(outcome.end_reason == "stopped" for outcome in now.each()):
                steps = max(outcome.numbers[LENGTH] for outcome in played)
                text = f"no episode of any player ended within {steps:g} steps"
                yield Judged("endless", "endless", text, player, next(iter(episodes)))
                return
            continue
        was = list(before.players.get(player, {}).values())
        if len(was) >= MIN_EPISODES and all(
            outcome.end_reason not in ("stopped", "failed") for outcome in was
        ):
            text = f"no episode of {player} ends any more; in the baseline all of {len(was)} did"
            yield Judged("endless", "endless", text, player, next(iter(episodes)))
            return


def _cannot_be_lost(before: Outcomes | None, now: Outcomes) -> Iterator[Judged]:
    """Weak players whose episodes the game ended live on to the time limit."""
    if before is None:
        return
    for player, episodes in now.players.items():
        if player.split("-")[0] not in WEAK:
            continue
        now_ends = [outcome.end_reason for outcome in episodes.values() if outcome.end_reason != "failed"]
        was_ends = [outcome.end_reason for outcome in before.players.get(player, {}).values()]
        if min(len(now_ends), len(was_ends)) < MIN_EPISODES:
            continue
        if all(end == "terminated" for end in was_ends) and all(end == "time_limit" for end in now_ends):
            text = f"{player} cannot lose: its episodes go on to the time limit; in the baseline it lost all"
            yield Judged("cannot-be-lost", "cannot-be-lost", text, player, next(iter(episodes)))
            return


def _won_without_input(before: Outcomes | None, now: Outcomes, share: float) -> Iterator[Judged]:
    """An agent that does nothing reaches that share of what a trained one does."""
    trained = [player for player in now.players if ":" in player and player.endswith("greedy")]
    idle, random = (_mean_return(now, player) for player in ("idle", "random"))
    policies = [mean for player in trained if (mean := _mean_return(now, player)) is not None]
    if before is not None:
        # What the trained policy reached in the baseline: it may play this build badly.
        policies += [mean for player in trained if (mean := _mean_return(before, player)) is not None]
        random = _mean_return(before, "random") if random is None else random
    if idle is None or random is None or not policies:
        return
    best = max(policies)
    floor = min(idle, random)
    if best - floor > 0 and idle > random and (idle - floor) >= share * (best - floor):
        text = f"an agent that does nothing gets {idle:.4g} in the mean; a trained one gets {best:.4g}"
        index = max(now.values("idle", RETURN).items(), key=lambda item: item[1])[0]
        yield Judged("won-without-input", "won-without-input", text, "idle", index)


def slow_ticks(
    before: Mapping[str, float], now: Mapping[str, float], tick_seconds: float, rules: Rules = USUAL
) -> list[PlaytestAlarm]:
    """The alarm where a tick takes far longer than in the baseline; none where one is not known."""
    was, is_now = before.get(TICK_NAME), now.get(TICK_NAME)
    times, share = (rules.threshold("slow", name) for name in ("times", "share"))
    if was is None or is_now is None or is_now <= times * was or is_now <= share * tick_seconds * 1e6:
        return []
    text = f"a tick takes {is_now:.3g} microseconds; in the baseline it took {was:.3g}"
    return [PlaytestAlarm(oracle="slow", text=text, step=0)]


def small_leak(measured: Mapping[str, float], rules: Rules) -> set[str]:
    """`leak` where the game keeps less of each episode than a project's own threshold; else nothing.

    The usual one is that of the drill, which measures games of short episodes over several of them.
    """
    kilobytes = rules.threshold("leak", "kilobytes")
    is_small = measured.get("leak/bytes_per_episode", 0.0) < 1_000 * kilobytes
    return {"leak"} if kilobytes > 1 and is_small else set()


def new_restarts(before: Mapping[str, float], now: Mapping[str, float]) -> list[PlaytestAlarm]:
    """Alarms where restarts are alike in the baseline and not now."""
    return [
        PlaytestAlarm(oracle="retry-broken", text=f"{text}{NOT_BEFORE}", step=0)
        for name, text in RESTARTS.items()
        if (before.get(name), now.get(name)) == (1.0, 0.0)
    ]


def has_many_forms(oracle: str, text: str) -> bool:
    """Whether a finding is that of a restart which leaves something behind: no two of them need be alike."""
    return oracle == "retry-broken" and not text.endswith(NOT_BEFORE) and not text.startswith(NOT_AGAIN)


def dead_keys(
    before: Mapping[str, float], now: Mapping[str, float], rules: Rules = USUAL
) -> list[PlaytestAlarm]:
    """An alarm for each action that did something of its own in the baseline and does nothing now."""
    least = rules.threshold("dead-key", "share")
    alarms: list[PlaytestAlarm] = []
    for name, share in before.items():
        if name.startswith("dead-key/action") and share >= least and now.get(name) == 0.0:
            action = name.removeprefix("dead-key/")
            text = (
                f"{action} does nothing any more; in the baseline it was unlike all others "
                f"in {100 * share:.0f} % of the states"
            )
            alarms.append(PlaytestAlarm(oracle="dead-key", text=text, step=0))
    return alarms


def _mean_return(outcomes: Outcomes, player: str) -> float | None:
    values = list(outcomes.values(player, RETURN).values())
    return math.fsum(values) / len(values) if len(values) >= MIN_EPISODES else None
