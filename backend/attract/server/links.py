"""Join links: this server's address for other devices, with an invitation in the fragment."""

import contextlib
import socket
import struct
import sys
from ipaddress import IPv4Address
from urllib.parse import quote

from attract.errors import ConfigurationError
from attract.server.access_store import AccessStore
from attract.settings.run import ServerSettings

PRINTED = "printed at the start"
VIEWERS = "for viewers"
PRINTED_SHARE = 0.5
"""A printed link is printed again at the next start while it still works for so much of its time."""
TAB_SECONDS = 30 * 24 * 3600.0
"""A tab of the admin's own may stay open for a long run."""
TAB = "a tab of this browser"
SIOCGIFADDR = 0x8915
"""Linux: asks for an interface's IPv4 address."""


def public_base(settings: ServerSettings, port: int) -> str:
    """Address of this server for other devices, without a slash at its end.

    Raises: ConfigurationError: when they cannot reach it.
    """
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    if settings.behind_proxy and not settings.lan:
        fix = "set ATTRACT_PUBLIC_URL to the proxy's URL"
        raise ConfigurationError("the address of this server for other devices is unknown", fix=fix)
    if not settings.lan and settings.tls_cert is None:
        fix = "start with --lan, or set ATTRACT_PUBLIC_URL if it is behind a proxy"
        raise ConfigurationError("other devices cannot reach this server", fix=fix)
    scheme = "http" if settings.tls_cert is None else "https"
    return f"{scheme}://{lan_address()}:{port}"


def invited_link(settings: ServerSettings, access: AccessStore, port: int) -> tuple[str, str]:
    """A new join link for other devices, and its token.

    Raises: ConfigurationError: as `public_base`.
    """
    base = public_base(settings, port)
    token = access.invite("invited", settings.invite_seconds, "made on the dashboard")
    return f"{base}/join.html#token={token}", token


def viewer_link(settings: ServerSettings, access: AccessStore, port: int, run_id: str | None) -> str:
    """A new link for viewers, to the start page or a run's; relative where no other device can come."""
    try:
        base = f"{public_base(settings, port)}/"
    except ConfigurationError:
        base = ""
    note = VIEWERS if run_id is None else f"{VIEWERS}: {run_id}"
    token = access.invite("viewer", settings.invite_seconds, note)
    return f"{base}#token={token}" + ("" if run_id is None else f"&run={quote(run_id, safe='')}")


def printed_link(settings: ServerSettings, access: AccessStore, port: int) -> str | None:
    """The join link that a start prints: the last start's while it works; None where no device can come."""
    try:
        base = public_base(settings, port)
    except ConfigurationError:
        return None
    known = [invitation for invitation in access.invitations() if invitation.note == PRINTED]
    fresh = [link for link in known if access.remaining(link) >= PRINTED_SHARE * settings.invite_seconds]
    token = access.token_of(fresh[0]) if fresh else access.invite("invited", settings.invite_seconds, PRINTED)
    return f"{base}/join.html#token={token}"


def dashboard_url(settings: ServerSettings, base: str, admin_token: str) -> str:
    """The dashboard with the admin's token in its fragment, unless the operator has that token already."""
    base = base.rstrip("/")
    if settings.admin_token is not None or settings.admin_token_file is not None:
        return f"{base}/ (its key is the admin token that you gave)"
    return f"{base}/#token={admin_token}"


def tab_token(access: AccessStore, session: str | None) -> str:
    """The worker token of a session's tabs, which ends with the session; the same at each call."""
    if session is not None:
        for invitation in access.invitations():
            if invitation.session == session and access.remaining(invitation) >= PRINTED_SHARE * TAB_SECONDS:
                return access.token_of(invitation)
    return access.invite("local", TAB_SECONDS, TAB, session)


def lan_address() -> str:
    """The address on the local network that this machine would use to reach others; sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            # No way to anywhere: a network without a router, as in a classroom.
            return _interface_address(probe) or socket.gethostbyname(socket.gethostname())


def _interface_address(probe: socket.socket) -> str | None:
    """The first interface's address that is no loopback's; None without one, and elsewhere than on Linux."""
    if sys.platform != "linux":
        return None
    import fcntl

    for _, name in socket.if_nameindex():
        with contextlib.suppress(OSError):
            answer = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()))
            address = IPv4Address(answer[20:24])
            if not address.is_loopback:
                return str(address)
    return None
