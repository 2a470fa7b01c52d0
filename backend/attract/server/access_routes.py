"""The routes by which browsers sign in and out, and by which the admin invites and revokes."""

import asyncio
from datetime import UTC, datetime

from fastapi import HTTPException, Request
from fastapi.responses import JSONResponse

from attract import __version__
from attract.errors import ConfigurationError
from attract.schema.access import (
    AccessView,
    InvitationEntry,
    JoinLink,
    JoinRequest,
    OpenedSession,
    ServerInfo,
    Session,
    SessionEntry,
    ViewerLink,
    ViewerRequest,
)
from attract.schema.api import Problem
from attract.server.dependencies import GrantDep, GuardDep, HubDep, ServiceDep, SettingsDep
from attract.server.guard import routes_for
from attract.server.links import TAB_SECONDS, invited_link, tab_token, viewer_link
from attract.settings.run import ServerSettings

public, viewer, admin = routes_for("public"), routes_for("viewer"), routes_for("admin")


@public.post("/api/session")
def open_session(session: Session, request: Request, guard: GuardDep) -> JSONResponse:
    grant = guard.grant_of(session.token)
    if grant is None or grant.role == "worker":
        raise HTTPException(
            401, Problem(error="this token cannot open a session", fix=_LINK_FIX).model_dump()
        )
    secret, key = guard.access.open_session(grant.role, request.headers.get("user-agent", ""), grant.entry)
    opened = OpenedSession(info=_info(request, grant.role), key=key)
    response = JSONResponse(opened.model_dump(mode="json"))
    # Without a path the cookie is for this folder of the browser's URL, including a proxy's prefix.
    response.set_cookie(
        guard.access.cookie_name,
        secret,
        path=None,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


# In the same folder as /api/session: the cookie can only be removed from there.
@viewer.post("/api/logout")
async def log_out(guard: GuardDep, grant: GrantDep) -> JSONResponse:
    entry = None if grant is None else grant.entry
    # Not a link whose own token is shown: it is that of all who have it.
    if entry is not None and any(session.id == entry for session in guard.access.sessions()):
        guard.end(entry)
    response = JSONResponse({})
    response.set_cookie(guard.access.cookie_name, "", max_age=0, path=None, httponly=True, samesite="strict")
    return response


@admin.post("/api/join")
async def create_join_link(
    body: JoinRequest, request: Request, settings: SettingsDep, guard: GuardDep, grant: GrantDep
) -> JoinLink:
    if body.tier == "local":
        token = tab_token(guard.access, None if grant is None else grant.entry)
        return JoinLink(
            url=f"join.html#token={token}", token=token, tier="local", expires_seconds=TAB_SECONDS
        )
    try:
        url, token = invited_link(settings, guard.access, request.scope["server"][1])
    except ConfigurationError as error:
        raise HTTPException(409, Problem(error=error.problem, fix=error.fix).model_dump()) from None
    return JoinLink(url=url, token=token, tier="invited", expires_seconds=settings.invite_seconds)


@admin.post("/api/viewer-link")
async def create_viewer_link(
    body: ViewerRequest, request: Request, settings: SettingsDep, guard: GuardDep
) -> ViewerLink:
    url = viewer_link(settings, guard.access, request.scope["server"][1], body.run_id)
    return ViewerLink(url=url, expires_seconds=settings.invite_seconds)


@admin.get("/api/access")
async def get_access(guard: GuardDep, hub: HubDep, grant: GrantDep) -> AccessView:
    return AccessView(
        sessions=[
            SessionEntry(
                entry_id=session.id,
                role=session.role,
                created=_label(session.created),
                seen=_label(session.seen),
                agent=session.agent,
                is_own=grant is not None and session.id == grant.entry,
            )
            for session in guard.access.sessions()
        ],
        invitations=[
            InvitationEntry(
                entry_id=invitation.id,
                tier=invitation.tier,
                note=invitation.note,
                created=_label(invitation.created),
                expires=_label(invitation.expires),
                sockets=hub.sockets_of(invitation.id),
            )
            for invitation in guard.access.invitations()
        ],
    )


@admin.post("/api/access/{entry_id}/revoke")
async def revoke(entry_id: str, guard: GuardDep, hub: HubDep, grant: GrantDep) -> AccessView:
    if not guard.end(entry_id):
        raise HTTPException(404, Problem(error="there is no such session or invitation").model_dump())
    return await get_access(guard, hub, grant)


@viewer.get("/api/info")
async def get_info(request: Request, service: ServiceDep, grant: GrantDep) -> ServerInfo:
    live = service.active_run_id or await asyncio.to_thread(service.catalogue.live)
    return _info(request, "viewer" if grant is None else grant.role).model_copy(update={"live_run": live})


def _info(request: Request, granted: str) -> ServerInfo:
    state = request.app.state
    settings: ServerSettings = state.settings
    return ServerInfo(
        version=__version__,
        build=state.build or "none",
        active_run=state.service.active_run_id,
        lan=settings.lan or settings.public_url is not None or settings.tls_cert is not None,
        role="admin" if granted == "admin" else "viewer",
    )


def _label(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


_LINK_FIX = "open the address that the server printed when it started"
