"""The work of `attract verify`: a crowd plays until a claim holds, and what shows it is replayed."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attract.browser.chromium import require_chromium
from attract.commands.chosen_game import choose_game
from attract.commands.crowd_play import (
    MAX_STEPS,
    crowd_gateway,
    find_build,
    find_policies,
    play,
    problem_of,
    seed_of,
)
from attract.commands.destination import check_writable, shown_path, write_output
from attract.commands.json_output import print_answer
from attract.commands.output import CommandConsole, say, say_next
from attract.commands.project_play import ProjectPlay
from attract.commands.verify import VerifyOptions
from attract.errors import AttractError, ConfigurationError
from attract.playtest.claim import ClaimCount, VerifyAnswer, check_claim
from attract.playtest.findings import Build, filled
from attract.playtest.players import crowd
from attract.playtest.templates import MAX_LINE, replay_command
from attract.runs.episodes import SUFFIX, written
from attract.runs.plain_text import plain
from attract.schema.playtest import (
    MAX_ORDER_SECONDS,
    PlaytestEpisode,
    PlaytestGame,
    PlaytestPlays,
    PlaytestPolicy,
)
from attract.schema.recorded_episode import RecordedEpisode
from attract.settings.run import ServerSettings

if TYPE_CHECKING:
    from attract.server.in_process import Gateway

EPISODES: Final = 1024
"""Of each player in one order at most."""
ORDERS: Final = 3
"""The time is divided among so many: a limit that is plain after one needs no other."""
REPLAY_SECONDS: Final = 30.0
MIN_SECONDS: Final = 5.0
"""Time for play, however long the browser and the page took to begin."""


async def verify_claim(
    claim: str, game: str, options: VerifyOptions, server: ServerSettings, project: ProjectPlay
) -> int:
    """Play, judge and report; see `verify` for the code. On the first device of the project's file.

    Raises: ConfigurationError: an option is wrong, or the claim can be read in no step.
    """
    check_claim(claim)
    require_chromium()
    check_writable(options.out.absolute())
    console = CommandConsole(stderr=options.json_output)
    seconds = 60.0 if options.seconds is None else options.seconds
    if project.devices:
        server = server.model_copy(update={"page_device": project.devices[0]})
    began = asyncio.get_running_loop().time()
    command: str | None = None
    with tempfile.TemporaryDirectory() as folder:
        try:
            chosen = await choose_game(game, seconds, server, Path(folder), console)
            async with crowd_gateway(chosen.server(server), options.policy, console) as gateway:
                policies = await find_policies(gateway, options.policy)
                build = await find_build(gateway, chosen.game, chosen.place)
                left = seconds - asyncio.get_running_loop().time() + began
                with console.status("playing"):
                    crowd_play = CrowdPlay(gateway, build, claim, project=project, seed=options.seed or 0)
                    answer = await crowd_play.judged(game, policies, max(MIN_SECONDS, left))
            if crowd_play.shown is not None:
                path = options.out.absolute() / f"claim{SUFFIX}"
                write_output(path, written(filled(crowd_play.shown, build)))
                answer = answer.model_copy(update={"episode_file": shown_path(path)})
                command = replay_command(shown_path(path), chosen.replay_game)
        except ConfigurationError:
            raise
        except AttractError as error:
            # The exit code of these is that of a claim that is denied.
            answer = VerifyAnswer(game=game, claim=claim, verdict="not_played", reason=problem_of(error))
    answer = answer.model_copy(update={"seconds": asyncio.get_running_loop().time() - began})
    say(console, f"{answer.verdict.upper().replace('_', ' ')}: {claim}")
    say(console, f"  {plain(answer.reason, MAX_LINE)}")
    if command is not None:
        say(console, f"  {command}")
    if options.json_output:
        print_answer(answer)
    elif command is not None:
        say_next(console, command)
    return answer.exit_code


class CrowdPlay:
    """Plays a build for a claim."""

    def __init__(
        self, gateway: "Gateway", build: Build, claim: str, *, project: ProjectPlay, seed: int
    ) -> None:
        self._gateway = gateway
        self._build = build
        self._claim = claim
        self._project = project
        self._seed = seed_of(seed)
        self.shown: RecordedEpisode | None = None
        """The episode in which the claim held."""

    async def judged(self, game: str, policies: Sequence[PlaytestPolicy], seconds: float) -> VerifyAnswer:
        """What comes of it.

        Raises: ConfigurationError: the claim can be read in no step. AttractError: the browser went away.
        """
        count = ClaimCount()
        whole = crowd(self._build.description, [policy.name for policy in policies], 0)
        players = self._project.crowd(whole)
        end = asyncio.get_running_loop().time() + seconds
        order_seconds = min(seconds / ORDERS, MAX_ORDER_SECONDS)
        first = 0
        fresh_every = 0
        shown: VerifyAnswer | None = None
        problem: str | None = None
        while not (count.is_plain or count.is_wrong) and (
            (left := end - asyncio.get_running_loop().time()) > 0.0
        ):
            order = PlaytestGame(
                game=self._build.module.reference,
                seed=self._seed,
                plays=[PlaytestPlays(player=player, first=first, count=EPISODES) for player in players],
                policies=list(policies),
                max_steps=MAX_STEPS,
                fresh_every=fresh_every,
                budget_seconds=min(left, order_seconds),
                claim=self._claim,
            )
            played = await play(self._gateway, self._build, order)
            for episode in played.episodes:
                player = order.plays[episode.play].player
                if episode.claim is not None and episode.claim.held_at is not None:
                    shown = await self._shown(game, player, episode, count.num_episodes + 1)
                    if shown.verdict == "confirmed" or fresh_every == 1:
                        return shown
                    # A page that begins again may differ from a new one: each episode has its own from here.
                    fresh_every = 1
                count.count(player, episode)
            first += EPISODES
            problem = played.problem
            if not played.episodes:
                break
        if count.is_wrong:
            raise ConfigurationError(
                f"it cannot be evaluated after any step: {count.error}",
                setting="CLAIM",
                fix="attract look PAGE says what can be read, and --eval tries an expression; of a module "
                "`game` is what its `create` returned",
            )
        if shown is not None:
            return shown
        verdict, reason = count.verdict()
        return VerifyAnswer(
            game=game,
            claim=self._claim,
            verdict=verdict,
            reason=reason if problem is None else f"{reason}; the play ended early: {problem}",
            reached=count.reached,
            episodes=count.num_episodes,
        )

    async def _shown(
        self, game: str, player: str, episode: PlaytestEpisode, num_episodes: int
    ) -> VerifyAnswer:
        """The answer, once the episode is replayed in a new copy."""
        claim = episode.claim
        if claim is None or episode.recorded is None:
            raise ValueError("expected an episode that was recorded since its claim held")
        self.shown = episode.recorded
        order = PlaytestGame(
            game=self._build.module.reference,
            seed=self._seed,
            plays=[PlaytestPlays(player="recorded-0", first=0, count=1)],
            episodes=[episode.recorded],
            fresh_every=1,
            budget_seconds=REPLAY_SECONDS,
            claim=self._claim,
        )
        again = [each.claim for each in (await play(self._gateway, self._build, order)).episodes]
        is_same = any(each is not None and each.held_at == claim.held_at for each in again)
        step = claim.held_at or 0
        seconds = (step + 1) * self._build.description.seconds_per_step
        held = f"it held by {player} in episode {num_episodes}, at {seconds:.1f} s (step {step}), and"
        return VerifyAnswer(
            game=game,
            claim=self._claim,
            verdict="confirmed" if is_same else "inconclusive",
            reason=f"{held} again in a replay"
            if is_same
            else f"{held} not in its replay: chance or time differs",
            episodes=num_episodes,
            player=player,
        )
