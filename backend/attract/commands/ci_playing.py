"""The work of `attract ci`: a crowd plays a build, which is judged, and the files that come of it."""

import asyncio
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attract.browser.chromium import require_chromium
from attract.commands.chosen_game import Chosen, choose_game
from attract.commands.ci import CiOptions
from attract.commands.ci_outputs import DevicePlay, check_outputs, write_outputs
from attract.commands.contact_sheet import SHEET_PICTURES
from attract.commands.crowd_play import (
    crowd_gateway,
    find_build,
    find_policies,
    play,
    problem_of,
    seed_of,
)
from attract.commands.destination import check_writable, shown_path, writing
from attract.commands.episode_pictures import MAX_PICTURES, picture_episodes
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, say, say_next
from attract.commands.outside_play import MAX_EPISODES, join_crowd
from attract.commands.project_play import ProjectPlay
from attract.errors import AttractError, ConfigurationError
from attract.playtest.baseline import Baseline, KnownFinding, read_baseline, write_baseline
from attract.playtest.causes import plain_text
from attract.playtest.findings import Build, finding_of, oracle_states, players_of
from attract.playtest.github_report import return_curve
from attract.playtest.judge import has_many_forms
from attract.playtest.outcomes import LENGTH, Outcomes
from attract.playtest.plan import Plan, Played
from attract.playtest.players import crowd, hashes, is_exported
from attract.playtest.playwright_test import TestedModule, TestedPage
from attract.playtest.report import BuildFinding, Report
from attract.playtest.report_page import MAX_SHOWN, EpisodePictures
from attract.playtest.session import STAGES, Playtest
from attract.playtest.templates import next_command
from attract.runs.directory import RunDirectory, find_run
from attract.runs.episodes import SUFFIX, read_episode
from attract.schema.devices import DeviceName
from attract.schema.playtest import GamePlaytested, PlaytestGame, PlaytestPolicy
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from attract.server.in_process import Gateway

MIN_SECONDS: Final = 10.0
"""Time for play, however long the browser and the page took to begin."""
SHEET_SHARE: Final = 0.2
"""Share of the seconds after which no further sheet of pictures is begun."""
NO_INPUT: Final = "no key or click that was tried changes anything in this page"


async def play_build(
    game: str, options: CiOptions, server: ServerSettings, project: ProjectPlay = ProjectPlay()
) -> int:
    """Play, judge and report; 0: it plays, 1: there are findings, 2: it could not be played.

    Raises: ConfigurationError: an option is wrong. FileError: the baseline is damaged.
    """
    require_chromium()
    console = CommandConsole(stderr=options.json_output)
    check_outputs(options)
    report = await played_build(game, options, server, project, console)
    if report.verdict != "plays":
        say_next(console, next_command(report, shown_path(options.folder)))
    if options.json_output:
        print_answer(report)
    return report.exit_code


async def played_build(
    game: str, options: CiOptions, server: ServerSettings, project: ProjectPlay, console: CommandConsole
) -> Report:
    """Play on each device, write all files and say what came of it.

    Raises: as `play_build`.
    """
    recorded = [] if options.episodes is None else read_folder(options.episodes)
    began = asyncio.get_running_loop().time()
    plays: list[DevicePlay] = []
    for device in project.devices:
        on_it = server.model_copy(update={"page_device": device})
        own = device if len(project.devices) > 1 else None
        if own is not None:
            say(console, f"on {device}:")
        plays.append(await _played_on(own, game, options, on_it, project, recorded, console))
    if not plays:
        plays.append(await _played_on(None, game, options, server, project, recorded, console))
    curve: Sequence[tuple[float, float]] = ()
    if options.github and options.policy is not None and not is_exported(options.policy):
        directory = RunDirectory.view(server.runs_dir, find_run(server.runs_dir, options.policy))
        curve = await asyncio.to_thread(return_curve, directory.metrics_path)
    seconds = asyncio.get_running_loop().time() - began
    report, lines = write_outputs(options, plays, curve, seconds)
    for line in lines:
        say(console, line)
    return report


