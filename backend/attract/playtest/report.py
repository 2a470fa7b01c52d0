"""The report of a playtest: what `attract ci --json` prints and all other forms of it are made from."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from attract.schema.base import Count, FiniteModel, Name, Text
from attract.schema.devices import DeviceName
from attract.schema.match import OutsideReport
from attract.schema.recorded_episode import RecordedEpisode

REPORT_VERSION: Final = 1
OracleId = Literal[
    "error",
    "nan",
    "soft-lock",
    "endless",
    "won-without-input",
    "cannot-be-lost",
    "retry-broken",
    "dead-key",
    "leak",
    "slow",
    "blank",
    "flicker",
    "jump",
    "outside",
    "score-exploit",
    "changed",
    "unreached",
    "worse-policy",
]
ORACLES: Final[tuple[OracleId, ...]] = OracleId.__args__  # pyright: ignore[reportAttributeAccessIssue]
"""All, in the order in which reports list them."""


Level = Literal["off", "warn", "error"]
"""What is made of a finding: nothing, a warning, or a failure of the build."""


class BuildFinding(FiniteModel):
    """One cause, as an oracle found it."""

    id: Name
    """Stable: the oracle's id, of `changed` and `unreached` with the number: `changed:return:lower`."""
    oracle: OracleId
    level: Level = "error"
    """By the rules of `attract.config.ts`; a warning fails no build."""
    text: Text
    """One sentence."""
    file: Text | None = None
    """With line and column: the place in the author's files, where one is known."""
    line: Count | None = None
    column: Count | None = None
    stack: Text | None = None
    player: Text | None = None
    """Who played the episode that shows it."""
    step: Count | None = None
    """Step in which it happens."""
    seconds: float | None = None
    """Game time at that step."""
    confirmed: Count = 0
    """Times it happened again when the episode was replayed on a fresh copy of the game."""
    episode: RecordedEpisode | None = Field(default=None, exclude=True)
    """The shortest episode that shows it; written as a file of its own."""
    episode_file: Text | None = None
    """Name of that file, below the output folder."""
    device: DeviceName | None = None
    """On which it was seen; None: the build was played on one."""
    sheet_file: Text | None = None
    """Name of a PNG of moments around it, below the output folder; None: of a module, or none was taken."""
    replay_game: Text | None = None
    """What `attract replay --game` takes with that file; None: the page has no adapter."""
    test_file: Text | None = None
    """Name of a Playwright test that plays it, below the output folder."""


StateName = Literal["found", "not_judged", "passed"]
WORST: Final[tuple[StateName, ...]] = StateName.__args__  # pyright: ignore[reportAttributeAccessIssue]
"""The worst first."""


class OracleState(FiniteModel):
    """Verdict of one oracle on the build."""

    oracle: OracleId
    state: StateName
    note: Text = ""
    """Why it was not judged, or what it could not see."""


class PlayerOutcome(FiniteModel):
    """What one player did, over all its episodes."""

    player: Text
    device: DeviceName | None = None
    """None: the build was played on one."""
    episodes: Count
    return_mean: float | None
    length_mean: float | None
    """Steps."""
    ended: dict[str, Count] = {}
    """Episodes per end reason."""


class Report(FiniteModel):
    """One run of `attract ci`."""

    format: Literal["attract-ci"] = "attract-ci"
    version: Literal[1] = REPORT_VERSION
    game: Text
    """As it was named."""
    game_id: Text = ""
    """The id in its description; empty: it could not be loaded."""
    build: Annotated[str, Field(max_length=64)]
    """SHA-256 of the module; of a page also of its files."""
    baseline_build: Annotated[str, Field(max_length=64)] | None = None
    """None: there is no baseline."""
    verdict: Literal["plays", "findings", "not_played"]
    summary: Text = ""
    """The verdict in a line, with what was hardly played: what the terminal ends with."""
    problem: Text | None = None
    """`not_played`: why, and what to do."""
    findings: list[BuildFinding] = []
    known: list[BuildFinding] = []
    """What the baseline shows already."""
    left_out: Count = 0
    """Further causes of errors, seen and not replayed since there were so many: they are no findings."""
    oracles: list[OracleState] = []
    players: list[PlayerOutcome] = []
    outside: list[OutsideReport] = []
    """How the programs outside played; their episodes are the last of the players `recorded-K`."""
    episodes: Count = 0
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 plays, 1 findings, 2 could not be played."""
        return {"plays": 0, "findings": 1, "not_played": 2}[self.verdict]


def joined(reports: Sequence[tuple[DeviceName, Report]]) -> Report:
    """One report of a build that was played on several devices, with the worst verdict."""
    each = [report for _, report in reports]
    states: dict[OracleId, OracleState] = {}
    for oracle in ORACLES:
        own = [(state, at) for at, report in reports for state in report.oracles if state.oracle == oracle]
        if own:
            state, device = min(own, key=lambda each: WORST.index(each[0].state))
            is_of_one = state.note and any(other.note != state.note for other, _ in own)
            note = f"{device}: {state.note}" if is_of_one else state.note
            states[oracle] = state.model_copy(update={"note": note})
    fields: dict[str, object] = {
        name: [
            one.model_copy(update={"device": at}) for at, report in reports for one in getattr(report, name)
        ]
        for name in ("findings", "known", "players")
    }
    fields |= {name: sum(getattr(report, name) for report in each) for name in ("left_out", "episodes")}
    for name in ("game_id", "build", "baseline_build"):
        fields[name] = next(
            (value for report in each if (value := getattr(report, name))), getattr(each[0], name)
        )
    problems = [f"{device}: {report.problem}" for device, report in reports if report.problem]
    fields |= {"problem": "\n".join(problems) or None, "oracles": list(states.values())}
    fields["outside"] = [outside for report in each for outside in report.outside]
    return max(each, key=lambda report: report.exit_code).model_copy(update=fields)
