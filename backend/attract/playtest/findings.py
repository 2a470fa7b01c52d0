"""What a playtest saw, as its report has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from attract.games.kept_game import PageListing, build_hashes
from attract.games.library import GameModule
from attract.playtest.outcomes import LENGTH, RETURN, Outcomes
from attract.playtest.plan import Confirmed, Played
from attract.playtest.report import ORACLES, BuildFinding, Level, OracleId, OracleState, PlayerOutcome
from attract.playtest.sight import NO_PAGE, SIGHTS
from attract.schema.game import GameDescription
from attract.schema.recorded_episode import RecordedEpisode

WITHOUT_BASELINE: Final[dict[OracleId, str]] = dict.fromkeys(
    ("cannot-be-lost", "dead-key", "score-exploit", "changed", "unreached", "worse-policy"),
    "there is no baseline: write one by --update-baseline",
)


@dataclass(frozen=True)
class Build:
    """A game that can be played, and what names its build."""

    module: GameModule
    description: GameDescription
    listing: PageListing | None = None
    """The page's files, where the game has its own page."""

    @property
    def sha256(self) -> str:
        """Hash of the page's files, or else of the module."""
        return self.module.reference.sha256 if self.listing is None else self.listing.sha256


def finding_of(
    one: Confirmed, build: Build, replay_game: str | None = None, level: Level = "error"
) -> BuildFinding:
    """What is said of it. `replay_game`, `level`: see `BuildFinding`."""
    description = build.description
    cause, alarm = one.cause, one.alarm
    # What is measured over many episodes happens in no step.
    # What is seen passes by within a step.
    ticks = alarm.tick if alarm is not None and alarm.oracle in SIGHTS else None
    step = None if one.episode is None else one.episode.num_steps if alarm is None else alarm.step
    episode = None if one.episode is None else filled(one.episode, build)
    place = None if cause is None else cause.place
    return BuildFinding(
        id=one.id,
        oracle=one.id.split(":")[0],  # type: ignore[arg-type]
        level=level,
        text=one.text,
        file=None if place is None else place.file,
        line=None if place is None else place.line,
        column=None if place is None else place.column,
        stack=None if cause is None else cause.stack,
        player=one.player,
        step=step,
        seconds=None
        if step is None
        else step * description.seconds_per_step
        if ticks is None
        else ticks * description.tick_seconds,
        confirmed=one.times,
        episode=episode,
        replay_game=replay_game,
    )


def filled(episode: RecordedEpisode, build: Build) -> RecordedEpisode:
    return episode.model_copy(
        update={
            **build_hashes(build.module, build.description, build.listing),
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
    )


def oracle_states(
    played: Played,
    findings: Sequence[BuildFinding],
    has_baseline: bool,
    *,
    has_policy: bool,
    off: Mapping[str, str] | None = None,
) -> list[OracleState]:
    """The state of each. `off`: why an oracle was not to judge."""
    found = {finding.oracle for finding in findings}
    states: list[OracleState] = []
    for oracle in ORACLES:
        note = played.problems.get(oracle, "")
        state = "found" if oracle in found else "passed"
        if off is not None and oracle in off:
            state, note = "not_judged", off[oracle]
        elif state == "passed":
            if not has_baseline and oracle in WITHOUT_BASELINE:
                state, note = "not_judged", WITHOUT_BASELINE[oracle]
            elif oracle in ("won-without-input", "worse-policy") and not has_policy:
                state, note = "not_judged", "there is no trained policy: give one by --policy"
            elif oracle in SIGHTS:
                state = "passed" if "sight" in played.drilled else "not_judged"
                note = note or ("" if state == "passed" else NO_PAGE)
            elif oracle in ("soft-lock", "dead-key", "leak", "slow", "retry-broken"):
                state = "passed" if oracle in played.drilled else "not_judged"
        states.append(OracleState(oracle=oracle, state=state, note=note))  # type: ignore[arg-type]
    return states


def players_of(outcomes: Outcomes, *, has_score: bool = True) -> list[PlayerOutcome]:
    """Each player with its means; without a score there is no return, but the seconds that were played."""
    rows: list[PlayerOutcome] = []
    for player, episodes in outcomes.players.items():
        returns, lengths = (list(outcomes.values(player, name).values()) for name in (RETURN, LENGTH))
        ended: dict[str, int] = {}
        for outcome in episodes.values():
            ended[outcome.end_reason] = ended.get(outcome.end_reason, 0) + 1
        rows.append(
            PlayerOutcome(
                player=player,
                episodes=len(episodes),
                return_mean=sum(returns) / len(returns) if returns and has_score else None,
                length_mean=sum(lengths) / len(lengths) if lengths else None,
                ended=ended,
            )
        )
    return rows
