"""Dependencies of routes: what `build_app` put into `app.state`, and the credential of the request."""

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


def _state(name: str) -> Any:
    """What `build_app` put into `app.state` under `name`."""

    # Async, since FastAPI calls plain functions on threads.
    async def find(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(find)


async def _grant(request: Request) -> Grant | None:
    return request.app.state.guard.credential(request.scope)


SettingsDep = Annotated[ServerSettings, _state("settings")]
GuardDep = Annotated[Guard, _state("guard")]
ServiceDep = Annotated[RunService, _state("service")]
GamesDep = Annotated[GameLibrary, _state("games")]
HubDep = Annotated[SocketHub, _state("hub")]
ReadinessDep = Annotated[Readiness, _state("readiness")]
ExpositionDep = Annotated[Exposition, _state("exposition")]
DemonstrationsDep = Annotated[DemonstrationStore, _state("demonstrations")]
GrantDep = Annotated[Grant | None, Depends(_grant)]
"""The credential of the request; None: it has none."""
