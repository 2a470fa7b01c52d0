"""The work of `attract match`: episodes between policies of runs and random play, in a headless browser."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count, cycle, pairwise
from pathlib import Path

from rich.table import Table

from attract.browser.chromium import require_chromium
from attract.commands.destination import check_writable
from attract.commands.evaluating import LINE_SECONDS, beside, readable_run, save_episodes
from attract.commands.json_output import print_answer
from attract.commands.match import MatchOptions
from attract.commands.output import CommandConsole, print_table, say
from attract.commands.own_host import gateway_with_host
from attract.errors import AttractError, ConfigurationError, CutOffError
from attract.games.kept_game import page_folder, project_of
from attract.games.library import GameLibrary
from attract.playtest.match import Match, lineups
from attract.playtest.sweep import check_values, parse_over
from attract.processes.exit_codes import DONE, FAILED
from attract.processes.interrupt import Interrupts
from attract.run.active import ActiveRun
from attract.run.models import RunModels
from attract.run.players import run_player
from attract.run.start_checks import check_outside, check_same_spaces
from attract.runs.archive import RunArchive
from attract.runs.directory import RunDirectory
from attract.runs.matches import keep_match
from attract.schema.episode_results import EpisodeResult
from attract.schema.game import GameDescription
from attract.schema.match import Estimate, MatchAtValue, MatchReport, OutsideReport
from attract.schema.messages import Seat
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import ServerSettings
from attract.settings.self_play import OUTSIDE, RANDOM, SCRIPT

Played = tuple[Sequence[EpisodeResult], Sequence[RecordedEpisode]]


@dataclass(frozen=True)
class Player:
    """One who takes part: a version of a run, a script, a program outside, or random play."""

    name: str
    """As it was given."""
    directory: RunDirectory | None = None
    version: int = 0
    seats: tuple[str, ...] = ()
    """Id of the policy of each agent, of one for all; no other player has the same."""
    models: Mapping[tuple[str, int], bytes] = field(default_factory=dict[tuple[str, int], bytes])
    """ONNX bytes of each, by id and version."""

    @property
    def script(self) -> str | None:
        """The file of its module; None: it is none."""
        return self.name.removeprefix(SCRIPT) if self.name.startswith(SCRIPT) else None

    @property
    def meant(self) -> dict[str, object]:
        """Run and version, as the answer has them."""
        if self.directory is None:
            return {}
        return {"run_id": self.directory.run_id, "policy_version": self.version}

    def seat(self, agent: int) -> Seat:
        """It on one seat."""
        if self.script is not None:
            return Seat(policy_id=self.name, learns=False)
        if self.name.startswith(OUTSIDE):
            return Seat(policy_id=self.name, script="outside", learns=False)
        if self.directory is None:
            return Seat(script="random", learns=False)
        policy_id = self.seats[agent % len(self.seats)]
        return Seat(policy_id=policy_id, policy_version=self.version, learns=False)


async def play_match(names: Sequence[str], options: MatchOptions, server: ServerSettings) -> int:
    """Play the episodes and print what came of them; the exit code.

    Raises:
        ConfigurationError: fewer than two players, none of them of a run, or not of the same game.
        CutOffError: a signal came before all pairs had played.
    """
    check_outside(names, server.outside, setting="players")
    if options.save is not None:
        check_writable(options.save)
    players = [await player_of(name, server.runs_dir) for name in names]
    if len(set(names)) != len(names) or len(names) < 2:
        raise ConfigurationError(
            f"a match needs two players or more, each named once; these are {len(set(names))}",
            setting="players",
            fix="name runs with their versions, or `random`: attract match latest:best latest:first",
        )
    directory, game = _game_of(players)
    files = [player.script for player in players if player.script is not None]
    games = GameLibrary(server.project_dir, server.web_dir)
    scripts = {f"{SCRIPT}{file}": await games.player(file) for file in files}
    console = CommandConsole(stderr=options.json_output)
    parameter, values = (None, []) if options.over is None else parse_over(options.over)
    if parameter is not None:
        check_values(game, parameter, values)
    whole = Match([player.name for player in players], game.num_agents)
    at_values: list[MatchAtValue] = []
    async with arena(directory, server, options.game, console, options.save) as fleet:
        for term in [{parameter: value} for value in values if parameter is not None] or [None]:
            played = await fleet.played(
                players, scripts, game, options.episodes, options.seed, parameters=term
            )
            whole.absorb(played)
            at_values += [] if term is None else [played.at(value) for value in term.values()]
        further = {"outside": fleet.outside_reports(), "saved": fleet.num_saved}
    named = {player.name: player.meant for player in players}
    report = whole.report(game.id)
    standing = [player.model_copy(update=named[player.player]) for player in report.players]
    found = {"players": standing, "parameter": parameter, "at_values": at_values, **further}
    report = report.model_copy(update=found)
    try:
        agent_steps = RunArchive(server.runs_dir).view(directory.run_id).agent_steps
        report = keep_match(directory, report, whole.kept, agent_steps)
    except AttractError as error:
        say(console, f"the match is not kept: {error}")
    if options.json_output:
        print_answer(report)
    else:
        _print(report, console)
    return DONE


class Arena:
    """A run whose fleet plays matches; `arena` opens it."""

    def __init__(self, run: ActiveRun, interrupts: Interrupts, save: Path | None) -> None:
        self.num_saved = 0
        """Episodes that were written."""
        self._run = run
        self._interrupts = interrupts
        self._save = save
        self._lineups = count(1)

    def outside_reports(self) -> list[OutsideReport]:
        """How the programs outside have played."""
        return self._run.browsers.outside.reports()

    async def played(
        self,
        players: Sequence[Player],
        scripts: Mapping[str, str],
        game: GameDescription,
        episodes: int,
        seed: int,
        *,
        neighbours: bool = False,
        parameters: Mapping[str, float] | None = None,
    ) -> Match:
        """What came of a match.

        Args:
            players: two or more.
            scripts: code of those that are scripts.
            game: that all of them play.
            episodes: of each pair, at least 1.
            seed: of the episodes.
            neighbours: whether each meets only those beside it.
            parameters: values of the game's; None: those of the run's evaluations.

        Raises: CutOffError: a signal came before all had met.
        """
        match = Match([player.name for player in players], game.num_agents)
        placed = [
            lineup
            for lineup in lineups(len(players), game.num_agents)
            if not neighbours or max(lineup) - min(lineup) == 1
        ]
        per_pair = sum(set(lineup) == set(placed[0]) for lineup in placed)
        said_at = time.monotonic()
        for number, (lineup, share) in enumerate(zip(placed, cycle(_shares(episodes, per_pair)))):
            if time.monotonic() > said_at + LINE_SECONDS:
                said_at = time.monotonic()
                print(f"{number} of {len(placed)} line-ups played", file=sys.stderr, flush=True)
            if not share:
                continue
            seats = [players[player].seat(agent) for agent, player in enumerate(lineup)]
            models = {key: onnx for player in set(lineup) for key, onnx in players[player].models.items()}
            results, recorded = await _until(
                self._run.match(
                    seats,
                    models,
                    scripts,
                    share,
                    seed=seed,
                    parameters=parameters,
                    record_all=self._save is not None,
                ),
                self._interrupts,
            )
            if self._save is not None:
                prefix = f"{next(self._lineups):03d}-"
                await asyncio.to_thread(save_episodes, self._save, recorded, prefix)
                self.num_saved += len(recorded)
            for result in results:
                match.count(lineup, result.returns)
            for episode in recorded:
                match.keep(lineup, episode)
        return match


@asynccontextmanager
async def arena(
    directory: RunDirectory,
    server: ServerSettings,
    game: Path | None,
    console: CommandConsole,
    save: Path | None = None,
) -> AsyncGenerator[Arena]:
    """A run's game in a headless browser during the block; `game`, `save`: see `MatchOptions`."""
    folder = page_folder(directory, server.project_dir, game)
    server = server.model_copy(update={"project_dir": project_of(directory) or server.project_dir})
    require_chromium()
    async with AsyncExitStack() as stack:
        server = stack.enter_context(readable_run(directory, None, server))
        workers = directory.read_settings().collection.num_workers
        gateway = await stack.enter_async_context(gateway_with_host(server, console, workers))
        reference, _ = directory.read_game()
        if reference is not None and folder is not None:
            gateway.service.games.place_page(reference.name, folder)
        run = await stack.enter_async_context(gateway.service.opened(directory.run_id))
        yield Arena(run, stack.enter_context(Interrupts().listening()), save)


