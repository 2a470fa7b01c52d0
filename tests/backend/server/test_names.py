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
