"""Access control: Host and Origin allow-lists, tokens and sessions, a role for every route."""

import asyncio
import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import ClassVar, Final, Literal, cast

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attract.schema.api import Problem
from attract.schema.base import GrantedTier
from attract.server.access_store import AccessStore, KeptSession
from attract.server.audit_trail import AuditTrail, Detail
from attract.server.names import ServerNames
from attract.server.tokens import check_token
from attract.settings.run import ServerSettings

Role = Literal["admin", "viewer", "worker", "public"]

SAFE_METHODS: Final = ("GET", "HEAD")
MAX_BODY_BYTES: Final = 256 * 1024
MAX_NAME_CHARACTERS: Final = 200
KEY_HEADER: Final = "x-attract-key"
"""Carries the second secret of a session, which the page keeps by itself: cookies know no ports."""
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "frame-src 'self' {games}; "
    "img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
GAMES_HERE: Final = "http://*.localhost:*"
"""Frame source of page games on the server's own machine."""
HEADERS: Final = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

OPENER_POLICY: Final = (b"cross-origin-opener-policy", b"same-origin")
"""Not sent over plain HTTP on a network: browsers ignore it there and log a warning."""


class RoleRoute(APIRoute):
    """Declares who may call its endpoint; an app with any other route is not built. See `routes_for`."""

    required_role: ClassVar[Role]
    body_bytes: ClassVar[int]


def routes_for(required: Role, body_bytes: int = MAX_BODY_BYTES) -> APIRouter:
    """A router for routes that this role may call, with bodies of at most `body_bytes`."""
    kind = type("RoleRoute", (RoleRoute,), {"required_role": required, "body_bytes": body_bytes})
    return APIRouter(route_class=kind)


def check_roles(routes: Iterable[BaseRoute]) -> None:
    """Every route has a role.

    Raises: RuntimeError: naming those that declare none.
    """
    bare = [str(getattr(route, "path", route)) for route in routes if not isinstance(route, RoleRoute)]
    if bare:
        raise RuntimeError(
            f"expected every route in a router of routes_for, found outside: {', '.join(bare)}"
        )


@dataclass(frozen=True)
class Grant:
    """The rights of a credential. Its secret is stored only as SHA-256, or if signed not at all."""

    role: Literal["admin", "viewer", "worker"]
    tier: GrantedTier
    expires: float | None = None
    """Expiry on the guard's clock; None: that of the server, or of its session or invitation."""
    entry: str | None = None
    """Id of its session or invitation, which can be revoked; None: a token of this process."""


@dataclass(frozen=True)
class Refusal:
    """An HTTP refusal, with the fix."""

    status: int
    error: str
    fix: str | None = None


@dataclass(frozen=True)
class _Shown:
    """Credential of a request: a bearer token, or a cookie, which a browser also sends for other sites."""

    grant: Grant | None
    session: KeptSession | None = None
    by_cookie: bool = False
    name: str | None = None
    """Name of the credential in the audit trail, valid or not."""


