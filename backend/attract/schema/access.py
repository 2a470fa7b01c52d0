"""Messages of the HTTP API about access: sessions, join links, and what is open to whom."""

from typing import Annotated, Literal

from pydantic import Field

from attract.schema.base import Count, GrantedTier, LinkTier, Name, Text, WireModel


class JoinRequest(WireModel):
    """Body of `POST /api/join`: `local` for a page of the admin's own, `invited` for other devices."""

    tier: GrantedTier = "local"


class JoinLink(WireModel):
    """Answer to `POST /api/join`: a link by which a host may join, its token in the fragment."""

    url: Text
    """`local`: relative to the page's base, `join.html#token=...`; `invited`: absolute, for other devices."""
    token: Text
    """The token of the link, for `startHost` in this page."""
    tier: GrantedTier
    expires_seconds: Annotated[float, Field(gt=0)]


class ViewerRequest(WireModel):
    """Body of `POST /api/viewer-link`."""

    run_id: Name | None = None
    """The run whose page the link opens; None: the start page."""


class ViewerLink(WireModel):
    """Answer to `POST /api/viewer-link`: a link that opens the dashboard for a viewer, who may only look."""

    url: Text
    """Absolute where other devices reach the server; else relative to the page's base, `#token=...`."""
    expires_seconds: Annotated[float, Field(gt=0)]


class Session(WireModel):
    """Body of `POST /api/session`: the token of an admin or a viewer from the URL's fragment."""

    token: Annotated[str, Field(max_length=200)]


class ServerInfo(WireModel):
    """Body of `GET /api/info`."""

    version: str
    build: str
    active_run: Name | None
    """The run that this server trains."""
    live_run: Name | None = None
    """The same; where it trains none, the newest run of the folder that another process trains."""
    lan: bool
    role: Literal["admin", "viewer"]


class OpenedSession(WireModel):
    """Answer to `POST /api/session`; the session itself is in a Strict cookie that scripts cannot read."""

    info: ServerInfo
    key: Text
    """A second secret, sent as `x-attract-key` by what changes things: cookies reach every port."""


class SessionEntry(WireModel):
    """One browser that is signed in."""

    entry_id: Name
    role: Literal["admin", "viewer"]
    created: Text
    """UTC, ISO 8601."""
    seen: Text
    """When it was last used, to some minutes."""
    agent: Text
    """The browser's User-Agent, shortened."""
    is_own: bool
    """It is the one that asks."""


class InvitationEntry(WireModel):
    """One link that works: for workers to join, or for viewers to look."""

    entry_id: Name
    tier: LinkTier
    note: Text
    """Purpose of the invitation."""
    created: Text
    expires: Text
    sockets: Count
    """Open sockets of hosts and workers that came by it."""


class AccessView(WireModel):
    """Body of `GET /api/access`: all sessions and invitations, without the operator's tokens."""

    sessions: list[SessionEntry]
    invitations: list[InvitationEntry]
