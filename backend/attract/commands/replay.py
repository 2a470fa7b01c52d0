"""`attract replay`: plays recorded episodes again in a headless browser and says which are the same."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Final

from attract.browser.chromium import require_chromium
from attract.commands import flags
from attract.commands.episodes import Recorded, chosen_of, find_build, find_recorded, run_of
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, say
from attract.commands.own_host import gateway_with_host
from attract.errors import AttractError
from attract.games.library import GameModule
from attract.processes.exit_codes import DONE, FAILED, USAGE
from attract.run.game_checker import GameChecker
from attract.schema.answers import ReplayAnswer, ReplayedEpisode
from attract.schema.recorded_episode import EpisodeReplay
from attract.server.app_server import run_async
from attract.settings.run import ServerSettings

HOST_SECONDS: Final = 30.0
BUDGET_SECONDS: Final = 600.0
"""For the episodes of one order; a game that hangs is given up after it."""
ORDER_EPISODES: Final = 16
ORDER_BYTES: Final = 4 << 20
"""Base64 of the actions that one message has."""


@flags.options
class ReplayOptions:
    worst: bool = False
    """The episode with the lowest return that the run keeps."""
    best: bool = False
    """The episode with the highest return that the run keeps."""
    failed: bool = False
    """The last episode in which the game failed."""
    game: str | None = None
    """Another build to play it in: a bundled name, a module, an adapter or a page that has one."""
    runs_dir: flags.RunsDir = None
    project_dir: flags.ProjectDir = None
    include: flags.Include = None
    json_output: flags.Json = False


def replay(episode: Annotated[str, flags.RunWord], /, options: ReplayOptions = ReplayOptions()) -> int:
    """Play a recorded EPISODE again in a headless browser and say where it differs, if it does.

    Exit code: 0 if it is the same, 1 if it is not, 2 if it could not be played.

    Parameters
    ----------
    episode
        A file, a folder of files, or RUN:EPISODE. With --worst, --best or --failed: a run id, or `latest`.

    Examples
    --------
    attract replay latest --worst  # the worst episode of the newest run
    attract replay episode.json --game game.ts  # in another build of its game
    attract replay episodes --json  # every file of a folder, for scripts
    """
    server = flags.server_settings(options)
    if options.game is not None:
        game, server = flags.served_game(options.game, server)
        options = replace(options, game=game)
    return run_async(replay_episodes(episode, options, server))


async def replay_episodes(episode: str, options: ReplayOptions, server: ServerSettings) -> int:
    """Play the episodes and print what came of them; 0: all are equal, 1: one is not, 2: one was not played.

    Raises: ConfigurationError: there is no such episode, or no such game. AttractError: no browser.
    """
    run_id, recorded = find_recorded(episode, chosen_of(options), server)
    require_chromium()
    directory, server = run_of(run_id, recorded[0], options.game, server)
    console = CommandConsole(stderr=options.json_output)

    results: list[tuple[Recorded, EpisodeReplay]] = []
    problem: str | None = None
    async with gateway_with_host(server, console) as gateway:
        module = await find_build(gateway.service.games, options.game, directory, recorded[0], server)
        async for entry, replay in _replayed(gateway.service.membership.checker, module, recorded):
            if isinstance(replay, str):
                problem = f"{entry.name}: {replay}"
                break
            results.append((entry, replay))
            _say_result(console, entry, replay, module)
    if problem is not None:
        say(console, f"error: {problem}")
    elif len(results) > 1:
        num_equal = sum(replay.equal for _, replay in results)
        say(console, f"{num_equal} of {len(results)} episodes are equal")
    if options.json_output:
        rows = [_row(entry, replay, module) for entry, replay in results]
        equal = problem is None and all(row.equal for row in rows)
        print_answer(ReplayAnswer(game=module.reference.name, equal=equal, problem=problem, episodes=rows))
    if problem is not None:
        return USAGE
    return DONE if all(replay.equal for _, replay in results) else FAILED


async def _replayed(
    checker: GameChecker, module: GameModule, recorded: Sequence[Recorded]
) -> AsyncGenerator[tuple[Recorded, EpisodeReplay | str]]:
    """Each episode with its replay, or with why it was not played, which ends it."""
    for part in in_orders(recorded):
        episodes = [entry.episode for entry in part]
        try:
            answer = await checker.replay(module, episodes, BUDGET_SECONDS, HOST_SECONDS)
        except AttractError as error:
            yield part[0], str(error)
            return
        for entry, replay in zip(part, answer.replays, strict=False):
            yield entry, replay
        if len(answer.replays) < len(part):
            yield part[len(answer.replays)], answer.problem or "the browser did not play it"
            return


def in_orders(recorded: Sequence[Recorded]) -> Iterator[list[Recorded]]:
    """Parts small enough for a message."""
    part: list[Recorded] = []
    for entry in recorded:
        size = sum(len(each.episode.actions.data) for each in [*part, entry])
        if part and (len(part) >= ORDER_EPISODES or size > ORDER_BYTES):
            yield part
            part = []
        part.append(entry)
    yield part


def _say_result(console: CommandConsole, entry: Recorded, replay: EpisodeReplay, module: GameModule) -> None:
    say(console, f"{entry.name}: {replay_text(entry, replay)}")
    if not replay.equal and _is_other_build(entry, module):
        text = "  it was recorded in another build of the game than this one"
        say(console, text)


def replay_text(entry: Recorded, replay: EpisodeReplay) -> str:
    """What is printed of an episode after its name."""
    episode, difference = entry.episode, replay.difference
    if difference is not None:
        return f"differs at {difference.seconds:.1f} s (step {difference.step}): {difference.text}"
    how = f"failed: {episode.error.text.splitlines()[0]}" if episode.error else episode.end_reason
    returns = ", ".join(f"{value:.6g}" for value in replay.returns)
    return f"equal: {replay.num_steps} steps ({episode.seconds:.1f} s), return {returns}, {how}"


def _is_other_build(entry: Recorded, module: GameModule) -> bool:
    return entry.episode.game_sha256 not in (None, module.reference.sha256)


def _row(entry: Recorded, replay: EpisodeReplay, module: GameModule) -> ReplayedEpisode:
    return ReplayedEpisode(**dict(replay), episode=entry.name, other_build=_is_other_build(entry, module))
