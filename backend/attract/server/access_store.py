"""Sessions and invitations that outlive the server: in a folder beside the runs, for its owner alone."""

import base64
import contextlib
import hashlib
import hmac
import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

from attract.errors import AccessError, ConfigurationError
from attract.runs.disk import open_database
from attract.schema.base import LinkTier

SessionRole = Literal["admin", "viewer"]

FOLDER: Final = ".access"
KEY_FILE: Final = "key"
DATABASE: Final = "access.db"
KEY_BYTES: Final = 32
SESSION_SECONDS: Final = 30 * 24 * 3600.0
SEEN_SECONDS: Final = 300.0
"""Resolution of the time of a session's last use."""
BUSY_SECONDS: Final = 2.0
MAX_OF_LINK: Final = 48
"""Open sessions of one viewer's link; the oldest ends for the next."""
MARK: Final = "invite"
"""An invitation is `invite.<id>.<tier>.<expires>.<signature>`."""
log = logging.getLogger(__name__)

TABLES: Final = ("sessions", "invitations", "opened")
_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (digest BLOB PRIMARY KEY, id TEXT NOT NULL UNIQUE, key BLOB NOT NULL,
    role TEXT NOT NULL, created REAL NOT NULL, seen REAL NOT NULL, agent TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS invitations (id TEXT PRIMARY KEY, tier TEXT NOT NULL, created REAL NOT NULL,
    expires REAL NOT NULL, note TEXT NOT NULL, session TEXT);
CREATE TABLE IF NOT EXISTS opened (session TEXT PRIMARY KEY, invitation TEXT NOT NULL);
"""
_END_SURPLUS: Final = (
    "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions JOIN opened ON id = session "
    f"WHERE invitation = ? ORDER BY created DESC, sessions.rowid DESC LIMIT -1 OFFSET {MAX_OF_LINK})",
    "DELETE FROM opened WHERE invitation = ? AND session NOT IN (SELECT id FROM sessions)",
)
_Statement = tuple[str, tuple[Any, ...]]
_SESSION = "SELECT id, role, created, seen, agent, key FROM sessions"
_INVITATION = "SELECT id, tier, created, expires, note, session FROM invitations"


@dataclass(frozen=True)
class KeptSession:
    """One browser that is signed in; times are seconds of the wall clock."""

    id: str
    role: SessionRole
    created: float
    seen: float
    agent: str
    """The browser's own word."""
    key: bytes
    """SHA-256 of the second secret, without which a session may look and change nothing."""

    def is_key(self, key: str) -> bool:
        """Whether `key` is the session's second secret."""
        return hmac.compare_digest(_digest(key), self.key)


@dataclass(frozen=True)
class Invitation:
    """One link; times are seconds of the wall clock."""

    id: str
    tier: LinkTier
    created: float
    expires: float
    note: str
    """Purpose of the invitation."""
    session: str | None
    """The session whose tab it is for, with which it ends."""


class AccessStore:
    """Stores sessions and invitations in `<runs folder>/.access`: a key of 256 bits and a small database,
    mode 0600.

    Owned by the guard, used on the event loop; sessions are opened in threads. Several servers of one runs
    folder share it, so that what one revokes is revoked for all. Of a session only hashes are kept; an
    invitation is signed with the key, and counts as long as its row is there. The folder is made when it is
    first needed.

    Args:
        runs_dir: the runs folder.
        wall: seconds of the wall clock; what outlives the process cannot be timed by a monotonic one.
    """

    def __init__(self, runs_dir: Path, wall: Callable[[], float] = time.time) -> None:
        self._folder = runs_dir / FOLDER
        self._wall = wall
        self._key: bytes | None = None
        self._unkept_sessions: dict[bytes, KeptSession] = {}
        self._unkept_invitations: dict[str, Invitation] = {}
        self._unkept_opened: dict[str, str] = {}
        """Made while the disk took nothing; they end with the server."""
        self._ended: set[str] = set()
        """Ended here, whether the disk took that or not."""

    def check(self) -> None:
        """Nothing stands against the folder, if it is there already.

        Raises: ConfigurationError: when others may read it, or it is damaged.
        """
        if not (self._folder / KEY_FILE).exists():
            return
        self._read_key()
        if not (self._folder / DATABASE).exists():
            return
        try:
            with self._database() as database:
                database.execute(_SESSION).fetchall()
                database.execute(_INVITATION).fetchall()
        except sqlite3.Error as error:
            fix = f"remove {self._folder}: this ends all sessions and join links"
            raise ConfigurationError(f"{self._folder / DATABASE} is damaged: {error}", fix=fix) from None

    @property
    def cookie_name(self) -> str:
        """Cookies are not kept apart by port: each runs folder has a name of its own."""
        return f"attract_{hashlib.sha256(b'cookie' + self._signing_key()).hexdigest()[:12]}"

    def open_session(self, role: SessionRole, agent: str, invitation: str | None = None) -> tuple[str, str]:
        """A new session: its cookie's secret, and the second one, which its page shows to change things.

        `invitation`: id of the viewer's link that it is opened by, and ends with.
        """
        token, key, now = secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._wall()
        digest = _digest(token)
        session = KeptSession(f"s-{digest.hex()[:12]}", role, now, now, agent[:200], _digest(key))
        row = (digest, session.id, session.key, role, now, now, session.agent)
        statements: list[_Statement] = [
            ("DELETE FROM sessions WHERE created <= ?", (now - SESSION_SECONDS,)),
            ("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)", row),
        ]
        if invitation is not None:
            statements.append(("INSERT INTO opened VALUES (?, ?)", (session.id, invitation)))
            statements += [(statement, (invitation,)) for statement in _END_SURPLUS]
        if not self._written(*statements):
            self._unkept_sessions[digest] = session
            while len(self._unkept_sessions) > MAX_OF_LINK:
                del self._unkept_sessions[next(iter(self._unkept_sessions))]
            if invitation is not None:
                self._unkept_opened[session.id] = invitation
        return token, key

    def session(self, token: str) -> KeptSession | None:
        """The session of a cookie's secret; None for an unknown or ended one."""
        digest = _digest(token)
        session = self._unkept_sessions.get(digest)
        if session is None:
            rows = self._read(f"{_SESSION} WHERE digest = ?", (digest,))
            session = _session(rows[0]) if rows else None
        if session is None or session.id in self._ended or not self._is_running(session):
            return None
        return self._seen(session)

    def sessions(self) -> list[KeptSession]:
        """Every open session, the newest first."""
        kept = [_session(row) for row in self._read(_SESSION)]
        found = [*kept, *self._unkept_sessions.values()]
        open_ones = [entry for entry in found if entry.id not in self._ended and self._is_running(entry)]
        return sorted(open_ones, key=lambda entry: -entry.created)

    def invite(self, tier: LinkTier, seconds: float, note: str, session: str | None = None) -> str:
        """A new signed token for a link that works for `seconds`."""
        now = self._wall()
        invitation = Invitation(
            f"i-{secrets.token_hex(8)}", tier, now, float(int(now + seconds)), note, session
        )
        row = (invitation.id, tier, now, invitation.expires, note, session)
        old = ("DELETE FROM invitations WHERE expires <= ?", (now,))
        if not self._written(old, ("INSERT INTO invitations VALUES (?, ?, ?, ?, ?, ?)", row)):
            self._unkept_invitations[invitation.id] = invitation
        return self.token_of(invitation)

    def token_of(self, invitation: Invitation) -> str:
        """The token of an invitation's link, which is not kept anywhere."""
        text = f"{MARK}.{invitation.id}.{invitation.tier}.{int(invitation.expires)}"
        signature = hmac.digest(self._signing_key(), text.encode(), "sha256")
        return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    def invitation(self, token: str) -> Invitation | None:
        """The invitation that a token is signed for; None when it is forged, revoked, expired or unknown."""
        parts = token.split(".")
        is_keyed = self._key is not None or (self._folder / KEY_FILE).exists()
        if len(parts) != 5 or parts[0] != MARK or not is_keyed:
            return None
        found = next((invitation for invitation in self._invitations(parts[1])), None)
        if found is None or not hmac.compare_digest(_digest(self.token_of(found)), _digest(token)):
            return None
        return found

    def invitations(self) -> list[Invitation]:
        """Every invitation that still works, the newest first."""
        return sorted(self._invitations(None), key=lambda entry: -entry.created)

    def remaining(self, invitation: Invitation) -> float:
        """Seconds for which an invitation still works."""
        return invitation.expires - self._wall()

    def end(self, entry_id: str) -> bool:
        """End a session, or revoke an invitation, and what ends with it; False when there is none.

        Raises: AccessError: it is ended, but the disk does not take it.
        """
        known = [*self.sessions(), *self.invitations()]
        if not any(entry.id == entry_id for entry in known):
            return False
        ended = self.ended_with(entry_id)
        self._ended |= ended
        marks = ", ".join("?" for _ in ended)
        places = (("sessions", "id"), ("invitations", "id"), ("opened", "session"))
        statements = [f"DELETE FROM {table} WHERE {column} IN ({marks})" for table, column in places]
        if not self._written(*((statement, tuple(ended)) for statement in statements)):
            raise AccessError(
                f"{entry_id} was revoked, but {self._folder} is not writable: revoke it again later"
            )
        return True

    def ended_with(self, entry_id: str) -> set[str]:
        """Ids of what ends with a session or a link: that of its tab, and sessions that were opened by it."""
        opened = {**dict(self._read("SELECT session, invitation FROM opened")), **self._unkept_opened}
        return {
            entry_id,
            *(link.id for link in self.invitations() if link.session == entry_id),
            *(session for session, invitation in opened.items() if invitation == entry_id),
        }

    def _invitations(self, only: str | None) -> list[Invitation]:
        query, values = (_INVITATION, ()) if only is None else (f"{_INVITATION} WHERE id = ?", (only,))
        kept = [Invitation(*row) for row in self._read(query, values)]
        unkept = [
            invitation for invitation in self._unkept_invitations.values() if only in (None, invitation.id)
        ]
        now = self._wall()
        return [entry for entry in (*kept, *unkept) if entry.expires > now and entry.id not in self._ended]

    def _is_running(self, session: KeptSession) -> bool:
        return self._wall() < session.created + SESSION_SECONDS

    def _seen(self, session: KeptSession) -> KeptSession:
        now = self._wall()
        if now - session.seen < SEEN_SECONDS:
            return session
        self._written(("UPDATE sessions SET seen = ? WHERE id = ?", (now, session.id)))
        return replace(session, seen=now)

    def _signing_key(self) -> bytes:
        if self._key is None:
            self._key = self._read_key() if (self._folder / KEY_FILE).exists() else self._make_key()
        return self._key

    def _make_key(self) -> bytes:
        key = secrets.token_bytes(KEY_BYTES)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._folder / f".{KEY_FILE}.{secrets.token_hex(4)}"
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(key)
                file.flush()
                os.fsync(file.fileno())
            # Another server of this folder may be making one: the first link counts, whole in any case.
            with contextlib.suppress(FileExistsError):
                os.link(temporary, self._folder / KEY_FILE)
            temporary.unlink()
        except OSError as error:
            log.warning("sessions and join links end with this server: %s: %s", self._folder, error.strerror)
            return key
        return self._read_key()

    def _read_key(self) -> bytes:
        path = self._folder / KEY_FILE
        mode = path.stat().st_mode & 0o777
        if mode & 0o077:
            raise ConfigurationError(
                f"{path} may be read by others (mode {mode:03o})",
                fix=f"remove {self._folder}: this ends all sessions and join links",
            )
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            fix = f"remove {self._folder}: this ends all sessions and join links"
            raise ConfigurationError(f"{path} has {len(key)} bytes, not {KEY_BYTES}", fix=fix)
        return key

    @contextlib.contextmanager
    def _database(self) -> Generator[sqlite3.Connection]:
        """A new connection each time (about 0.1 ms): nothing stays open, and a restored file is read."""
        with contextlib.closing(open_database(self._folder / DATABASE, TABLES, BUSY_SECONDS)) as database:
            yield database

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        if not (self._folder / DATABASE).exists():
            return []
        try:
            with self._database() as database:
                return database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            # A client that cannot be looked up is refused.
            log.error("%s cannot be read: %s", self._folder / DATABASE, error)
            return []

    def _written(self, *statements: _Statement) -> bool:
        """Whether the disk took all of them, in one transaction."""
        path = self._folder / DATABASE
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # SQLite gives its journal the database's own mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with self._database() as database, database:
                database.executescript(_TABLES)
                database.execute("BEGIN IMMEDIATE")
                for statement, values in statements:
                    database.execute(statement, values)
        except (sqlite3.Error, OSError) as error:
            log.warning("cannot write %s: %s", path, error)
            return False
        return True


def _session(row: Any) -> KeptSession:
    return KeptSession(*cast("tuple[Any, ...]", row))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