async def player_of(name: str, runs_dir: Path) -> Player:
    """Who a word of the command names. Raises: ConfigurationError: there is no such run or version."""
    if name == RANDOM or name.startswith((SCRIPT, OUTSIDE)):
        return Player(name)
    found = await run_player(RunModels(RunArchive(runs_dir), lambda: None), runs_dir, name)
    directory, version = found.directory, found.version
    ids = {policy_id: f"{directory.run_id}.{policy_id}" for policy_id in found.models}
    seats = directory.read_settings().collection.seats or tuple(found.models)
    return Player(
        name,
        directory,
        version,
        tuple(ids[policy_id] for policy_id in seats),
        {(ids[policy_id], version): onnx for policy_id, onnx in found.models.items()},
    )


def _game_of(players: Sequence[Player]) -> tuple[RunDirectory, GameDescription]:
    """The first player's run and its game, which is that of all."""
    directories = [player.directory for player in players if player.directory is not None]
    if not directories:
        raise ConfigurationError(
            "no player is of a run", setting="players", fix="name a run: attract match latest:best random"
        )
    _, game = directories[0].read_game()
    if game is None or game.num_agents < 2:
        raise ConfigurationError(
            f"the game of {directories[0].run_id} has one agent",
            setting="players",
            fix="a match is played in games of two agents or more; `attract eval` plays those of one",
        )
    for player in players:
        if player.directory is not None:
            check_same_spaces(player.directory.checkpoints / str(player.version), game, setting="players")
    sizes = {player.directory.read_settings().policy.state_size for player in players if player.directory}
    if len(sizes) > 1:
        raise ConfigurationError(
            "the players' policies have memories of different sizes",
            setting="players",
            fix="name runs with the same `policy.recurrent` and `policy.recurrent_size`",
        )
    return directories[0], game


