"""Has a browser check or playtest a game or replay its episodes; places are those of the author's files."""

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from attract.errors import AttractError, ProtocolError
from attract.games.kept_game import build_hashes, list_played_page
from attract.games.library import GameLibrary, GameModule
from attract.games.places import Place, first_place
from attract.run.outside_players import OutsidePlayers
from attract.schema.api import CheckFinding, CheckView
from attract.schema.base import GrantedTier, WireModel
from attract.schema.frames import malformed
from attract.schema.game import GameDescription
from attract.schema.game_messages import (
    CheckedPlay,
    CheckGame,
    EpisodesReplayed,
    GameChecked,
    GameFinding,
    MethodSource,
    ParameterDistribution,
    ReplayEpisodes,
)
from attract.schema.messages import Lease, PlayAgain, PlayedAgain, WelcomeWorker
from attract.schema.outside import Answer as OutsideAnswer
from attract.schema.outside import Ask
from attract.schema.playtest import GamePlaytested, PlaytestGame
from attract.schema.recorded_episode import RecordedEpisode
from attract.schema.tensor import from_numpy

HOST_SECONDS = 10.0
ANSWER_SECONDS = 20.0
"""Beyond its budget a host that lives answers well within this: it ends a game that hangs by itself."""
BUSY_SECONDS = 45.0
"""On a busy machine a playtest waits so much longer until it says that a game hangs."""

OutsideTable = tuple[OutsidePlayers, GameDescription]
"""Programs that play in an order, and the game as they see it."""
HostOrder = CheckGame | ReplayEpisodes | PlayAgain | PlaytestGame
HostAnswer = GameChecked | EpisodesReplayed | PlayedAgain | GamePlaytested
Answer = TypeVar("Answer", GameChecked, EpisodesReplayed, PlayedAgain, GamePlaytested)


@dataclass
class _Open:
    connection_id: int
    module: GameModule
    answer: asyncio.Future[HostAnswer]
    outside: OutsideTable | None = None
    asking: asyncio.Task[None] | None = None
    """Answers what is asked now."""


