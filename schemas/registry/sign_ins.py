"""RegistrySignIns: the secret that signs sign-ins, and those that ended early.

All query processes share them. They are no part of the registry's records: no revision, no audit
trail and no backup has them, so that nobody can sign in with what a backup holds.
"""

import secrets

import sqlalchemy as sa
from msgspec import Struct

from schemas.registry.connections import RegistryConnections
from schemas.registry.database import ENDED_SIGN_INS, SIGN_IN_SECRETS

SECRET_BYTES = 32
ONLY_ROW = 1


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
            text = sa.text(
                "INSERT INTO ended_sign_ins (id, ends_at) VALUES (:id, :ends_at) "
                "ON CONFLICT DO NOTHING"
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
