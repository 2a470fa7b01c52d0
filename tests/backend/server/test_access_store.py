import os
import stat
from pathlib import Path

import pytest

from attract.errors import AccessError, ConfigurationError
from attract.server.access_store import MAX_OF_LINK, SESSION_SECONDS, AccessStore


class Wall:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def store(tmp_path: Path, wall: Wall) -> AccessStore:
    return AccessStore(tmp_path, wall)


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_hostile_13_sessions_outlive_the_server_and_only_their_hashes_are_kept(tmp_path: Path, wall: Wall):
    secret, key = AccessStore(tmp_path, wall).open_session("viewer", "Browser 1")
    later = AccessStore(tmp_path, wall)
    session = later.session(secret)
    assert session is not None
    assert (session.role, session.agent, session.is_key(key), session.is_key(secret)) == (
        "viewer",
        "Browser 1",
        True,
        False,
    )
    assert later.cookie_name == AccessStore(tmp_path, wall).cookie_name
    assert later.session(key) is None
    kept = everything(tmp_path)
    assert secret.encode() not in kept
    assert key.encode() not in kept


def test_what_is_kept_is_for_its_owner_alone(store: AccessStore, tmp_path: Path):
    old = os.umask(0)
    try:
        store.open_session("admin", "")
        store.invite("invited", 60.0, "a test")
    finally:
        os.umask(old)
    folder = tmp_path / ".access"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}
    assert modes == {".access": 0o700, "key": 0o600, "access.db": 0o600}


def test_nothing_is_made_before_it_is_needed(store: AccessStore, tmp_path: Path):
    store.check()
    assert store.session("x") is None
    assert store.invitation("invite.i-1.local.9.x") is None
    assert (store.sessions(), store.invitations(), store.end("s-1")) == ([], [], False)
    assert list(tmp_path.iterdir()) == []


def test_a_session_ends_by_logout_and_after_its_time_here_and_in_every_server_of_the_folder(
    tmp_path: Path, wall: Wall
):
    one, other = AccessStore(tmp_path, wall), AccessStore(tmp_path, wall)
    first, _ = one.open_session("admin", "a")
    wall.now += 1
    second, _ = one.open_session("admin", "b")
    assert [session.agent for session in other.sessions()] == ["b", "a"]
    kept = one.session(first)
    assert kept is not None
    assert one.end(kept.id)
    assert other.session(first) is None
    assert one.session(second) is not None
    wall.now += SESSION_SECONDS - 0.5
    assert one.session(second) is not None
    wall.now += 0.5
    assert one.session(second) is None
    assert one.sessions() == []


def test_the_time_of_last_use_is_known_to_some_minutes(store: AccessStore, wall: Wall):
    secret, _ = store.open_session("admin", "")
    wall.now += 299
    store.session(secret)
    assert store.sessions()[0].seen == wall.now - 299
    wall.now += 1
    store.session(secret)
    assert store.sessions()[0].seen == wall.now


def test_scale_07_invitations_outlive_the_server_until_they_expire_or_are_revoked(tmp_path: Path, wall: Wall):
    first = AccessStore(tmp_path, wall)
    token, other = first.invite("invited", 60.0, "by hand"), first.invite("local", 3600.0, "a tab")
    later = AccessStore(tmp_path, wall)
    found = later.invitation(token)
    assert found is not None
    assert (found.tier, found.note, later.remaining(found)) == ("invited", "by hand", 60.0)
    assert later.token_of(found) == token
    assert token.encode() not in everything(tmp_path)
    wall.now += 60
    assert later.invitation(token) is None
    kept = later.invitation(other)
    assert kept is not None
    assert later.end(kept.id)
    assert first.invitation(other) is None
    assert first.invitations() == []


