"""Who may do what: Host and Origin allow-lists, tokens and sessions, a role for every route."""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any, Final, Literal, TypeVar, cast
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attract.errors import ConfigurationError
from attract.schema.api import Problem
from attract.settings import ServerSettings

Role = Literal["admin", "viewer", "worker", "public"]
Tier = Literal["local", "invited"]

ROLES: Final = ("admin", "viewer", "worker", "public")
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
SAFE_METHODS: Final = ("GET", "HEAD")
MAX_BODY_BYTES: Final = 256 * 1024
MIN_TOKEN_CHARACTERS: Final = 16
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS: Final = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def role(required: Role) -> Callable[[Endpoint], Endpoint]:
    """Declare who may call an endpoint, beneath the route's decorator; without it the app is not built."""

    def declare(endpoint: Endpoint) -> Endpoint:
        cast("Any", endpoint).attract_role = required
        return endpoint

    return declare


def check_roles(routes: Iterable[BaseRoute]) -> None:
    """Every route, websockets too, has a role.

    Raises: RuntimeError: naming those that declare none.
    """
    bare = [str(getattr(route, "path", route)) for route in routes if _role_of(route) not in ROLES]
    if bare:
        raise RuntimeError(f"expected @role(...) on every route, found none on: {', '.join(bare)}")


@dataclass(frozen=True)
class Grant:
    """What a token allows; the token itself is kept only as its SHA-256."""

    role: Literal["admin", "viewer", "worker"]
    tier: Tier
    expires: float | None
    """On the guard's clock; None: as long as the server runs."""


@dataclass(frozen=True)
class Refusal:
    """An HTTP answer that says no, and what would mend it."""

    status: int
    error: str
    fix: str | None = None