async def _played_on(
    device: DeviceName | None,
    game: str,
    options: CiOptions,
    server: ServerSettings,
    project: ProjectPlay,
    recorded: Sequence[RecordedEpisode],
    console: CommandConsole,
) -> DevicePlay:
    """What comes of it on a device of several; None: there is one, which `server` says."""
    began = asyncio.get_running_loop().time()
    build: Build | None = None
    tested: TestedModule | TestedPage | None = None
    known_errors: list[str] = []
    pictures: Mapping[int, EpisodePictures] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            is_compared = options.update_baseline or options.baseline is not None
            chosen = await choose_game(
                game, options.play_seconds, server, Path(folder), console, is_compared=is_compared
            )
            path, baseline = find_baseline(game, options, chosen, device)
            given_by = chosen.server(server)
            async with crowd_gateway(given_by, options.policy, console, exposes_heap=True) as gateway:
                # A wrong option is said before anything is played.
                policies = await find_policies(gateway, options.policy)
                build = await find_build(gateway, chosen.game, chosen.place)
                tested = game_for_tests(gateway, build, chosen.game, options.folder)
                if isinstance(tested, TestedPage) and device is not None:
                    # Each device has its own.
                    tested = replace(tested, adapter=f"{device}-{tested.adapter}")
                if baseline is not None:
                    known_errors = [each.text for each in baseline.known if each.id == "error"]
                report = await _judged(
                    game, options, project, gateway, build, chosen, policies, recorded,
                    baseline, path, began, console,
                )  # fmt: skip
                pictures = await _pictures(options, gateway, build, report, console)
        except ConfigurationError:
            raise
        except AttractError as error:
            # The exit code of these is that of findings.
            report = Report(game=game, build="", verdict="not_played", problem=problem_of(error))
    return DevicePlay(report, build, tested, known_errors, pictures, device)


def find_baseline(
    game: str, options: CiOptions, chosen: Chosen, device: DeviceName | None = None
) -> tuple[Path | None, Baseline | None]:
    """Where the baseline is or will be, and what is in it; None: there is none to compare with.

    Args:
        device: of several, each of which has its own: `attract-ci.phone.json`.

    Raises: ConfigurationError: it is not there, or has no place. FileError: it is damaged.
    """
    path = options.baseline or chosen.baseline
    if path is not None and device is not None:
        path = path.with_name(f"{path.stem}.{device}{path.suffix}")
    if options.update_baseline:
        if path is None:
            raise ConfigurationError(
                f"{game} has no folder of its own", setting="--update-baseline", fix="add --baseline FILE"
            )
        check_writable(path)
        return path, None
    if path is not None and path.is_file():
        return path, read_baseline(path)
    if options.baseline is not None:
        raise ConfigurationError(
            f"there is no {path}", setting="--baseline", fix="write it by --update-baseline"
        )
    return path, None


def check_game(path: Path | None, baseline: Baseline | None, game_id: str) -> None:
    """Check the baseline, or where there is none the one that lies at `path` and will be replaced.

    Raises: ConfigurationError: it is of another game, such as a second one in the folder.
    """
    if baseline is None and path is not None and path.is_file():
        baseline = read_baseline(path)
    if baseline is not None and baseline.game != game_id:
        raise ConfigurationError(
            f"{path} is the baseline of {baseline.game}, and the game is {game_id}",
            setting="--baseline",
            fix="name a file of its own: --baseline FILE",
        )


def read_folder(folder: Path) -> list[RecordedEpisode]:
    """Its recorded episodes.

    Raises: ConfigurationError: there is none, or there are too many. FileError: one is damaged.
    """
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not 1 <= len(files) <= MAX_EPISODES:
        raise ConfigurationError(
            f"{folder} has {len(files)} files that end in {SUFFIX}; 1 to {MAX_EPISODES} can be played",
            setting="--episodes",
        )
    return [read_episode(file, folder) for file in files]


def game_for_tests(
    gateway: "Gateway", build: Build, game: str, folder: Path
) -> TestedModule | TestedPage | None:
    """Where tests in `folder` find this build; None: it is bundled with Attract, or in no folder."""
    page, folder = build.description.page, folder.resolve()
    if page is None:
        return TestedModule(os.path.relpath(game, folder)) if Path(game).is_file() else None
    if "://" in page:
        return TestedPage(page, "")
    site = gateway.service.games.adapter_folder(build.module.reference)
    return None if site is None else TestedPage(os.path.relpath(site, folder), page)