def test_an_invitation_is_believed_as_it_was_signed_and_no_other_way(store: AccessStore, tmp_path: Path):
    token = store.invite("invited", 60.0, "")
    mark, entry_id, tier, expires, signature = token.split(".")
    forged = [
        f"{mark}.{entry_id}.local.{expires}.{signature}",
        f"{mark}.{entry_id}.{tier}.{int(expires) + 1}.{signature}",
        f"{mark}.i-0000000000000000.{tier}.{expires}.{signature}",
        f"{mark}.{entry_id}.{tier}.{expires}.{signature[:-2]}{'BA' if signature.endswith('AA') else 'AA'}",
        f"{mark}.{entry_id}.{tier}.{expires}.",
        f"{mark}.{entry_id}.{tier}.{expires}.\udcff",
        f"{token}.x",
        token[:-1],
    ]
    assert [token for token in forged if store.invitation(token) is not None] == []
    assert store.invitation(token) is not None
    # Signed, but no row: it may have been revoked by what is gone.
    (tmp_path / ".access" / "access.db").unlink()
    assert store.invitation(token) is None


def test_the_invitation_of_a_tab_ends_with_its_session(store: AccessStore):
    secret, _ = store.open_session("admin", "")
    session = store.session(secret)
    assert session is not None
    own, another = store.invite("local", 60.0, "tab", session.id), store.invite("invited", 60.0, "")
    store.end(session.id)
    assert store.invitation(own) is None
    assert store.invitation(another) is not None


def test_a_key_that_others_may_read_is_refused(store: AccessStore, tmp_path: Path):
    store.invite("invited", 60.0, "")
    (tmp_path / ".access" / "key").chmod(0o640)
    with pytest.raises(ConfigurationError, match="mode 640"):
        AccessStore(tmp_path).check()


@pytest.mark.parametrize("name", ["key", "access.db"])
def test_a_damaged_file_is_named_with_the_remedy_and_lets_nobody_in(
    store: AccessStore, tmp_path: Path, name: str
):
    secret, _ = store.open_session("admin", "")
    token = store.invite("invited", 60.0, "")
    (tmp_path / ".access" / name).write_bytes(b"garbage" * 300)
    later = AccessStore(tmp_path)
    with pytest.raises(ConfigurationError, match=name) as refused:
        later.check()
    assert str(tmp_path / ".access") in str(refused.value.fix)
    if name == "access.db":
        assert later.session(secret) is None
        assert later.invitation(token) is None


def test_where_nothing_can_be_written_sessions_and_links_end_with_the_server(tmp_path: Path, wall: Wall):
    # A file in the place of the folder: root may write whatever the modes say.
    (tmp_path / ".access").write_text("")
    store = AccessStore(tmp_path, wall)
    secret, key = store.open_session("admin", "")
    token = store.invite("invited", 60.0, "")
    session, invitation = store.session(secret), store.invitation(token)
    assert session is not None
    assert session.is_key(key)
    assert invitation is not None
    for entry_id in (session.id, invitation.id):
        with pytest.raises(AccessError, match=entry_id):
            store.end(entry_id)
    assert store.session(secret) is None
    assert store.invitation(token) is None


def test_a_session_of_a_viewer_s_link_ends_with_it_also_for_another_server(tmp_path: Path):
    store = AccessStore(tmp_path)
    link = store.invitation(store.invite("viewer", 60.0, "for viewers"))
    assert link is not None and link.tier == "viewer"
    mine, other = (store.open_session("viewer", "a", link.id)[0], store.open_session("viewer", "b")[0])
    again = AccessStore(tmp_path)
    opened = again.session(mine)
    assert opened is not None
    assert again.ended_with(link.id) == {link.id, opened.id}
    assert again.end(link.id)
    assert (again.session(mine), store.session(mine)) == (None, None)
    assert again.session(other) is not None


def test_hostile_a_link_has_some_dozens_of_open_sessions_of_which_the_oldest_ends(tmp_path: Path, wall: Wall):
    store = AccessStore(tmp_path, wall)
    link, other = (store.invitation(store.invite("viewer", 60.0, "")) for _ in range(2))
    assert link is not None and other is not None
    foreign = store.open_session("viewer", "", other.id)[0]
    mine = [store.open_session("viewer", "", link.id)[0] for _ in range(MAX_OF_LINK + 2)]
    assert [store.session(secret) is None for secret in mine[:3]] == [True, True, False]
    assert store.session(mine[-1]) is not None and store.session(foreign) is not None
    assert len(store.sessions()) == MAX_OF_LINK + 1
    assert len(store.ended_with(link.id)) == MAX_OF_LINK + 1
