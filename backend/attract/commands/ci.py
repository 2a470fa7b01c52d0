"""`attract ci`: plays a build by a crowd of players, judges it, and says what is wrong with it."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from attract.browser.chromium import require_chromium
from attract.browser.host import join_url
from attract.browser.process import HostProcess
from attract.commands.destination import check_writable, writing
from attract.commands.output import CommandConsole
from attract.commands.probe import SIZE, found_in, found_lines
from attract.errors import AttractError, ConfigurationError, GameError
from attract.games.library import GameModule
from attract.games.page_listing import list_page
from attract.games.page_places import ADAPTER, PagePlace, names_page, page_place
from attract.games.project import find_project_dir
from attract.playtest.baseline import Baseline, KnownFinding, read_baseline, write_baseline
from attract.playtest.causes import plain_text
from attract.playtest.comparison import LOOKS
from attract.playtest.outcomes import LENGTH, RETURN, Outcomes
from attract.playtest.players import crowd
from attract.playtest.policies import exported_policy, hashes, is_exported, run_policies
from attract.playtest.report import ORACLES, Finding, OracleId, OracleState, PlayerOutcome, Report
from attract.playtest.session import Confirmed, Plan, Played, Playtest
from attract.playtest.unadapted import playable
from attract.run.episode_keeper import description_sha256
from attract.runs.directory import write_atomically
from attract.runs.episode_files import SUFFIX, read_episode, written
from attract.schema.base import Seed
from attract.schema.game import GameDescription
from attract.schema.playtest import GamePlaytested, PlaytestGame, PlaytestPolicy
from attract.schema.recorded_episode import RecordedEpisode
from attract.server.in_process import Gateway, running_gateway
from attract.settings.run import ServerSettings

MAX_STEPS: Final = 3_000
"""Of an episode: a game without an end would be played for ever."""
CHECK_SECONDS: Final = 3.0
HOST_SECONDS: Final = 30.0
MAX_FRAME_BYTES: Final = 256 << 20
"""An answer has thousands of outcomes, and recorded episodes."""
WITHOUT_BASELINE: Final[dict[OracleId, str]] = dict.fromkeys(
    ("cannot-be-lost", "dead-key", "score-exploit", "changed", "unreached", "worse-policy"),
    "there is no baseline: write one by --update-baseline",
)


@dataclass(frozen=True)
class CiOptions:
    """Options of the command line."""

    game: str
    baseline: Path | None = None
    """None: `attract-ci.json` beside the game, if it is there."""
    update_baseline: bool = False
    seconds: float = 120.0
    seed: int = 0
    policy: str | None = None
    """A run, or a folder that `attract export` wrote."""
    episodes: Path | None = None
    """A folder of recorded episodes that are played, too."""
    out: Path = Path("attract-ci")
    """Folder for the episodes of findings."""
    json_output: bool = False
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Build:
    """A game that can be played, and what names its build."""

    module: GameModule
    description: GameDescription
    sha256: str
    page_sha256: str | None


@dataclass(frozen=True)
class Given:
    """What a build is judged by."""

    policies: Sequence[PlaytestPolicy]
    recorded: Sequence[RecordedEpisode]
    baseline: Baseline | None
    path: Path | None
    """Of the baseline, whether it is there or not."""
    has_score: bool


async def play_build(order: CiOptions, server: ServerSettings) -> int:
    """Play, judge and report; 0: it plays, 1: there are findings, 2: it could not be played.

    Raises: ConfigurationError: an option is wrong. FileError: the baseline is damaged. AttractError: no
        browser.
    """
    require_chromium()
    console = CommandConsole(stderr=order.json_output)
    path = order.baseline or default_baseline(order.game)
    baseline = None if order.update_baseline or path is None or not path.is_file() else read_baseline(path)
    if order.baseline is not None and baseline is None and not order.update_baseline:
        raise ConfigurationError(
            f"there is no {order.baseline}", setting="--baseline", fix="write it by --update-baseline"
        )
    if order.update_baseline:
        if path is None:
            raise ConfigurationError(
                f"{order.game} has no folder of its own",
                setting="--update-baseline",
                fix="add --baseline FILE",
            )
        check_writable(path)
    recorded = [] if order.episodes is None else read_folder(order.episodes)
    began = asyncio.get_running_loop().time()

    def on_event(event: dict[str, Any]) -> None:
        if event.get("event") in ("page_error", "failed"):
            _say(console, f"browser: {event.get('text')}")

    with tempfile.TemporaryDirectory() as folder:
        own: dict[str, Any] = {"max_frame_bytes": MAX_FRAME_BYTES}
        if order.policy is None or is_exported(order.policy):
            # Nothing is left behind.
            own["runs_dir"] = Path(folder) / "runs"
        game, page, has_score = order.game, None, True
        if names_page(game):
            page = page_place(game, server.runs_dir)
            game, has_score = await adapter_for(page, order, server, Path(folder), console)
            project = Path(game).parent if game.startswith(folder) else find_project_dir(Path(game))
            own["project_dir"] = project
        async with running_gateway(server.model_copy(update=own), port_is_fixed=False) as gateway:
            host = await HostProcess.start(join_url(gateway.url, gateway.guard.issue("worker"), 1), on_event)
            try:
                build = await find_build(gateway, game, page)
                if isinstance(build, str):
                    report = not_played(order.game, build)
                else:
                    policies = await find_policies(gateway, order.policy)
                    given = Given(policies, recorded, baseline, path, has_score=has_score)
                    report = await _judged(order, gateway, build, given, console)
            finally:
                await host.stop()
    report = report.model_copy(update={"seconds": asyncio.get_running_loop().time() - began})
    report = save_episodes(order.out, report)
    for line in text_lines(report):
        _say(console, line)
    if order.json_output:
        print(report.model_dump_json(), flush=True)
    return report.exit_code


def default_baseline(game: str) -> Path | None:
    """Beside a game that is a file."""
    path = Path(game)
    return path.parent / "attract-ci.json" if path.suffix else None


def read_folder(folder: Path) -> list[RecordedEpisode]:
    """Its recorded episodes. Raises: ConfigurationError: there is none. FileError: one is damaged."""
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise ConfigurationError(f"no file in {folder} ends in {SUFFIX}", setting="--episodes")
    return [read_episode(file, folder) for file in files[:64]]


async def adapter_for(
    page: PagePlace, order: CiOptions, server: ServerSettings, folder: Path, console: CommandConsole
) -> tuple[str, bool]:
    """The adapter that a page is played with, and whether it knows a score: its own, or one made in `folder`.

    Raises: ConfigurationError: it has several, or a baseline is asked of a page without one.
    """
    known = page.adapters()
    if len(known) > 1:
        names = ", ".join(path.name for path in known)
        raise ConfigurationError(
            f"{order.game} has several adapters", setting="GAME", fix=f"name one: {names}"
        )
    if known:
        _say(console, f"{order.game} is played with the adapter {known[0].name}")
        return str(known[0]), True
    if order.update_baseline or order.baseline is not None:
        raise ConfigurationError(
            f"{order.game} has no adapter: what is guessed may differ from build to build",
            setting="--baseline",
            fix=f"attract probe {order.game}, review what it writes, and name that in place of the page",
        )
    _say(console, f"{order.game} has no adapter: probing the page")
    found = await found_in(page, server, SIZE)
    for line in found_lines(found)[3:4]:
        _say(console, line)
    path = folder / ADAPTER
    path.write_text(playable(found["adapter"], found["unfinished"]), encoding="utf-8")
    return str(path), "score" not in found["unfinished"]


async def find_build(gateway: Gateway, game: str, place: PagePlace | None = None) -> Build | str:
    """The game, or why it cannot be played. Raises: ConfigurationError: there is none.

    Args:
        place: of the page whose adapter `game` is, wherever that lies.
    """
    games = gateway.service.games
    try:
        module = await games.resolve(game)
    except GameError as error:
        return error.text
    if place is not None:
        games.place_page(module.reference.name, place.folder)
    view = await gateway.service.membership.checker.check(module, CHECK_SECONDS, HOST_SECONDS)
    if view.description is None:
        return next((finding.text for finding in view.findings), "the game could not be loaded")
    folder = games.adapter_folder(module.reference)
    page = view.description.page
    page_sha256 = None
    if folder is not None and page is not None and "://" not in page:
        listing = await asyncio.to_thread(list_page, folder / page, folder)
        page_sha256 = None if listing is None else listing.sha256
    return Build(module, view.description, page_sha256 or module.reference.sha256, page_sha256)


async def find_policies(gateway: Gateway, given: str | None) -> list[PlaytestPolicy]:
    """What `--policy` names. Raises: ConfigurationError, FileError: there is no such policy."""
    if given is None:
        return []
    if is_exported(given):
        return await asyncio.to_thread(exported_policy, Path(given))
    return await run_policies(gateway.service, given, gateway.settings.runs_dir)


def not_played(game: str, problem: str) -> Report:
    """The report of a game that could not be played."""
    return Report(game=game, build="", verdict="not_played", problem=problem)


async def _judged(
    order: CiOptions,
    gateway: Gateway,
    build: Build,
    given: Given,
    console: CommandConsole,
) -> Report:
    description, baseline, path = build.description, given.baseline, given.path
    policies, recorded = given.policies, given.recorded
    checker = gateway.service.membership.checker
    seed = Seed(low=order.seed & 0xFFFFFFFF, high=order.seed >> 32) if baseline is None else baseline.seed
    before = None if baseline is None else comparable(baseline, policies, order, console)
    known = {} if baseline is None else {(one.id, one.text): one for one in baseline.known}
    plan = Plan(
        players=crowd(description, [policy.name for policy in policies], len(recorded)),
        seed=seed,
        policies=policies,
        recorded=recorded,
        max_steps=MAX_STEPS if baseline is None else baseline.max_steps,
        parameters=order.parameters,
        has_page=description.page is not None,
        needs_fresh_pages=any(key[0] == "retry-broken" for key in known),
        is_judged_by_score=given.has_score,
        seconds=order.seconds,
    )

    async def host(asked: PlaytestGame) -> GamePlaytested:
        return await checker.playtest(build.module, asked, HOST_SECONDS)

    with console.status("playing") as status:
        playtest = Playtest(
            plan,
            host,
            lambda stack, method: checker.own_place(build.module, stack, method),
            before,
            {} if baseline is None else baseline.measured,
            lambda text: status.update(f"playing: {text}"),
        )
        played = await playtest.run()
    findings = [finding_of(one, description, build, gateway) for one in played.findings]
    if order.update_baseline and path is not None:
        if not played.outcomes.num_episodes:
            raise AttractError("no episode was played: there is nothing to write a baseline of")
        whole = Baseline(
            game=description.id,
            build=build.sha256,
            seed=seed,
            max_steps=plan.max_steps,
            policies=hashes(policies),
            known=[KnownFinding(id=one.id, text=plain_text(one.text)) for one in findings],
            measured=played.measured,
        )
        with writing(path):
            kept = await asyncio.to_thread(write_baseline, path, whole, played.outcomes, LOOKS[-1])
        _say(console, f"wrote {path}: at most {kept} episodes of each of {len(plan.players)} players")
        known = {(one.id, one.text): one for one in whole.known}
    new = [one for one in findings if (one.id, plain_text(one.text)) not in known]
    return Report(
        game=order.game,
        build=build.sha256,
        baseline_build=None if baseline is None else baseline.build,
        verdict="findings" if new else "plays",
        findings=new,
        known=[one for one in findings if one not in new],
        oracles=oracle_states(played, findings, baseline is not None, has_policy=bool(policies)),
        players=players_of(played.outcomes),
        episodes=played.outcomes.num_episodes,
    )


def comparable(
    baseline: Baseline, policies: Sequence[PlaytestPolicy], order: CiOptions, console: CommandConsole
) -> Outcomes:
    """The baseline's outcomes, without those of policies that are not the same now."""
    before = baseline.outcomes()
    now = hashes(policies)
    other = [name for name, digest in baseline.policies.items() if now.get(name) != digest]
    for player in list(before.players):
        if player.split(":")[0] in other and ":" in player:
            del before.players[player]
    if policies and other:
        _say(
            console, f"the baseline was played by other policies ({', '.join(other)}): they are not compared"
        )
    return before


