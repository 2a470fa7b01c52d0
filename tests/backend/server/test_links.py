"""Join links and the dashboard's address."""

from pathlib import Path
from typing import Any

import pytest

from attract.errors import ConfigurationError
from attract.server.access_store import AccessStore
from attract.server.links import (
    PRINTED,
    TAB,
    TAB_SECONDS,
    dashboard_url,
    invited_link,
    lan_address,
    printed_link,
    public_base,
    tab_token,
)
from attract.settings.run import ServerSettings


class Wall:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def access(tmp_path: Path, wall: Wall) -> AccessStore:
    return AccessStore(tmp_path, wall)


def settings(**given: Any) -> ServerSettings:
    return ServerSettings.from_mapping(given)


PUBLIC = settings(public_url="https://hub.example/me/", invite_seconds=100)


def test_what_browsers_see_of_a_proxy_is_the_address_whatever_the_port():
    assert public_base(PUBLIC, 8000) == "https://hub.example/me"


def test_on_the_local_network_it_is_this_machines_address_and_port(tmp_path: Path):
    assert public_base(settings(lan=True), 8123) == f"http://{lan_address()}:8123"
    tls = settings(lan=True, tls_cert=tmp_path / "c.pem", tls_key=tmp_path / "k.pem")
    assert public_base(tls, 8123) == f"https://{lan_address()}:8123"
    assert not lan_address().startswith("127.") or lan_address() == "127.0.0.1"


@pytest.mark.parametrize(
    ("given", "fix"), [({}, "start with --lan"), ({"behind_proxy": "10.0.0.5"}, "ATTRACT_PUBLIC_URL")]
)
def test_where_no_device_can_come_there_is_no_link_and_the_remedy_is_said(
    access: AccessStore, given: dict[str, Any], fix: str
):
    for make in (
        lambda: public_base(settings(**given), 1),
        lambda: invited_link(settings(**given), access, 1),
    ):
        with pytest.raises(ConfigurationError) as refused:
            make()
        assert fix in str(refused.value)
    assert printed_link(settings(**given), access, 1) is None
    assert access.invitations() == []


def test_an_invitation_is_in_the_fragment_and_for_strangers(access: AccessStore):
    link, token = invited_link(PUBLIC, access, 8000)
    assert link == f"https://hub.example/me/join.html#token={token}"
    invitation = access.invitation(token)
    assert invitation is not None
    assert (invitation.tier, access.remaining(invitation)) == ("invited", 100)
    assert invited_link(PUBLIC, access, 8000)[1] != token


def test_a_start_prints_the_last_starts_link_until_half_of_its_time_is_over(access: AccessStore, wall: Wall):
    invited_link(PUBLIC, access, 8000)
    first = printed_link(PUBLIC, access, 8000)
    wall.now += 50
    assert printed_link(PUBLIC, access, 8000) == first
    wall.now += 1
    second = printed_link(PUBLIC, access, 8000)
    assert second != first
    assert [invitation.note for invitation in access.invitations()].count(PRINTED) == 2


def test_the_dashboards_key_is_in_the_fragment_unless_the_operator_has_it(tmp_path: Path):
    assert dashboard_url(settings(), "http://127.0.0.1:8000/", "k") == "http://127.0.0.1:8000/#token=k"
    for given in ({"admin_token": "a" * 32}, {"admin_token_file": tmp_path / "token"}):
        said = dashboard_url(settings(**given), "http://127.0.0.1:8000", "secret")
        assert said == "http://127.0.0.1:8000/ (its key is the admin token that you gave)"


def test_hostile_13_the_tabs_of_a_session_share_a_token_and_no_other_session_has_it(
    access: AccessStore, wall: Wall
):
    token = tab_token(access, "s-1")
    assert tab_token(access, "s-1") == token
    assert tab_token(access, "s-2") != token
    invitation = access.invitation(token)
    assert invitation is not None
    assert (invitation.tier, invitation.note, invitation.session) == ("local", TAB, "s-1")
    wall.now += TAB_SECONDS / 2 + 1
    assert tab_token(access, "s-1") != token
    assert tab_token(access, None) != tab_token(access, None)