def _shares(episodes: int, num_lineups: int) -> list[int]:
    """Episodes of each line-up of a pair, as even as can be."""
    cuts = [episodes * cut // num_lineups for cut in range(num_lineups + 1)]
    return [end - start for start, end in pairwise(cuts)]


async def _until(played: Coroutine[None, None, Played], interrupts: Interrupts) -> Played:
    async with beside(played) as task, beside(interrupts.first.wait()) as first:
        await asyncio.wait((task, first), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return await task
        raise CutOffError(
            "interrupted before all players had met",
            fix="play fewer episodes: `--episodes 40`",
            exit_code=interrupts.exit_code or FAILED,
        )


def _print(report: MatchReport, console: CommandConsole) -> None:
    table = Table(title=f"{report.game}: {report.episodes} episodes a pair", title_justify="left")
    table.add_column("wins against")
    for heading in ("rating", *(player.player for player in report.players)):
        table.add_column(heading, justify="right")
    scores = {(pair.player, pair.opponent): pair.score for pair in report.pairs}
    for player in report.players:
        found = [scores.get((player.player, other.player)) for other in report.players]
        cells = ["" if score is None else percent(score) for score in found]
        table.add_row(player.player, f"{player.rating:.1f} ± {player.rating_std:.1f}", *cells)
    print_table(console, table)
    for number, seat in enumerate(report.seats):
        say(console, f"seat {number} wins {percent(seat)}")
    print_outside(report.outside, console)
    if report.saved:
        say(console, f"saved {report.saved:,} episodes")
    for one in report.at_values:
        won = ", ".join(f"seat {number} {percent(seat)}" for number, seat in enumerate(one.seats))
        say(console, f"{report.parameter}={one.value:g}: {won}")


def print_outside(reports: Sequence[OutsideReport], console: CommandConsole) -> None:
    """What programs outside did not decide, and what was wrong with them."""
    for report in reports:
        for problem in report.problems:
            say(console, problem)
        if report.defaults:
            say(
                console,
                f"{report.player}: the default action counted for {report.defaults:,} of "
                f"{report.decisions:,} decisions",
            )


def percent(share: Estimate) -> str:
    """A share with half of its interval; a half of a percent is rounded up, as the dashboard does."""
    if share.mean is None or share.low is None or share.high is None:
        return "-"
    half = max(share.mean - share.low, share.high - share.mean)
    return f"{int(100 * share.mean + 0.5)}% ±{int(100 * half + 0.5)}"