def finding_of(one: Confirmed, description: GameDescription, build: Build, gateway: Gateway) -> Finding:
    """As the report has it."""
    cause, alarm = one.cause, one.alarm
    step = None if alarm is None else alarm.step
    if step is None and one.episode is not None:
        step = one.episode.num_steps
    episode = None if one.episode is None else filled(one.episode, description, build)
    place = None if cause is None else cause.place
    return Finding(
        id=one.id,
        oracle=one.id.split(":")[0],  # type: ignore[arg-type]
        text=one.text,
        file=None if place is None else place.file,
        line=None if place is None else place.line,
        column=None if place is None else place.column,
        stack=None if cause is None else cause.stack,
        player=one.player,
        step=step,
        seconds=None if step is None else step * description.seconds_per_step,
        confirmed=one.times,
        episode=episode,
    )


def filled(episode: RecordedEpisode, description: GameDescription, build: Build) -> RecordedEpisode:
    """The episode with the build that was played."""
    return episode.model_copy(
        update={
            "game_sha256": build.module.reference.sha256,
            "description_sha256": description_sha256(description),
            "page_sha256": build.page_sha256,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
    )


def oracle_states(
    played: Played, findings: Sequence[Finding], has_baseline: bool, *, has_policy: bool
) -> list[OracleState]:
    """How each oracle stands."""
    found = {finding.oracle for finding in findings}
    states: list[OracleState] = []
    for oracle in ORACLES:
        note = played.problems.get(oracle, "")
        state = "found" if oracle in found else "passed"
        if state == "passed":
            if not has_baseline and oracle in WITHOUT_BASELINE:
                state, note = "not_judged", WITHOUT_BASELINE[oracle]
            elif oracle in ("won-without-input", "worse-policy") and not has_policy:
                state, note = "not_judged", "there is no trained policy: give one by --policy"
            elif oracle in ("soft-lock", "dead-key", "leak", "slow", "retry-broken"):
                state = "passed" if oracle in played.drilled else "not_judged"
        states.append(OracleState(oracle=oracle, state=state, note=note))  # type: ignore[arg-type]
    return states


def players_of(outcomes: Outcomes) -> list[PlayerOutcome]:
    """What each player did."""
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
                return_mean=sum(returns) / len(returns) if returns else None,
                length_mean=sum(lengths) / len(lengths) if lengths else None,
                ended=ended,
            )
        )
    return rows


def save_episodes(folder: Path, report: Report) -> Report:
    """Write the episode of each finding into `folder`; the report with the names of the files.

    Raises: ConfigurationError: the folder cannot be written.
    """
    saved: list[Finding] = []
    for number, finding in enumerate(report.findings, 1):
        if finding.episode is None:
            saved.append(finding)
            continue
        name = f"{number:02d}-{finding.id.replace(':', '-').replace(' ', '-')}{SUFFIX}"
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with writing(folder / name):
            write_atomically(folder / name, written(finding.episode))
        saved.append(finding.model_copy(update={"episode_file": name}))
    return report.model_copy(update={"findings": saved})


def text_lines(report: Report) -> list[str]:
    """For people."""
    lines = [
        f"{report.game}: {report.episodes:,} episodes of {len(report.players)} players "
        f"in {report.seconds:.0f} s"
    ]
    for finding in report.findings:
        lines.append(
            f"{finding.id}: {finding.text} ({finding.player}, {finding.seconds} s, {finding.confirmed}x)"
        )
    lines += [f"known: {finding.id}: {finding.text}" for finding in report.known]
    lines.append(report.problem or report.verdict)
    return lines


def _say(console: CommandConsole, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
