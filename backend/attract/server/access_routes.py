"""The routes by which browsers sign in and out, and by which the admin invites and revokes."""

from collections.abc import Callable
from datetime import UTC, datetime

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

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
from attract.server.guard import Guard, role
from attract.server.links import TAB_SECONDS, invited_link, tab_token, viewer_link
from attract.server.sockets import SocketHub
from attract.settings.run import ServerSettings


def add_access_routes(
    app: FastAPI,
    settings: ServerSettings,
    guard: Guard,
    hub: SocketHub,
    info: Callable[[str], ServerInfo],
) -> None:
    """Add them to `app`; `info`: the server's description for a role."""

    @app.post("/api/session")
    @role("public")
    def open_session(session: Session, request: Request) -> JSONResponse:
        grant = guard.grant_of(session.token)
        if grant is None or grant.role == "worker":
            raise HTTPException(
                401, Problem(error="this token cannot open a session", fix=_LINK_FIX).model_dump()
            )
        secret, key = guard.access.open_session(
            grant.role, request.headers.get("user-agent", ""), grant.entry
        )
        opened = OpenedSession(info=info(grant.role), key=key)
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
    @app.post("/api/logout")
    @role("viewer")
    async def log_out(request: Request) -> JSONResponse:
        grant = guard.credential(request.scope)
        entry = None if grant is None else grant.entry
        # Not a link whose own token is shown: it is that of all who have it.
        if entry is not None and any(session.id == entry for session in guard.access.sessions()):
            guard.end(entry)
        response = JSONResponse({})
        response.set_cookie(
            guard.access.cookie_name, "", max_age=0, path=None, httponly=True, samesite="strict"
        )
        return response

    @app.post("/api/join")
    @role("admin")
    async def create_join_link(body: JoinRequest, request: Request) -> JoinLink:
        if body.tier == "local":
            grant = guard.credential(request.scope)
            token = tab_token(guard.access, None if grant is None else grant.entry)
            return JoinLink(
                url=f"join.html#token={token}", token=token, tier="local", expires_seconds=TAB_SECONDS
            )
        try:
            url, token = invited_link(settings, guard.access, request.scope["server"][1])
        except ConfigurationError as error:
            raise HTTPException(409, Problem(error=error.problem, fix=error.fix).model_dump()) from None
        return JoinLink(url=url, token=token, tier="invited", expires_seconds=settings.invite_seconds)

    @app.post("/api/viewer-link")
    @role("admin")
    async def create_viewer_link(body: ViewerRequest, request: Request) -> ViewerLink:
        url = viewer_link(settings, guard.access, request.scope["server"][1], body.run_id)
        return ViewerLink(url=url, expires_seconds=settings.invite_seconds)

    def view(request: Request) -> AccessView:
        grant = guard.credential(request.scope)
        own = None if grant is None else grant.entry
        return AccessView(
            sessions=[
                SessionEntry(
                    entry_id=session.id,
                    role=session.role,
                    created=_label(session.created),
                    seen=_label(session.seen),
                    agent=session.agent,
                    is_own=session.id == own,
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

    @app.get("/api/access")
    @role("admin")
    async def get_access(request: Request) -> AccessView:
        return view(request)

    @app.post("/api/access/{entry_id}/revoke")
    @role("admin")
    async def revoke(entry_id: str, request: Request) -> AccessView:
        if not guard.end(entry_id):
            raise HTTPException(404, Problem(error="there is no such session or invitation").model_dump())
        return view(request)


def _label(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


_LINK_FIX = "open the address that the server printed when it started"