async def _judged(
    game: str,
    options: CiOptions,
    project: ProjectPlay,
    gateway: "Gateway",
    build: Build,
    chosen: Chosen,
    policies: Sequence[PlaytestPolicy],
    recorded: Sequence[RecordedEpisode],
    baseline: Baseline | None,
    path: Path | None,
    began: float,
    console: CommandConsole,
) -> Report:
    description = build.description
    checker = gateway.service.membership.checker
    rules = project.rules
    max_steps = max(1, int(rules.threshold("endless", "steps")))
    if baseline is not None and baseline.max_steps != max_steps:
        max_steps = baseline.max_steps
        say(
            console,
            f"episodes end after {max_steps} steps as in the baseline: --update-baseline changes that",
        )
    seed = seed_of(options.seed or 0) if baseline is None else baseline.seed
    if baseline is not None or (options.update_baseline and options.baseline is None):
        check_game(path, baseline, description.id)
    before = None if baseline is None else comparable(baseline, policies, options, console)
    known: set[tuple[str, str]] = (
        set() if baseline is None else {(finding.id, finding.text) for finding in baseline.known}
    )
    recorded, theirs, reports = await join_crowd(
        gateway, build, seed, options.play_seconds, recorded, console
    )
    # What they do differs from time to time: a baseline has nothing of it.
    if before is not None:
        before.players = {name: known for name, known in before.players.items() if name not in theirs}
    plan = Plan(
        game=build.module.reference,
        players=project.crowd(crowd(description, [policy.name for policy in policies], len(recorded))),
        seed=seed,
        policies=policies,
        recorded=recorded,
        max_steps=max_steps,
        tick_seconds=description.tick_seconds,
        has_page=description.page is not None,
        fresh_every=0 if baseline is None else baseline.fresh_every,
        known=frozenset(known),
        is_judged_by_score=chosen.has_score,
        is_restart_known=chosen.is_restart_known,
        rules=rules,
        measures_keys=baseline is not None or options.update_baseline,
        observed=chosen.observed,
        seconds=max(MIN_SECONDS, options.play_seconds - asyncio.get_running_loop().time() + began),
    )

    async def host(asked: PlaytestGame) -> GamePlaytested:
        try:
            return await play(gateway, build, asked)
        except AttractError as error:
            # A browser that went away comes back by itself; a game that takes it along does so twice.
            say(console, f"browser: {error}; trying again")
            return await play(gateway, build, asked)

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
    findings = [
        finding_of(confirmed, build, chosen.replay_game, level)
        for confirmed in played.findings
        if (level := rules.level(confirmed.id)) != "off"
    ]
    if not chosen.knows_inputs:
        findings = without_dead_ends(played, findings)
    check_played(played, findings, plan, is_written=options.update_baseline)
    check_moved(played, findings, chosen.inputs, knows_inputs=chosen.knows_inputs)
    if chosen.is_guessed:
        check_lasted(played, findings)
    if options.update_baseline and path is not None:
        whole = Baseline(
            game=description.id,
            build=build.sha256,
            seed=seed,
            max_steps=plan.max_steps,
            fresh_every=played.fresh_every,
            policies=hashes(policies),
            known=[KnownFinding(id=finding.id, text=plain_text(finding.text)) for finding in findings],
            measured=played.measured,
        )
        with writing(path):
            own = {name: known for name, known in played.outcomes.players.items() if name not in theirs}
            kept = await asyncio.to_thread(write_baseline, path, whole, Outcomes(own), STAGES[-1])
        say(console, f"wrote {path}: at most {kept} episodes of each of {len(plan.players)} players")
        known = {(finding.id, finding.text) for finding in whole.known}
    new = [finding for finding in findings if not is_known(finding, known)]
    return Report(
        game=game,
        game_id=description.id,
        build=build.sha256,
        baseline_build=None if baseline is None else baseline.build,
        verdict="findings" if any(finding.level == "error" for finding in new) else "plays",
        findings=new,
        known=[finding for finding in findings if finding not in new],
        left_out=played.left_out,
        oracles=oracle_states(
            played,
            findings,
            baseline is not None,
            has_policy=bool(policies),
            off=dict.fromkeys(rules.off, f"off in {project.file}"),
        ),
        players=players_of(played.outcomes, has_score=chosen.has_score),
        outside=reports,
        episodes=played.outcomes.num_episodes,
    )


async def _pictures(
    options: CiOptions, gateway: "Gateway", build: Build, report: Report, console: CommandConsole
) -> Mapping[int, EpisodePictures]:
    """Pictures of the findings' episodes of a game in a page: for sheets, and for the HTML report."""
    files = gateway.service.games.page_files(build.module.reference.sha256[:32])
    if build.description.page is None or files is None:
        return {}
    is_report = options.html is not None
    with console.status("taking pictures"):
        taken = await picture_episodes(
            files,
            build,
            report.findings,
            gateway.settings,
            max_pictures=MAX_PICTURES if is_report else SHEET_PICTURES,
            seconds=math.inf if is_report else SHEET_SHARE * options.play_seconds,
        )
    for place, finding in enumerate(report.findings[:MAX_SHOWN]):
        if is_report and finding.episode is not None and place not in taken:
            why = "no pictures of its episode, which the page did not play to that moment"
            say(console, f"{finding.id}: {why}")
    return taken


