"""RegistrySignIns: the secret that signs sign-ins, those that ended early, and sessions of people.

All query processes share them. They are no part of the registry's records: no revision, no audit
trail and no backup has them, so that nobody can sign in with what a backup holds.
"""

import secrets
from collections.abc import Mapping, Sequence
from enum import StrEnum

import sqlalchemy as sa
from msgspec import Struct, structs

from schemas.registry.connections import RegistryConnections
from schemas.registry.database import BROWSER_SESSIONS, ENDED_SIGN_INS, SIGN_IN_SECRETS

SECRET_BYTES = 32
ONLY_ROW = 1


class Way(StrEnum):
    """How a person signed in."""

    PASSWORD = "password"  # noqa: S105 - a way
    OIDC = "oidc"
    """By an OpenID Connect provider."""
    PROXY = "proxy"
    """By the proxy before the service."""


def subject_of(way: Way, member_id: str) -> str:
    """The subject of the token of a person's session."""
    return f"{way.value}-{member_id}"


def way_of_subject(subject: str) -> Way | None:
    """How the person signed in that the subject of a token names; None for an API key."""
    way, _, member_id = subject.partition("-")
    return Way(way) if member_id and way in tuple(Way) else None


def member_of_subject(subject: str) -> str | None:
    """The member that the subject of a token names; None when it names an API key."""
    return subject.partition("-")[2] if way_of_subject(subject) else None


class BrowserSession(Struct, frozen=True):
    """A person who is signed in with a browser."""

    id: str
    """Of the token of its cookie."""
    account_id: str
    way: str
    browser: str
    """For the person to recognize it."""
    network: str
    created_at: int
    last_seen_at: int
    ends_at: int


class SignInState(Struct, frozen=True):
    """The secret, and the ids of tokens that were used or ended before their time."""

    secret: bytes
    ended: frozenset[str]

    def __repr__(self) -> str:
        return f"SignInState(ended={len(self.ended)})"


class RegistrySignIns:
    """The shared state; errors are DatabaseError."""

    def __init__(self, connections: RegistryConnections) -> None:
        self._connections = connections

    def read(self, now_ms: int) -> SignInState:
        """The current state; the first call in a registry creates the secret."""
        with self._connections.engine().begin() as connection:
            secret = _secret(connection) or _create_secret(connection)
            current = sa.select(ENDED_SIGN_INS.c.id).where(ENDED_SIGN_INS.c.ends_at > now_ms)
            ended = frozenset(connection.execute(current).scalars())
        return SignInState(bytes.fromhex(secret), ended)

    def end(self, token_id: str, ends_at: int, now_ms: int) -> bool:
        """End a token before its time; False if it has ended already.

        Of several calls at once, in any process, one returns True.
        """
        with self._connections.engine().begin() as connection:
            past = ENDED_SIGN_INS.delete().where(ENDED_SIGN_INS.c.ends_at <= now_ms)
            connection.execute(past)
            connection.execute(sa.delete(BROWSER_SESSIONS).where(BROWSER_SESSIONS.c.id == token_id))
            return _end(connection, token_id, ends_at)

    def begin_session(self, session: BrowserSession) -> None:
        """List a new session; those of the account that are over are listed no more."""
        table, now_ms = BROWSER_SESSIONS, session.created_at
        with self._connections.engine().begin() as connection:
            over = (table.c.account_id == session.account_id) & (table.c.ends_at <= now_ms)
            connection.execute(sa.delete(table).where(over))
            connection.execute(sa.insert(table).values(structs.asdict(session)))

    def sessions(self, account_id: str, now_ms: int) -> Sequence[BrowserSession]:
        """The sessions of an account, newest first."""
        table = BROWSER_SESSIONS
        query = sa.select(table).where(table.c.account_id == account_id, table.c.ends_at > now_ms)
        newest_first = query.order_by(table.c.created_at.desc(), table.c.id)
        with self._connections.engine().connect() as connection:
            return [BrowserSession(**row) for row in connection.execute(newest_first).mappings()]

    def end_sessions(self, account_id: str, except_id: str | None = None) -> None:
        """End all sessions of an account, or all but one."""
        table = BROWSER_SESSIONS
        ended = (table.c.account_id == account_id) & (table.c.id != (except_id or ""))
        with self._connections.engine().begin() as connection:
            removed = sa.delete(table).where(ended).returning(table.c.id, table.c.ends_at)
            for session_id, ends_at in connection.execute(removed).all():
                _end(connection, session_id, ends_at)

    def see_sessions(self, seen_at: Mapping[str, int]) -> None:
        """Write when sessions were used last, by their ids."""
        table = BROWSER_SESSIONS
        seen = sa.update(table).where(table.c.id == sa.bindparam("session_id"))
        rows = [{"session_id": session_id, "at": at} for session_id, at in seen_at.items()]
        with self._connections.engine().begin() as connection:
            connection.execute(seen.values(last_seen_at=sa.bindparam("at")), rows)


def _end(connection: sa.Connection, token_id: str, ends_at: int) -> bool:
    text = sa.text(
        "INSERT INTO ended_sign_ins (id, ends_at) VALUES (:id, :ends_at) ON CONFLICT DO NOTHING"
    )
    return connection.execute(text, {"id": token_id, "ends_at": ends_at}).rowcount == 1


def _secret(connection: sa.Connection) -> str | None:
    return connection.execute(sa.select(SIGN_IN_SECRETS.c.secret)).scalar_one_or_none()


def _create_secret(connection: sa.Connection) -> str:
    """The proposed secret, unless another process was first."""
    text = sa.text(
        "INSERT INTO sign_in_secrets (id, secret) VALUES (:id, :secret) ON CONFLICT DO NOTHING"
    )
    proposed = {"id": ONLY_ROW, "secret": secrets.token_hex(SECRET_BYTES)}
    connection.execute(text, proposed)
    return str(connection.execute(sa.select(SIGN_IN_SECRETS.c.secret)).scalar_one())
