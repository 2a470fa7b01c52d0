"""One playtest: orders to a host in stages of growing size, drills, and replays of what was found."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from attract.errors import AttractError
from attract.playtest.causes import Cause, Causes, FindPlace, Sighting, plain_text
from attract.playtest.judge import (
    NOT_AGAIN,
    NOT_BEFORE,
    TICK_NAME,
    Judged,
    dead_keys,
    has_many_forms,
    judge_changes,
    judge_play,
    new_restarts,
    slow_ticks,
    small_leak,
)
from attract.playtest.outcomes import GAME_ENDS, Outcome, Outcomes, not_played
from attract.playtest.plan import MIN_DRILL_SECONDS, ORDER_SECONDS, Confirmed, Host, Orders, Plan, Played
from attract.playtest.sight import SIGHTS, look, telling_episodes
from attract.schema.playtest import (
    MAX_ORDER_PLAYS,
    AlarmId,
    DrillKind,
    PlaytestAlarm,
    PlaytestDrill,
    PlaytestDrilled,
    PlaytestEpisode,
    PlaytestPlays,
)
from attract.schema.recorded_episode import RecordedEpisode

log = logging.getLogger(__name__)

STAGES: Final = (16, 64, 256)
"""Episodes that every player has played before any of them plays more: a spent budget is spent evenly."""
FIRST_EPISODES: Final = 2
"""Episodes of each player that are recorded first: the drills begin in them."""
HELD_EPISODES: Final = 64
"""Most of a player that holds one action: they differ little."""
CROWD_SHARE: Final = 0.5
DRILL_SHARE: Final = 0.85
"""Shares of the time after which no more is played, or drilled; the rest confirms what was found."""
WHOLE_SHARE: Final = 0.97
"""Where nothing was found so far, drills may take what would confirm it."""
CONFIRMATIONS: Final = 2
MAX_CONFIRMED: Final = 24
"""Causes of errors that are replayed; how many more there are is said."""
MAX_TRIED: Final = 4
"""Replays of a cause until one shows it: its shortest episode as recorded, then the shortest ones by
their players. What went before in a used page has changed some; a player sees where a fresh one differs."""
DRILL_EPISODES: Final = 12
SEEN_OFTEN: Final = 3
"""Different episodes that show one error: it is no chance of one page, whether it comes again or not."""
BLOCK: Final = 2
"""Episodes of one player in a page whose restart leaves something behind: they are compared as one, since
what one leaves changes the next. More of them are more episodes, and fewer pairs to compare."""
BASELINE_HAS_IT: Final = "the baseline has it: what more is left is not looked for"
ENOUGH_RECORDED: Final = 6
"""Where so many of them are recorded already, no others are played again for it."""
SELF_PROVEN: Final = "leak"
"""Its drill measures a second time before it raises an alarm: it takes too long for a third."""
REPLAYED: Final[tuple[AlarmId, ...]] = ("error", "nan")
"""Oracles whose alarm is raised in an episode; those of drills are drilled again."""
LATE_DRILLS: Final[tuple[DrillKind, ...]] = ("soft-lock", "dead-key", "leak")


class Playtest:
    """One use. `host` plays orders, `find_place` knows the author's files, `say` is told what goes on."""

    def __init__(
        self,
        plan: Plan,
        host: Host,
        find_place: FindPlace,
        before: Outcomes | None = None,
        measured_before: Mapping[str, float] | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._plan = plan
        self._before = before
        self._measured_before = measured_before or {}
        self._say = say
        self._causes = Causes(find_place)
        self._played = Played()
        self._played.fresh_every = plan.fresh_every
        self._orders = Orders(plan, host, self._played)
        self._recorded: dict[tuple[str, int], RecordedEpisode] = {}
        self._spoiled: dict[tuple[str, int], set[str]] = {}
        """Keys of new errors by episode: what follows from one is no finding of its own."""
        self._seen: dict[str, int] = {}
        """How often each cause was seen again."""
        self._hangs: list[str] = []

    async def run(self) -> Played:
        """Play, judge and confirm. Raises: AttractError: no browser, or it does not answer."""
        played = self._played
        await self._play_first()
        # A build that is really slow leaves no time for it later.
        if self._plan.wants("slow"):
            await self._begin_drill("slow", [])
        self._judge_ticks()
        for stage in STAGES:
            if not await self._play_until(stage):
                break
            self._say(f"{played.outcomes.num_episodes:,} episodes")
        await self._drill()
        await self._confirm_causes()
        if self._plan.is_judged_by_score:
            await self._judge()
        sights: list[AlarmId] = [oracle for oracle in SIGHTS if self._plan.wants(oracle)]
        if self._plan.has_page and sights and not self._is_hung:
            await self._look(sights)
        return played

    @property
    def _is_hung(self) -> bool:
        return len(self._hangs) >= CONFIRMATIONS

    async def _play(self, plays: Sequence[PlaytestPlays], *, record: bool = False) -> bool:
        """Play in as many orders as it takes; whether all was played."""
        outcomes = self._played.outcomes
        open_plays = list(plays)
        while open_plays and self._orders.has_time(CROWD_SHARE):
            seconds = min(ORDER_SECONDS, max(1.0, self._orders.left(CROWD_SHARE)))
            answer = await self._orders.give(open_plays, record=record, seconds=seconds)
            self._hear(open_plays, answer.episodes)
            outcomes.take_in(open_plays, answer.episodes)
            if answer.problem is not None and answer.is_late:
                self._played.problems["error"] = f"could not be judged: {answer.problem}"
            elif answer.problem is not None:
                # A machine that stands still for a while is no game that hangs: that does so again.
                self._hangs.append(answer.problem)
                if self._is_hung:
                    return False
            still_open = self._open(open_plays)
            if not answer.episodes and still_open and answer.problem is None:
                return False
            open_plays = still_open
        return not open_plays

    def _hear(self, plays: Sequence[PlaytestPlays], episodes: Iterable[PlaytestEpisode]) -> None:
        """Keep alarms and records of episodes that were not played before."""
        every = self._played.fresh_every
        for episode in episodes:
            player = plays[episode.play].player
            if episode.recorded is not None and not any(
                alarm.oracle == "retry-broken" for alarm in episode.alarms
            ):
                self._recorded[player, episode.index] = episode.recorded
            if episode.index in self._played.outcomes.players.get(player, {}):
                continue
            is_fresh = every < 2 or episode.index % every == 0
            for alarm in episode.alarms:
                index = None if player.startswith("recorded-") else episode.index
                cause = self._causes.add(Sighting(alarm, player, episode.recorded, is_fresh, index))
                # Errors of loading, at step 0, end no episode.
                is_of_it = alarm.step > 0 and alarm.oracle in REPLAYED
                if is_of_it and (alarm.oracle, plain_text(alarm.text)) not in self._plan.known:
                    self._spoiled.setdefault((player, episode.index), set()).add(cause.key)

    def _open(self, plays: Sequence[PlaytestPlays]) -> list[PlaytestPlays]:
        outcomes, block = self._played.outcomes, max(1, self._played.fresh_every)
        return [left for play in plays for left in not_played(play, outcomes, block)]

    async def _play_first(self) -> None:
        """A few episodes of each, recorded, and whether the restart of a game in a page can be trusted."""
        plan = self._plan
        first = [PlaytestPlays(player=player, first=0, count=FIRST_EPISODES) for player in plan.players]
        await self._play(first, record=True)
        samples = self._samples(8)
        if not samples or self._is_hung:
            return
        if plan.fresh_every > 1:
            self._played.problems["retry-broken"] = BASELINE_HAS_IT
            return
        if any(cause.text.startswith(NOT_AGAIN) for cause in self._causes.all.values()):
            # It is confirmed with the others; meanwhile each such page is followed by a new one.
            self._played.drilled.add("retry-broken")
            return
        await self._do_drill(PlaytestDrill(kind="retry-broken", episodes=samples))
        for alarm in new_restarts(self._measured_before, self._played.measured):
            self._causes.add(Sighting(alarm, None, None))
        broken = [cause for cause in self._causes.all.values() if cause.oracle == "retry-broken"]
        is_known = any(name == "retry-broken" for name, _ in plan.known)
        for cause in broken:
            if is_known and has_many_forms(cause.oracle, cause.text):
                self._played.problems["retry-broken"] = BASELINE_HAS_IT
                del self._causes.all[cause.key]
            else:
                self._seen[cause.key] = await self._drilled_again(cause)
        is_alike = self._played.measured.get("retry-broken/restarts_alike") == 1.0
        if plan.has_page and plan.fresh_every == 0 and broken and not is_alike:
            # What they played after one another depends on their order. Of a baseline whose restart is clean
            # each episode is as in a fresh page.
            self._played.fresh_every = BLOCK if self._before is None else 1
            self._played.outcomes.players.clear()
            self._recorded.clear()
            await self._play(first, record=True)

    async def _play_until(self, stage: int) -> bool:
        """Whether every player has played as many episodes as this stage has."""
        if self._is_hung:
            return False
        counts = [(player, min(stage, _most_episodes(player))) for player in self._plan.players]
        plays = [PlaytestPlays(player=player, first=0, count=count) for player, count in counts]
        return await self._play(self._open(plays))

    async def _drill(self) -> None:
        kinds: list[DrillKind] = [kind for kind in LATE_DRILLS if self._plan.wants(kind)]
        for place, kind in enumerate(kinds):
            # What one does not need is the others'; the last one proves itself what it finds.
            share = DRILL_SHARE if self._causes.all else WHOLE_SHARE
            seconds = max(MIN_DRILL_SECONDS, self._orders.left(share) / (len(kinds) - place))
            episodes = await self._drill_episodes(kind, seconds)
            if episodes is None:
                self._played.drilled.add(kind)
            else:
                await self._begin_drill(kind, episodes, seconds)
        for alarm in dead_keys(self._measured_before, self._played.measured, self._plan.rules):
            self._causes.add(Sighting(alarm, None, None))

    async def _begin_drill(
        self, kind: DrillKind, episodes: Sequence[RecordedEpisode], seconds: float | None = None
    ) -> None:
        """Drill, if the game can be played and there is time."""
        if self._is_hung:
            self._played.problems[kind] = "the game hangs"
        elif not self._orders.has_time(DRILL_SHARE):
            self._played.problems[kind] = "no time was left"
        else:
            await self._do_drill(PlaytestDrill(kind=kind, episodes=list(episodes)), seconds)

    async def _drill_episodes(self, kind: DrillKind, seconds: float) -> list[RecordedEpisode] | None:
        """What the drill begins in; None: there is nothing to drill."""
        if kind == "dead-key":
            return self._samples(6)
        if kind != "soft-lock" or self._is_hung or not self._orders.has_time(DRILL_SHARE):
            return []
        chosen = self._without_end()
        if not chosen:
            return None
        known = [self._recorded[place] for place in chosen if place in self._recorded]
        missing = [
            PlaytestPlays(player=player, first=index, count=1)
            for player, index in chosen
            if (player, index) not in self._recorded
        ]
        if not missing or len(known) >= ENOUGH_RECORDED:
            return known
        answer = await self._orders.give(missing, record=True, seconds=seconds / 2)
        return known + [episode.recorded for episode in answer.episodes if episode.recorded is not None]

    def _without_end(self) -> list[tuple[str, int]]:
        """Episodes that the game did not end, those that it ended in the baseline first, of many players."""
        found: list[tuple[bool, int, str, int]] = []
        for player, episodes in self._played.outcomes.players.items():
            if player.startswith("recorded-"):
                continue
            before = {} if self._before is None else self._before.players.get(player, {})
            rows = [
                (index not in before or before[index].end_reason not in GAME_ENDS, index)
                for index, outcome in episodes.items()
                if outcome.end_reason in ("time_limit", "stopped") and (player, index) not in self._spoiled
            ]
            found += [(is_old, rank, player, index) for rank, (is_old, index) in enumerate(sorted(rows))]
        return [(player, index) for _, _, player, index in sorted(found)[:DRILL_EPISODES]]

    def _samples(self, count: int) -> list[RecordedEpisode]:
        """Recorded episodes that did not fail, of the most different players."""
        order = ("random", "sticky", "novelty")
        policies = [player for player in self._plan.players if ":" in player]
        held = [player for player in self._plan.players if player not in order and player not in policies]
        players = [*policies[:2], *order, *policies[2:], *held]
        found = [
            self._recorded[player, index]
            for index in range(FIRST_EPISODES)
            for player in players
            if (player, index) in self._recorded and (player, index) not in self._spoiled
        ]
        return [episode for episode in found if episode.error is None and episode.num_steps > 0][:count]

    async def _look(self, sights: Sequence[AlarmId]) -> None:
        """Look at what the game draws in some of the episodes; the longest may have to be played again."""
        places = telling_episodes(self._played.outcomes, self._spoiled)
        missing = [place for place in places[:1] if place not in self._recorded]
        if missing:
            plays = [PlaytestPlays(player=player, first=index, count=1) for player, index in missing]
            answer = await self._orders.give(plays, record=True, seconds=MIN_DRILL_SECONDS)
            self._hear(plays, answer.episodes)
        shown = [(place[0], self._recorded[place]) for place in places if place in self._recorded]
        await look(self._orders, self._played, shown, self._plan.seconds, sights)

    async def _do_drill(self, drill: PlaytestDrill, seconds: float | None = None) -> PlaytestDrilled | None:
        answer = await self._orders.give(drills=[drill], seconds=seconds or self._orders.drill_seconds)
        if not answer.drilled:
            self._played.problems[drill.kind] = answer.problem or "the browser did not finish it"
            return None
        (drilled,) = answer.drilled
        if drilled.problem is not None:
            self._played.problems[drill.kind] = drilled.problem
        elif drill.kind in ("retry-broken", "leak") and drilled.numbers.get("episodes") == 0.0:
            self._played.problems[drill.kind] = self._plan.restart_problem
        else:
            self._played.drilled.add(drill.kind)
        for name, value in drilled.numbers.items():
            self._played.measured[f"{drill.kind}/{name}"] = value
        recorded = [*drilled.recorded, *[None] * len(drilled.alarms)]
        for alarm, episode in zip(drilled.alarms, recorded, strict=False):
            # What is replayed was played in a copy that other episodes had used.
            self._causes.add(Sighting(alarm, None, episode, alarm.oracle not in REPLAYED))
        return drilled

    def _judge_ticks(self) -> None:
        if self._causes_of("slow"):
            # The drill itself has found it so.
            return
        for alarm in self._slow_ticks():
            self._causes.add(Sighting(alarm, None, None))

    def _slow_ticks(self) -> list[PlaytestAlarm]:
        plan = self._plan
        return slow_ticks(self._measured_before, self._played.measured, plan.tick_seconds, plan.rules)

    async def _confirm_causes(self) -> None:
        if self._is_hung:
            text = self._hangs[0]
            alarm = PlaytestAlarm(oracle="error", text=text, step=0)
            self._add(Confirmed("error", text, None, None, alarm, None, len(self._hangs) - 1))
        elif self._hangs:
            self._played.problems["error"] = f"once and not again: {self._hangs[0]}"
        off = self._plan.rules.off | small_leak(self._played.measured, self._plan.rules)
        causes = [cause for cause in self._causes.all.values() if cause.oracle not in off]
        causes.sort(key=lambda cause: cause.shortest.length)
        errors = [cause for cause in causes if cause.oracle in REPLAYED]
        left_out = [cause.key for cause in errors[MAX_CONFIRMED:]]
        self._played.left_out = len(left_out)
        causes = [cause for cause in causes if cause.key not in left_out]
        seen = self._seen
        seen.update(await self._replayed(errors[:MAX_CONFIRMED]))
        for cause in causes:
            if cause.oracle not in REPLAYED and cause.key not in seen:
                is_open = cause.oracle != SELF_PROVEN and self._orders.has_time()
                seen[cause.key] = await self._drilled_again(cause) if is_open else 0
            times = seen.get(cause.key, 0)
            text = cause.text
            is_seen = cause.oracle in REPLAYED or cause.text.startswith(NOT_AGAIN)
            if times < CONFIRMATIONS and is_seen and len(cause.sightings) >= SEEN_OFTEN:
                # A page whose restart leaves a little behind does not go the same way in a fresh one.
                count = len(cause.sightings)
                text = f"{text} (in {count} episodes; the shortest go otherwise in a fresh page)"
            elif times < CONFIRMATIONS and cause.oracle != SELF_PROVEN:
                why = (
                    "seen once and not again when replayed"
                    if self._orders.has_time()
                    else "no time was left to replay"
                )
                self._played.problems.setdefault(cause.oracle, f"{why}: {cause.text}")
                continue
            shown = cause.again or cause.shortest
            self._add(Confirmed(cause.oracle, text, cause, shown.player, shown.alarm, shown.recorded, times))

    async def _replayed(self, causes: Sequence[Cause]) -> dict[str, int]:
        """How often each is seen when one of its episodes is played on fresh copies, by its key."""
        seen: dict[str, int] = {}
        for rank in range(MAX_TRIED):
            tried: list[tuple[Cause, Sighting]] = []
            for cause in causes:
                known = cause.replayable[:1] if rank == 0 else cause.playable[rank - 1 : rank]
                if known and seen.get(cause.key, 0) < CONFIRMATIONS:
                    tried.append((cause, known[0]))
            if not tried or (rank > 0 and not self._orders.has_time()):
                continue
            for (cause, _), again in zip(tried, await self._again(tried, by_player=rank > 0), strict=True):
                if len(again) > seen.get(cause.key, 0):
                    seen[cause.key] = len(again)
                    cause.again = again[0]
        return seen

    async def _again(
        self, tried: Sequence[tuple[Cause, Sighting]], *, by_player: bool
    ) -> list[list[Sighting]]:
        """What the replays of each show: as it was recorded, or by its player."""
        recorded = None if by_player else [each.recorded for _, each in tried if each.recorded is not None]
        plays = [
            PlaytestPlays(player=f"recorded-{k}", first=0, count=1)
            if each.player is None or each.index is None or not by_player
            else PlaytestPlays(player=each.player, first=each.index, count=1)
            for k, (_, each) in enumerate(tried)
            for _ in range(CONFIRMATIONS)
        ]
        answer = await self._orders.give(
            plays, episodes=recorded, is_fresh=True, seconds=self._orders.replay_seconds
        )
        found: list[list[Sighting]] = [[] for _ in tried]
        for episode in answer.episodes:
            place = episode.play // CONFIRMATIONS
            cause, sighting = tried[place]
            wanted = plain_text(sighting.alarm.text)
            for alarm in episode.alarms:
                if alarm.oracle == cause.oracle and plain_text(alarm.text) == wanted:
                    found[place].append(Sighting(alarm, sighting.player, episode.recorded))
                    break
        return found

    async def _drilled_again(self, cause: Cause) -> int:
        """How often a drill finds it again."""
        times = 0
        for _ in range(CONFIRMATIONS):
            try:
                alarms = await self._seen_again(cause)
            except AttractError as error:
                log.warning("a finding could not be confirmed: %s", error)
                break
            texts = {plain_text(alarm.text) for alarm in alarms if alarm.oracle == cause.oracle}
            # They have many forms.
            is_any = cause.oracle == "slow" or has_many_forms(cause.oracle, cause.text)
            times += bool(texts) if is_any else plain_text(cause.text) in texts
        return times

    async def _seen_again(self, cause: Cause) -> Sequence[PlaytestAlarm]:
        oracle, recorded = cause.oracle, cause.shortest.recorded
        if oracle == "dead-key":
            before = dict(self._played.measured)
            await self._do_drill(PlaytestDrill(kind="dead-key", episodes=self._samples(6)))
            now = self._played.measured
            is_same = all((now.get(name) == 0.0) == (value == 0.0) for name, value in before.items())
            return self._causes_of("dead-key") if is_same else []
        kind: DrillKind = oracle  # type: ignore[assignment]
        if kind == "slow" and TICK_NAME in self._measured_before:
            drilled = await self._do_drill(PlaytestDrill(kind=kind))
            found = self._slow_ticks()
            return self._causes_of("slow") if found or (drilled is not None and drilled.alarms) else []
        episodes = [] if recorded is None else [recorded]
        if oracle == "retry-broken" and not cause.text.startswith(NOT_AGAIN):
            samples, measured = self._samples(8), self._played.measured
            first, last = (int(measured.get(f"retry-broken/{name}", 0)) for name in ("first", "last"))
            is_of_all = cause.text.endswith(NOT_BEFORE)
            episodes = samples if is_of_all else [*samples, samples[0]][first : last + 1]
        answer = await self._orders.give(
            drills=[PlaytestDrill(kind=kind, episodes=episodes)], seconds=self._orders.drill_seconds
        )
        alarms: list[PlaytestAlarm] = []
        for drilled in answer.drilled:
            measured = {f"{kind}/{name}": value for name, value in drilled.numbers.items()}
            alarms += [*drilled.alarms, *new_restarts(self._measured_before, measured)]
        return alarms

    def _causes_of(self, oracle: str) -> list[PlaytestAlarm]:
        return [cause.shortest.alarm for cause in self._causes.all.values() if cause.oracle == oracle]

    async def _judge(self) -> None:
        found = {finding.cause.key for finding in self._played.findings if finding.cause is not None}
        spoiled = {place for place, keys in self._spoiled.items() if keys & found}
        now = self._played.outcomes.without(spoiled)
        before = None if self._before is None else self._before.without(spoiled)
        rules = self._plan.rules
        judged = list(judge_play(before, now, rules))
        if before is not None:
            judged += judge_changes(before, now, max(1, self._plan.fresh_every), rules)
        judged = [judgement for judgement in judged if rules.level(judgement.id) != "off"]
        for judgement, (recorded, times) in zip(judged, await self._shown(judged), strict=True):
            self._add(Confirmed(judgement.id, judgement.text, None, judgement.player, None, recorded, times))

    async def _shown(self, judged: Sequence[Judged]) -> list[tuple[RecordedEpisode | None, int]]:
        """Per judgement the episode that shows it, and how often that goes the same way again."""
        shown: list[tuple[RecordedEpisode | None, int]] = [(None, 0)] * len(judged)
        places = [
            (place, judgement.player, judgement.index)
            for place, judgement in enumerate(judged)
            if judgement.player is not None and judgement.index is not None
        ][: MAX_ORDER_PLAYS // CONFIRMATIONS]
        plays = [
            PlaytestPlays(player=player, first=index, count=1)
            for _, player, index in places
            for _ in range(CONFIRMATIONS)
        ]
        if not plays:
            return shown
        seconds = self._orders.replay_seconds
        answer = await self._orders.give(plays, record=True, is_fresh=True, seconds=seconds)
        for episode in answer.episodes:
            place, player, index = places[episode.play // CONFIRMATIONS]
            recorded, times = shown[place]
            is_same = Outcome.of(episode) == self._played.outcomes.players[player][index]
            shown[place] = (recorded or episode.recorded, times + is_same)
        return shown

    def _add(self, confirmed: Confirmed) -> None:
        self._played.findings.append(confirmed)


def _most_episodes(player: str) -> int:
    if player.startswith("recorded-"):
        return 1
    return HELD_EPISODES if player.startswith(("hold-", "idle")) else STAGES[-1]
