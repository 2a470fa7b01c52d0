"""Parts of the app as parameters of its routes."""

from typing import Annotated, Any

from fastapi import Depends, Request

from attract.games.library import GameLibrary
from attract.run.service import RunService
from attract.runs.demonstrations import DemonstrationStore
from attract.server.exposition import Exposition
from attract.server.guard import Grant, Guard
from attract.server.readiness import Readiness
from attract.server.sockets import SocketHub
from attract.settings.run import ServerSettings


def _part(name: str) -> Any:
    """The attribute `name` of `app.state`."""

    # Async, since FastAPI calls plain functions on threads.
    async def find(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(find)


async def _grant(request: Request) -> Grant | None:
    return request.app.state.guard.credential(request.scope)


Settings = Annotated[ServerSettings, _part("settings")]
Guarded = Annotated[Guard, _part("guard")]
Service = Annotated[RunService, _part("service")]
Games = Annotated[GameLibrary, _part("games")]
Hub = Annotated[SocketHub, _part("hub")]
Build = Annotated[str | None, _part("build")]
Ready = Annotated[Readiness, _part("readiness")]
Exposed = Annotated[Exposition, _part("exposition")]
Demonstrations = Annotated[DemonstrationStore, _part("demonstrations")]
Granted = Annotated[Grant | None, Depends(_grant)]
"""The credential of the request; None: it has none."""
