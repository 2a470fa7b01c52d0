"""The names and networks that a server answers to: `Host` and `Origin` lists, and who may come at all."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from attract.settings.run import ServerSettings

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
SECURE: Final = ("https", "wss")


class ServerNames:
    """Allowed host names and interfaces of requests; owned by the guard."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._origins = {origin.rstrip("/").lower() for origin in settings.allowed_origins}
        self._hosts = {host.lower() for host in settings.allowed_hosts}
        self._secure_hosts: set[str] = set()
        self._proxies = [ip_network(proxy, strict=False) for proxy in settings.behind_proxy]
        if settings.public_url is not None:
            parts = urlsplit(settings.public_url)
            self._origins.add(f"{parts.scheme}://{parts.netloc}".lower())
            self._hosts.add((parts.hostname or "").lower())
            if parts.scheme == "https":
                self._secure_hosts.add((parts.hostname or "").lower())

    def is_open_to(self, scope: Scope) -> bool:
        """Whether a connection may use its interface: other than loopback only if the settings open it.

        The setting is `lan`, TLS, or `behind_proxy`, which admits what the proxy forwards.
        """
        if _is_local(scope) or self._settings.lan or scope.get("scheme") in SECURE:
            return True
        client = scope.get("client")
        if not self._proxies or client is None:
            return False
        # uvicorn puts port 0 beside an address that it took from a trusted proxy's header.
        address = _address(client[0])
        return client[1] == 0 or (address is not None and any(address in proxy for proxy in self._proxies))

    def network_of(self, scope: Scope) -> str:
        """What a connection's address counts as: of IPv6 the /64, which one household has whole.

        Addresses from forwarded headers of an unknown proxy count as one.
        """
        client = scope.get("client")
        if client is None:
            return ""
        if client[1] == 0 and not self._proxies:
            return "forwarded"
        address = _address(client[0])
        if isinstance(address, IPv6Address):
            return str(ip_network((address, 64), strict=False))
        return str(address or client[0])

    def is_known_host(self, scope: Scope) -> bool:
        """True when the one `Host` header is one of this server's names; else it is DNS rebinding."""
        return self._goes_by(_given_name(scope), scope)

    def games_address(self, scope: Scope) -> str | None:
        """The IPv4 address of this server that the one `Host` header spells as IPv6; None where it does not.

        `[::ffff:c0a8:105]` is 192.168.1.5. Browsers reach the same socket by it and take it for another
        site, with cookies, storage and a process of its own: there page games are served to visitors.
        """
        name = _given_name(scope)
        mapped = _mapped(name)
        return None if mapped is None or not self._goes_by(str(mapped), scope) else str(mapped)

    def frames_source(self, scope: Scope) -> str | None:
        """Origin of page games for a page of this server, as a source of a Content-Security-Policy.

        None: where it always does, in names of the browser's own machine. A policy has no word for an IPv6
        address: so it is any host at this port, which plain http over a network does not make worse.
        """
        if scope.get("scheme") in SECURE or not isinstance(_address(_given_name(scope)), IPv4Address):
            return None
        if _given_name(scope) in LOOPBACK:
            return None
        try:
            port = urlsplit(f"//{Headers(scope=scope)['host']}").port
        except ValueError:
            return None
        return f"http://*:{port or 80}"

    def is_trustworthy(self, scope: Scope) -> bool:
        """Whether browsers treat the page's origin as potentially trustworthy (HTTPS or loopback)."""
        host = _host_name(Headers(scope=scope).get("host", ""))
        return scope.get("scheme") in SECURE or host in LOOPBACK or host in self._secure_hosts

    def is_own_origin(self, scope: Scope) -> bool:
        """True without an `Origin` (not a page), or when it is exactly that of this server's pages."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is None:
            return True
        secure = scope.get("scheme") in SECURE
        own = f"{'https' if secure else 'http'}://{headers.get('host', '')}"
        return origin.lower() == own.lower() or origin.lower() in self._origins

    def _goes_by(self, name: str, scope: Scope) -> bool:
        if name in self._hosts:
            return name != ""
        if name in LOOPBACK:
            return _is_local(scope)
        server = scope.get("server")
        # The address this very connection came in on; never a name, which others may resolve.
        return _address(name) is not None and server is not None and name == server[0]


def _is_local(scope: Scope) -> bool:
    """Whether a connection came in on a loopback address, or on no address at all, as by a Unix socket."""
    server = scope.get("server")
    if server is None or server[1] is None:
        return True
    address = _address(server[0])
    return server[0] == "localhost" if address is None else address.is_loopback


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _mapped(name: str) -> IPv4Address | None:
    try:
        found = ip_address(name)
    except ValueError:
        return None
    return found.ipv4_mapped if isinstance(found, IPv6Address) else None


def _given_name(scope: Scope) -> str:
    """Name in the only `Host` header; empty without one, and with several."""
    given = Headers(scope=scope).getlist("host")
    return _host_name(given[0]) if len(given) == 1 else ""


def _host_name(host: str) -> str:
    """The name in a `Host` header, lower case, without port, brackets and trailing dot."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""