class Guard:
    """Issues and checks credentials, and has the allowed names of this server.

    One per app, used on its event loop; `clock` is monotonic seconds. Tokens of `issue` and `accept` end with
    the process; sessions and invitations are the `access` store's, and outlive it.
    """

    def __init__(self, settings: ServerSettings, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._grants: dict[bytes, Grant] = {}
        self._on_end: list[Callable[[str], None]] = []
        self.names = ServerNames(settings)
        self.access = AccessStore(settings.runs_dir)
        self.refused: Counter[int] = Counter()
        """Number of requests refused before any route, by HTTP status."""
        self.audit = AuditTrail(settings.runs_dir, clock)
        """Audit trail of this server: accesses, refusals and changes."""
        self.admin_token = self.issue("admin")

    def issue(
        self,
        granted: Literal["admin", "viewer", "worker"],
        *,
        tier: GrantedTier = "local",
        seconds: float | None = None,
    ) -> str:
        """A new random token of 256 bits, URL-safe; valid for `seconds`, or as long as the server runs."""
        self._forget_expired()
        token = secrets.token_urlsafe(32)
        expires = None if seconds is None else self._clock() + seconds
        self._grants[_digest(token)] = Grant(granted, tier, expires)
        return token

    def accept(
        self, token: str, granted: Literal["admin", "viewer", "worker"], *, tier: GrantedTier = "local"
    ) -> None:
        """Let a token of the operator's own choice in; an admin's takes the place of the one made here.

        Raises: ConfigurationError: when it cannot be a secret.
        """
        check_token(token, f"server.{granted}_token")
        if granted == "admin":
            self.revoke(self.admin_token)
            self.admin_token = token
        self._grants[_digest(token)] = Grant(granted, tier, None)

    def revoke(self, token: str) -> None:
        """Forget a token; unknown ones are no error."""
        self._grants.pop(_digest(token), None)

    def end(self, entry_id: str) -> bool:
        """End a session or an invitation, and what came in by it; False when there is none of that id.

        Raises: AccessError: as `AccessStore.end`.
        """
        mine = self.access.ended_with(entry_id)
        try:
            return self.access.end(entry_id)
        finally:
            for listener in self._on_end:
                for ended in mine:
                    listener(ended)

    def when_ended(self, listener: Callable[[str], None]) -> None:
        """Have `listener(entry_id)` called for each session and invitation that is ended here."""
        self._on_end.append(listener)

    def grant_of(self, token: str | None) -> Grant | None:
        """The rights of a token; None: unknown or expired. It is found by hash, so timing reveals nothing."""
        if not token:
            return None
        grant = self._grants.get(_digest(token))
        if grant is None:
            invitation = self.access.invitation(token)
            if invitation is None:
                return None
            if invitation.tier == "viewer":
                return Grant("viewer", "invited", entry=invitation.id)
            return Grant("worker", invitation.tier, entry=invitation.id)
        return None if grant.expires is not None and grant.expires <= self._clock() else grant

    def check_request(self, scope: Scope, required: Role, body_bytes: int = MAX_BODY_BYTES) -> Refusal | None:
        """The refusal of this HTTP request, given its route's role; None: it is allowed."""
        headers = Headers(scope=scope)
        changes = scope["method"] not in SAFE_METHODS
        if changes:
            if _length(headers, otherwise=body_bytes + 1) > body_bytes:
                return Refusal(413, f"the body is larger than {body_bytes} bytes")
            if not self.names.is_own_origin(scope):
                return Refusal(403, f"origin {headers.get('origin')!r} is not this server's", _ORIGIN_FIX)
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return Refusal(403, "the request comes from another site's page", _ORIGIN_FIX)
            kind = headers.get("content-type", "").split(";")[0].strip().lower()
            if kind != "application/json":
                return Refusal(415, "the body must be JSON", "send content-type: application/json")
        if required == "public":
            return None
        shown = self._shown(headers)
        if shown.grant is None:
            return Refusal(401, "no valid token", "open the address that the server printed, with its #token")
        if changes and shown.by_cookie:
            if "origin" not in headers:
                return Refusal(403, "a session cookie needs an Origin", "use a page, or a bearer token")
            if shown.session is None or not shown.session.is_key(headers.get(KEY_HEADER, "")):
                return Refusal(403, "this browser has read-only access", _KEY_FIX)
        if shown.grant.role == required or shown.grant.role == "admin":
            return None
        return Refusal(403, f"this needs the {required}'s token, yours is a {shown.grant.role}'s")

    def who(self, scope: Scope) -> dict[str, Detail]:
        """Name of the client for the audit trail, without secrets."""
        shown, client = self._shown(Headers(scope=scope)), scope.get("client")
        return {
            "address": client[0] if client else None,
            "role": None if shown.grant is None else shown.grant.role,
            "tier": None if shown.grant is None else shown.grant.tier,
            "credential": shown.name,
        }

    def credential(self, scope: Scope) -> Grant | None:
        """The credential of a request, independent of its route's role."""
        return self._shown(Headers(scope=scope)).grant

    def _shown(self, headers: Headers) -> _Shown:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            token = token.strip()
            return _Shown(self.grant_of(token), name=token_key(token))
        if "cookie" not in headers:
            return _Shown(None)
        try:
            cookies = SimpleCookie(headers["cookie"])
        except CookieError:
            return _Shown(None, by_cookie=True)
        morsel = cookies.get(self.access.cookie_name)
        session = None if morsel is None else self.access.session(morsel.value)
        grant = None if session is None else Grant(session.role, "local", entry=session.id)
        name = None if morsel is None else token_key(morsel.value)
        return _Shown(grant, session, by_cookie=True, name=name if session is None else session.id)

    def _forget_expired(self) -> None:
        now = self._clock()
        for digest in [key for key, grant in self._grants.items() if (grant.expires or now + 1) <= now]:
            del self._grants[digest]


class GuardMiddleware:
    """Pure ASGI, so that websockets pass through it too; the outermost layer of the app."""

    def __init__(
        self,
        app: ASGIApp,
        guard: Guard,
        routes: list[BaseRoute],
        request_seconds: float,
    ) -> None:
        self._app = app
        self._guard = guard
        self._routes = routes
        self._request_seconds = request_seconds
        self._audit = guard.audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the security headers added."""
        if scope["type"] == "websocket":
            names = self._guard.names
            if names.is_open_to(scope) and names.is_known_host(scope) and names.is_own_origin(scope):
                await self._app(scope, receive, send)
            else:
                self._audit.write("refused", code="origin", path=scope["path"], **self._guard.who(scope))
                await receive()
                await send({"type": "websocket.close", "code": 4003, "reason": "Host or Origin"})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _with_headers(send, _headers(self._guard.names, scope))
        route = self._route(scope)
        refusal = self._refusal(scope, route)
        if refusal is not None:
            self._guard.refused[refusal.status] += 1
            self._audit.write("refused", status=refusal.status, **self._what(scope), **self._guard.who(scope))
            await _answer(refusal, answer)
            return
        if scope["method"] not in SAFE_METHODS:
            answer = self._noted(scope, answer)
        limit = MAX_BODY_BYTES if route is None else route.body_bytes
        body = _Body(receive, self._request_seconds, limit)
        await self._app(scope, body.receive, answer)

    def _noted(self, scope: Scope, send: Send) -> Send:
        """Records each change in the audit trail, with its author and status."""
        # Before the change: a session that ends itself is deleted by it.
        who = self._guard.who(scope)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = int(message["status"])
                self._audit.write("requested", status=status, **self._what(scope), **who)
            await send(message)

        return answer

    def _what(self, scope: Scope) -> dict[str, Detail]:
        return {"method": scope["method"], "path": scope["path"]}

    def _route(self, scope: Scope) -> RoleRoute | None:
        found = next((route for route in self._routes if route.matches(scope)[0] is Match.FULL), None)
        return cast("RoleRoute | None", found)

    def _refusal(self, scope: Scope, route: RoleRoute | None) -> Refusal | None:
        names = self._guard.names
        if not names.is_open_to(scope):
            return Refusal(421, "this server is not open to the network", _NETWORK_FIX)
        if not names.is_known_host(scope):
            name = ", ".join(Headers(scope=scope).getlist("host"))[:MAX_NAME_CHARACTERS]
            return Refusal(421, f"unknown host name {name!r}", _HOST_FIX)
        if route is not None:
            return self._guard.check_request(scope, route.required_role, route.body_bytes)
        return None if scope["method"] in SAFE_METHODS else self._guard.check_request(scope, "admin")


class _Body:
    """A request's body with a deadline and a size limit; past either it ends as if the client had gone."""

    def __init__(self, receive: Receive, seconds: float, max_bytes: int) -> None:
        self._receive = receive
        self._max_bytes = max_bytes
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._size = 0
        self._whole = False

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        self._size += len(message.get("body", b""))
        if self._size > self._max_bytes:
            return {"type": "http.disconnect"}
        self._whole = message["type"] == "http.request" and not message.get("more_body", False)
        return message


_HOST_FIX = "set ATTRACT_PUBLIC_URL, or add the name to the allowed hosts, if the server is behind a proxy"
_NETWORK_FIX = "start it with --lan, with --tls-cert and --tls-key, or with --behind-proxy ADDRESS"
_KEY_FIX = "open the address that the server printed, with its #token, once more"
_ORIGIN_FIX = "open the page from this server; behind a proxy set ATTRACT_PUBLIC_URL"


def token_key(token: str | None) -> str:
    """Key by which a token is counted; it does not reveal the token."""
    return _digest(token or "").hex()[:16]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _length(headers: Headers, *, otherwise: int) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else otherwise


def _headers(names: ServerNames, scope: Scope) -> list[tuple[bytes, bytes]]:
    policy = CONTENT_SECURITY_POLICY.format(games=names.frames_source(scope) or GAMES_HERE)
    headers = [(b"content-security-policy", policy.encode()), *HEADERS]
    return [*headers, OPENER_POLICY] if names.is_trustworthy(scope) else headers


def _with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", []))
            # A page with a policy of its own keeps it: with two, a browser would enforce both.
            names = {name for name, _ in own}
            message = {
                **message,
                "headers": [*own, *(header for header in headers if header[0] not in names)],
            }
        await send(message)

    return answer


async def _answer(refusal: Refusal, send: Send) -> None:
    body = Problem(error=refusal.error, fix=refusal.fix).model_dump_json().encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
