"""Which run each browser's socket belongs to; hosts that belong to none wait for the next."""

import logging
from collections.abc import Callable

from attract.errors import ProtocolError
from attract.games.library import GameLibrary
from attract.run.active import ActiveRun
from attract.run.game_checker import GameChecker
from attract.run.outside_players import NOBODY, MakePlayers
from attract.run.ports import BrowserSockets
from attract.runs.log_lines import bind
from attract.schema import close_codes
from attract.schema.base import GrantedTier, WireModel
from attract.schema.messages import (
    Ask,
    Assignment,
    EpisodesReplayed,
    FromBrowser,
    GameChecked,
    GamePlaytested,
    Goodbye,
    Hello,
    HostStatus,
    PlayedAgain,
    WelcomeHost,
)

log = logging.getLogger(__name__)


class Membership:
    """The sockets' handler. Owned by the run service, used on its event loop.

    `hub` is set before the first browser comes. `active`: the active run; None without one.
    """

    def __init__(
        self, games: GameLibrary, active: Callable[[], ActiveRun | None], outside: MakePlayers = NOBODY
    ) -> None:
        self._active = active
        self.outside = outside
        """Makes the programs outside that play, for each run and each order."""
        self.hub: BrowserSockets | None = None
        self.checker = GameChecker(games, self._send)
        """Has hosts check games."""
        self._hosts: dict[int, tuple[Hello, GrantedTier, str]] = {}
        self._runs: dict[int, ActiveRun] = {}

    def connected(self, connection_id: int, hello: Hello, tier: GrantedTier, identity: str) -> None:
        """A socket said a good hello: a host is known from now on, a worker must belong to the active run.

        Raises: ProtocolError: when the worker's run is not the active one.
        """
        active = self._active()
        if hello.role == "host":
            self._hosts[connection_id] = (hello, tier, identity)
            self.checker.host_came(connection_id, tier)
            if active is not None:
                self._join(active, connection_id, hello, tier, identity)
            else:
                self._send(connection_id, WelcomeHost(host_id=hello.host_id, tier=tier))
                self._send(connection_id, Assignment(run_id=None, game=None, num_workers=0))
            return
        if active is None or hello.run_id != active.run_id:
            raise ProtocolError(
                f"run {hello.run_id} is not active",
                code="run",
                close_code=close_codes.RUN,
                fix="end this worker; the host will hear of the next run",
            )
        self._join(active, connection_id, hello, tier, identity)

    def hand_over(self, run: ActiveRun) -> None:
        """The hosts that wait belong to this run from now on."""
        for connection_id, (hello, tier, identity) in list(self._hosts.items()):
            # A host that came while the learner was being started is in already.
            if self._runs.get(connection_id) is not run:
                self._join(run, connection_id, hello, tier, identity)

    def received(self, connection_id: int, message: FromBrowser) -> None:
        """A message; what comes for a run that has ended is dropped.

        Raises: ProtocolError: as `BrowserSide.handle_message`.
        """
        if isinstance(message, GameChecked | EpisodesReplayed | PlayedAgain | GamePlaytested):
            self.checker.heard(connection_id, message)
            return
        if isinstance(message, Ask) and connection_id in self._hosts:
            self.checker.asked(connection_id, message)
            return
        run = self._runs.get(connection_id)
        if run is not None and run is self._active():
            try:
                run.browsers.handle_message(connection_id, message)
            except ProtocolError:
                # For the log line: which lease was it about?
                if (lease_id := getattr(message, "lease_id", None)) is not None:
                    bind(lease=int(lease_id))
                raise
        elif connection_id in self._hosts and not isinstance(message, HostStatus | Goodbye):
            log.debug("a host sent %s without a run", message.type)

    def refused(self, connection_id: int, error: ProtocolError) -> None:
        """A socket is being closed for what came by it: who waits for its word hears why."""
        self.checker.refused(connection_id, error)
        run = self._runs.get(connection_id)
        if run is not None and run is self._active():
            run.browsers.refused(connection_id, error)

    def disconnected(self, connection_id: int) -> None:
        """A socket is gone."""
        self.checker.gone(connection_id)
        self._hosts.pop(connection_id, None)
        run = self._runs.pop(connection_id, None)
        if run is not None and run is self._active():
            run.browsers.disconnected(connection_id)

    def _join(
        self, run: ActiveRun, connection_id: int, hello: Hello, tier: GrantedTier, identity: str
    ) -> None:
        self._runs[connection_id] = run
        run.browsers.connected(connection_id, hello, tier, identity)

    def _send(self, connection_id: int, message: WireModel) -> None:
        if self.hub is not None:
            self.hub.send(connection_id, message)