class Guard:
    """Issues and checks credentials, and knows the names this server goes by.

    One per app, used on its event loop; `clock` is monotonic seconds.
    """

    def __init__(self, settings: ServerSettings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._grants: dict[bytes, Grant] = {}
        self._origins = {origin.rstrip("/").lower() for origin in settings.allowed_origins}
        self._hosts = {host.lower() for host in settings.allowed_hosts}
        if settings.public_url is not None:
            parts = urlsplit(settings.public_url)
            self._origins.add(f"{parts.scheme}://{parts.netloc}".lower())
            self._hosts.add((parts.hostname or "").lower())
        self.admin_token = self.issue("admin")
        self.cookie_name = f"attract_{hashlib.sha256(self.admin_token.encode()).hexdigest()[:12]}"
        """Cookies are not kept apart by port: each server has a name of its own."""

    def issue(
        self,
        granted: Literal["admin", "viewer", "worker"],
        *,
        tier: Tier = "local",
        seconds: float | None = None,
    ) -> str:
        """A new random token of 256 bits, URL-safe; valid for `seconds`, or as long as the server runs."""
        self._forget_expired()
        token = secrets.token_urlsafe(32)
        expires = None if seconds is None else self._clock() + seconds
        self._grants[_digest(token)] = Grant(granted, tier, expires)
        return token

    def accept(
        self, token: str, granted: Literal["admin", "viewer", "worker"], *, tier: Tier = "local"
    ) -> None:
        """Let a token of the admin's own choice in, for a fleet that is started apart from its trainer.

        Raises: ConfigurationError: when it is too short to be a secret.
        """
        if len(token) < MIN_TOKEN_CHARACTERS:
            raise ConfigurationError(
                f"the token has {len(token)} characters, at least {MIN_TOKEN_CHARACTERS} are needed",
                setting="server.worker_token",
                fix="python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one",
            )
        self._grants[_digest(token)] = Grant(granted, tier, None)

    def revoke(self, token: str) -> None:
        """Forget a token; unknown ones are no error."""
        self._grants.pop(_digest(token), None)

    def grant_of(self, token: str | None) -> Grant | None:
        """What a token allows, None for an unknown or expired one; found by hash, so timing tells nothing."""
        if not token:
            return None
        grant = self._grants.get(_digest(token))
        if grant is None or (grant.expires is not None and grant.expires <= self._clock()):
            return None
        return grant

    def is_known_host(self, scope: Scope) -> bool:
        """True when the `Host` header is one of this server's names; else it is DNS rebinding."""
        name = _host_name(Headers(scope=scope).get("host", ""))
        if name in LOOPBACK or name in self._hosts:
            return True
        server = scope.get("server")
        # With --lan the address this very connection came in on; never a name, which others may resolve.
        return self._settings.lan and _is_address(name) and server is not None and name == server[0]

    def is_own_origin(self, scope: Scope) -> bool:
        """True without an `Origin` (not a page), or when it is exactly that of this server's pages."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is None:
            return True
        secure = scope.get("scheme") in ("https", "wss")
        own = f"{'https' if secure else 'http'}://{headers.get('host', '')}"
        return origin.lower() == own.lower() or origin.lower() in self._origins

    def check_request(self, scope: Scope, required: Role) -> Refusal | None:
        """What stands against this HTTP request, given its route's role; None when it may go on."""
        headers = Headers(scope=scope)
        changes = scope["method"] not in SAFE_METHODS
        if changes:
            if int(headers.get("content-length", "0") or 0) > MAX_BODY_BYTES:
                return Refusal(413, f"a body may have {MAX_BODY_BYTES} bytes")
            if not self.is_own_origin(scope):
                return Refusal(403, f"origin {headers.get('origin')} is not this server's", _ORIGIN_FIX)
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return Refusal(403, "the request comes from another site's page", _ORIGIN_FIX)
            kind = headers.get("content-type", "").split(";")[0].strip().lower()
            if kind != "application/json":
                return Refusal(415, "only JSON bodies are read here", "send content-type: application/json")
        if required == "public":
            return None
        grant, by_cookie = self._credential(headers)
        if grant is None:
            return Refusal(401, "no valid token", "open the address that the server printed, with its #token")
        if changes and by_cookie and "origin" not in headers:
            return Refusal(403, "a session cookie needs an Origin", "use a page, or a bearer token")
        if grant.role == required or grant.role == "admin":
            return None
        return Refusal(403, f"this needs the {required}'s token, yours is a {grant.role}'s")

    def credential(self, scope: Scope) -> Grant | None:
        """The credential that a request carries, whatever its route asks."""
        return self._credential(Headers(scope=scope))[0]

    def _credential(self, headers: Headers) -> tuple[Grant | None, bool]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.grant_of(token.strip()), False
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return None, True
        morsel = cookies.get(self.cookie_name)
        return (None if morsel is None else self.grant_of(morsel.value)), True

    def _forget_expired(self) -> None:
        now = self._clock()
        for digest in [key for key, grant in self._grants.items() if (grant.expires or now + 1) <= now]:
            del self._grants[digest]


class GuardMiddleware:
    """Pure ASGI, so that websockets pass through it too; stands before everything else of the app."""

    def __init__(self, app: ASGIApp, guard: Guard, routes: list[BaseRoute], request_seconds: float) -> None:
        self._app = app
        self._guard = guard
        self._routes = routes
        self._request_seconds = request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the security headers added."""
        if scope["type"] == "websocket":
            if self._guard.is_known_host(scope) and self._guard.is_own_origin(scope):
                await self._app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 4003, "reason": "Host or Origin"})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _with_headers(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(refusal, answer)
            return
        await self._app(scope, _Body(receive, self._request_seconds).receive, answer)

    def _refusal(self, scope: Scope) -> Refusal | None:
        if not self._guard.is_known_host(scope):
            name = Headers(scope=scope).get("host", "")
            return Refusal(421, f"this server does not go by {name!r}", _HOST_FIX)
        for route in self._routes:
            match, _ = route.matches(scope)
            if match is Match.FULL:
                return self._guard.check_request(scope, cast("Role", _role_of(route)))
        return None if scope["method"] in SAFE_METHODS else self._guard.check_request(scope, "admin")


class _Body:
    """A request's body with a deadline and a size limit; past either it ends as if the client had gone."""

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
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
        if self._size > MAX_BODY_BYTES:
            return {"type": "http.disconnect"}
        self._whole = message["type"] == "http.request" and not message.get("more_body", False)
        return message


_HOST_FIX = (
    "set ATTRACT_PUBLIC_URL, or add the name to the allowed hosts, if a proxy stands before the server"
)
_ORIGIN_FIX = "open the page from this server; behind a proxy set ATTRACT_PUBLIC_URL"


def _role_of(route: BaseRoute) -> str | None:
    return getattr(getattr(route, "endpoint", None), "attract_role", None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _host_name(host: str) -> str:
    """The name in a `Host` header, lower case, without port, brackets and trailing dot."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", []))
            # A page with a policy of its own keeps it: with two, a browser would enforce both.
            names = {name for name, _ in own}
            message = {**message, "headers": [*own, *(one for one in HEADERS if one[0] not in names)]}
        await send(message)

    return answer


async def _answer(refusal: Refusal, send: Send) -> None:
    body = Problem(error=refusal.error, fix=refusal.fix).model_dump_json().encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