class GameChecker:
    """Owned by the run service, used on its event loop; `send(connection_id, message)` reaches a host."""

    def __init__(self, games: GameLibrary, send: Callable[[int, WireModel], None]) -> None:
        self._games = games
        self._send = send
        self._ids = itertools.count(1)
        self._open: dict[int, _Open] = {}
        self._hosts: list[int] = []
        self._host_came = asyncio.Event()

    async def check(
        self,
        module: GameModule,
        budget_seconds: float,
        wait_seconds: float = HOST_SECONDS,
        *,
        record: bool = False,
    ) -> CheckView:
        """What a browser of this machine finds out about a game; waits so long for one to come.

        Args:
            module: the game.
            budget_seconds: roughly how long the check may take.
            wait_seconds: how long to wait for a browser.
            record: whether the first episode, and those in which the game failed, come with it.

        Raises: AttractError: none came, it went away, or it does not answer.
        """
        order = CheckGame(
            check_id=next(self._ids), game=module.reference, budget_seconds=budget_seconds, record=record
        )
        message = await self._check(module, order, wait_seconds)
        if record:
            message = await asyncio.to_thread(self._filled, module, message)
        return self._view(module, message)

    async def play(
        self,
        module: GameModule,
        episodes: int,
        budget_seconds: float,
        parameters: Mapping[str, ParameterDistribution],
        *,
        is_fresh: bool = False,
    ) -> CheckedPlay | None:
        """Random play until so many episodes have ended; None where the game failed in it.

        `is_fresh`: each episode in a fresh page.

        Raises: AttractError: as `check`.
        """
        found = await self.try_out(module, episodes, budget_seconds, parameters, is_fresh=is_fresh)
        return found.play

    async def try_out(
        self,
        module: GameModule,
        episodes: int,
        budget_seconds: float,
        parameters: Mapping[str, ParameterDistribution],
        wait_seconds: float = HOST_SECONDS,
        *,
        is_fresh: bool = False,
    ) -> CheckView:
        """As `play`, with what it found.

        Raises: AttractError: as `check`.
        """
        order = CheckGame(
            check_id=next(self._ids),
            game=module.reference,
            budget_seconds=budget_seconds,
            random_episodes=episodes,
            parameters=dict(parameters),
            is_fresh=is_fresh,
        )
        return self._view(module, await self._check(module, order, wait_seconds))

    async def replay(
        self,
        module: GameModule,
        episodes: Sequence[RecordedEpisode],
        budget_seconds: float,
        wait_seconds: float = HOST_SECONDS,
    ) -> EpisodesReplayed:
        """What a browser of this machine gets when it plays these episodes again, each on a fresh copy.

        Raises: AttractError: as `check`.
        """
        replay_id = next(self._ids)
        order = ReplayEpisodes(
            replay_id=replay_id, game=module.reference, episodes=list(episodes), budget_seconds=budget_seconds
        )
        return await self._ask(module, replay_id, order, wait_seconds, EpisodesReplayed)

    async def play_again(
        self,
        module: GameModule,
        seat: WelcomeWorker,
        lease: Lease,
        budget_seconds: float,
        wait_seconds: float = HOST_SECONDS,
    ) -> PlayedAgain:
        """What a browser of this machine sees where it does a `replay` lease.

        Raises: AttractError: as `check`.
        """
        replay_id = next(self._ids)
        order = PlayAgain(
            replay_id=replay_id, game=module.reference, seat=seat, lease=lease, budget_seconds=budget_seconds
        )
        return await self._ask(module, replay_id, order, wait_seconds, PlayedAgain)

    async def playtest(
        self,
        module: GameModule,
        order: PlaytestGame,
        wait_seconds: float = HOST_SECONDS,
        outside: OutsideTable | None = None,
    ) -> GamePlaytested:
        """What a browser of this machine saw in the episodes and drills of `order`.

        Args:
            module: of `order.game`.
            order: its id is set here.
            wait_seconds: how long to wait for a browser.
            outside: who plays `outside:NAME`.

        Raises: AttractError: as `check`.
        """
        playtest_id = next(self._ids)
        order = order.model_copy(update={"playtest_id": playtest_id})
        return await self._ask(module, playtest_id, order, wait_seconds, GamePlaytested, outside)

    def own_place(
        self, module: GameModule, stack: str | None, method: MethodSource | None
    ) -> tuple[str | None, Place | None]:
        """A stack in the author's files, and its first place."""
        stack = self._games.own_stack(module.reference.sha256, stack, method)
        return stack, first_place(stack)

    async def _check(self, module: GameModule, order: CheckGame, wait_seconds: float) -> GameChecked:
        return await self._ask(module, order.check_id, order, wait_seconds, GameChecked)

    async def _ask(
        self,
        module: GameModule,
        order_id: int,
        order: HostOrder,
        wait_seconds: float,
        expected: type[Answer],
        outside: OutsideTable | None = None,
    ) -> Answer:
        try:
            async with asyncio.timeout(wait_seconds):
                await self._host_came.wait()
        except TimeoutError:
            raise AttractError(f"no browser came within {wait_seconds:g} s to play the game") from None
        connection_id = self._hosts[0]
        future: asyncio.Future[HostAnswer] = asyncio.get_running_loop().create_future()
        known = self._open[order_id] = _Open(connection_id, module, future, outside)
        self._send(connection_id, order)
        patience = ANSWER_SECONDS + (BUSY_SECONDS if isinstance(order, PlaytestGame) else 0.0)
        patience += 0.0 if outside is None else outside[0].patience_seconds
        try:
            async with asyncio.timeout(order.budget_seconds + patience):
                answer = await future
            if not isinstance(answer, expected):
                raise AttractError(
                    f"the browser's answer about {module.reference.name} does not fit the request"
                )
            return answer
        except TimeoutError:
            raise AttractError(f"the browser did not say what it found in {module.reference.name}") from None
        finally:
            if known.asking is not None:
                known.asking.cancel()
            del self._open[order_id]

    def asked(self, connection_id: int, ask: Ask) -> None:
        """A host asks what a program outside does, in an order that it plays.

        Raises: ProtocolError: nobody of that order plays so.
        """
        known = self._open.get(ask.order_id)
        if known is None or known.connection_id != connection_id:
            return
        if known.outside is None or (known.asking is not None and not known.asking.done()):
            raise malformed("ask: of no program, or before the last answer", fix="play what is ordered")
        players, description = known.outside
        if len(ask.agent) > description.num_agents:
            raise malformed(f"ask.agent: {len(ask.agent)}", fix=f"the game has {description.num_agents}")
        questions = players.questions(ask, description)

        async def answer() -> None:
            action = from_numpy(await players.actions(questions, description))
            self._send(connection_id, OutsideAnswer(run_id=None, order_id=ask.order_id, action=action))

        known.asking = asyncio.create_task(answer())

    def heard(self, connection_id: int, message: HostAnswer) -> None:
        """A host's answer; one that was not asked for is dropped."""
        order_id = _order_id(message)
        known = self._open.get(order_id)
        if known is not None and known.connection_id == connection_id and not known.answer.done():
            known.answer.set_result(message)

    def host_came(self, connection_id: int, tier: GrantedTier) -> None:
        """A host said hello; only pages of this machine's own are asked, others might say anything."""
        if tier == "local":
            self._hosts.append(connection_id)
            self._host_came.set()

    def refused(self, connection_id: int, error: ProtocolError) -> None:
        """A host's socket is being closed for what came by it, which was most likely its answer."""
        self._give_up(connection_id, f"the answer of the browser is refused: {error.reason}; {error.fix}")

    def gone(self, connection_id: int) -> None:
        """A socket is closed: the checks of its host fail."""
        if connection_id in self._hosts:
            self._hosts.remove(connection_id)
        if not self._hosts:
            self._host_came.clear()
        self._give_up(connection_id, "the browser went away while it played the game")

    def _give_up(self, connection_id: int, reason: str) -> None:
        for check in self._open.values():
            if check.connection_id == connection_id and not check.answer.done():
                check.answer.set_exception(AttractError(reason))

    def _filled(self, module: GameModule, message: GameChecked) -> GameChecked:
        """The answer, its episodes with the build that was played and the time."""
        folder = self._games.adapter_folder(module.reference)
        build = build_hashes(module, message.description, list_played_page(message.description, folder))
        build["created_at"] = datetime.now(UTC).isoformat(timespec="seconds")

        def filled(episode: RecordedEpisode | None) -> RecordedEpisode | None:
            return None if episode is None else episode.model_copy(update=build)

        findings = [
            finding.model_copy(update={"recorded": filled(finding.recorded)}) for finding in message.findings
        ]
        return message.model_copy(
            update={"findings": findings, "first_episode": filled(message.first_episode)}
        )

    def _view(self, module: GameModule, message: GameChecked) -> CheckView:
        findings: list[CheckFinding] = []
        for found in message.findings:
            finding = self._finding(module, found)
            # Two calls that differ in a package alone are the same to its author.
            if not any(_is_same(finding, known) for known in findings):
                findings.append(finding)
        findings.sort(key=lambda finding: finding.severity)
        return CheckView(
            game=module.reference.name,
            findings=findings,
            description=message.description,
            play=message.play,
            first_episode=message.first_episode,
            unplayable=message.unplayable,
            seconds=message.seconds,
        )

    def _finding(self, module: GameModule, finding: GameFinding) -> CheckFinding:
        stack, place = self.own_place(module, finding.stack, finding.method)
        recorded = finding.recorded
        if recorded is not None and recorded.error is not None and stack is not None:
            error = recorded.error.model_copy(update={"stack": stack})
            recorded = recorded.model_copy(update={"error": error})
        return CheckFinding(
            id=finding.id,
            severity=finding.severity,
            text=finding.text,
            fix=finding.fix,
            file=None if place is None else place.file,
            line=None if place is None else place.line,
            column=None if place is None else place.column,
            stack=stack,
            recorded=recorded,
        )


def _order_id(message: HostAnswer) -> int:
    match message:
        case GameChecked():
            return message.check_id
        case EpisodesReplayed() | PlayedAgain():
            return message.replay_id
        case GamePlaytested():
            return message.playtest_id


def _is_same(one: CheckFinding, other: CheckFinding) -> bool:
    return (one.id, one.text, one.file, one.line) == (other.id, other.text, other.file, other.line)