def without_dead_ends(played: Played, findings: Sequence[BuildFinding]) -> list[BuildFinding]:
    """The findings in a page whose inputs are not known: that none of them does anything is no dead end.

    Raises: AttractError: there is no other finding, so that nothing is known of the game.
    """
    others = [finding for finding in findings if finding.oracle != "soft-lock"]
    if len(others) < len(findings):
        if not others:
            raise AttractError(f"{NO_INPUT}: write an adapter that names its controls")
        played.problems["soft-lock"] = NO_INPUT
        played.drilled.discard("soft-lock")
    return others


def check_played(played: Played, findings: Sequence[BuildFinding], plan: Plan, *, is_written: bool) -> None:
    """Raises: AttractError: nothing was played, so nothing is known of a game without a finding.

    Args:
        is_written: whether a baseline is to be written.
    """
    outcomes = played.outcomes
    # Of a page that is left at the first click only the idle player's episodes come to an end.
    wanted = {*plan.players} - {"idle"} or {*plan.players}
    if not any(outcomes.players.get(name) for name in wanted) and (is_written or not findings):
        what = "episode with input" if outcomes.num_episodes else "episode"
        why = played.problems.get("error", "give it more time by --seconds")
        raise AttractError(f"no {what} came to its end in {plan.seconds:.0f} s: {why}")
    is_failed = all(outcome.end_reason == "failed" for outcome in outcomes.each())
    if is_failed and not any(finding.level == "error" for finding in findings):
        # A rule passes a fault in a build that plays: of one that never did nothing is known.
        what = f": {findings[0].text}" if findings else ""
        raise AttractError(f"every episode failed, which no rule makes a warning{what}")


def check_moved(played: Played, findings: Sequence[BuildFinding], inputs: str, *, knows_inputs: bool) -> None:
    """Raises: AttractError: no input is known to have done anything: the game was not played.

    Args:
        inputs: see `Chosen`, as `knows_inputs`. Where they are known, the drill of dead ends has seen them
            change something, if only in one episode. A look at episodes that began alike sees it of any.
    """
    looked, locked = (played.measured.get(f"soft-lock/{name}", 0.0) for name in ("episodes", "locked"))
    is_free = knows_inputs and ("soft-lock" in played.drilled or looked > locked)
    is_seen = is_free or played.measured.get("sight/moved", 0.0) > 0
    if findings or is_seen or played.outcomes.differ_from("idle"):
        return
    problem = played.problems.get("soft-lock")
    raise AttractError(
        f"no player's episode differs from one without input (controls: {inputs})"
        + (f"; dead ends: {problem}" if problem else "")
        + ": give it more time by --seconds, press its keys yourself with the command look, or write an "
        "adapter that names its controls"
    )


def check_lasted(played: Played, findings: Sequence[BuildFinding]) -> None:
    """Raises: AttractError: the end that was guessed of a page comes with the first step of every episode."""
    if not findings and all(outcome.numbers.get(LENGTH, 0.0) <= 1 for outcome in played.outcomes.each()):
        raise AttractError(
            "every episode is over at its first step: what was guessed to be the game's end is none: "
            "give it more time by --seconds, or write an adapter that names its end"
        )


def is_known(finding: BuildFinding, known: set[tuple[str, str]]) -> bool:
    """Whether the baseline has it: by its text, or of a broken restart, which has many forms, at all."""
    if has_many_forms(finding.id, finding.text):
        return any(name == finding.id for name, _ in known)
    return (finding.id, plain_text(finding.text)) in known


def comparable(
    baseline: Baseline, policies: Sequence[PlaytestPolicy], options: CiOptions, console: CommandConsole
) -> Outcomes:
    """The baseline's outcomes, without those of policies that are not the same now."""
    before = baseline.outcomes()
    now = hashes(policies)
    other = [name for name, digest in baseline.policies.items() if now.get(name) != digest]
    for player in list(before.players):
        if player.split(":")[0] in other and ":" in player:
            del before.players[player]
    if policies and other:
        say(console, f"the baseline was played by other policies ({', '.join(other)}): they are not compared")
    return before
