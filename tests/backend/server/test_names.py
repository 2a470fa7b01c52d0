from typing import Any

import pytest

from attract.server.names import ServerNames
from attract.settings.run import ServerSettings


def network(client: Any, **settings: Any) -> str:
    return ServerNames(ServerSettings.from_mapping(settings)).network_of({"client": client})


@pytest.mark.parametrize(
    ("client", "counted_as"),
    [
        (("192.0.2.7", 5), "192.0.2.7"),
        (("2001:db8:0:1::7", 5), "2001:db8:0:1::/64"),
        (("2001:db8:0:1:ffff::9%eth0", 5), "2001:db8:0:1::/64"),
        (("::ffff:192.0.2.7", 5), "192.0.2.7"),
        (None, ""),
        (("192.0.2.7", 0), "forwarded"),
    ],
)
def test_hostile_12_what_an_address_counts_as(client: Any, counted_as: str):
    assert network(client) == counted_as


def test_hostile_12_a_forwarded_address_counts_where_a_proxy_was_named():
    assert network(("192.0.2.7", 0), behind_proxy="10.0.0.5") == "192.0.2.7"


def asked(host: str, *, server: str = "192.168.1.5", scheme: str = "http") -> dict[str, Any]:
    headers = [(b"host", host.encode())]
    return {"type": "http", "scheme": scheme, "server": (server, 8000), "headers": headers}


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("[::ffff:c0a8:105]:8000", "192.168.1.5"),
        ("[::FFFF:192.168.1.5]:8000", "192.168.1.5"),
        ("192.168.1.5:8000", None),
        ("[::ffff:c0a8:106]:8000", None),
        ("[fd00::5]:8000", None),
        ("[::ffff", None),
    ],
)
def test_its_own_address_spelt_as_ipv6_is_where_visitors_find_page_games(host: str, address: str | None):
    names = ServerNames(ServerSettings())
    assert names.games_address(asked(host)) == address
    # What pages and interface are asked of: a game there is nobody who may.
    assert address is None or not names.is_known_host(asked(host))


@pytest.mark.parametrize(
    ("host", "scheme", "source"),
    [
        ("192.168.1.5:8000", "http", "http://*:8000"),
        ("192.168.1.5", "http", "http://*:80"),
        ("192.168.1.5:8000", "https", None),
        ("127.0.0.1:8000", "http", None),
        ("localhost:8000", "http", None),
        ("trainer.example:8000", "http", None),
        ("192.168.1.5:x", "http", None),
    ],
)
def test_a_page_may_hold_frames_of_other_hosts_only_where_its_games_are_there(
    host: str, scheme: str, source: str | None
):
    assert ServerNames(ServerSettings()).frames_source(asked(host, scheme=scheme)) == source
