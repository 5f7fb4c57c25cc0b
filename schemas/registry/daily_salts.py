"""RegistrySalts: salts of anonymous visitors on a database server, one for each UTC day.

They are no part of the registry's records: no revision, no audit trail and no backup has them, so
that a salt is gone when its day ends.
"""

from typing import Self

import sqlalchemy as sa

from schemas.registry import database
from schemas.registry.connections import RegistryConnections
from schemas.registry.database import DAILY_SALTS


class RegistrySalts:
    """The salts; errors are DatabaseError."""

    def __init__(self, url: str) -> None:
        self._connections = RegistryConnections(url)

    @classmethod
    def on_server(cls, url: str) -> Self | None:
        """The salts of a registry on a server; None for a file, which one machine has."""
        return None if database.sqlite_path(url) is not None else cls(url)

    def share(self, day: str, proposed: bytes) -> bytes:
        """The salt of a day like 2026-11-21: the proposed one, unless another was first."""
        with self._connections.engine().begin() as connection:
            text = sa.text(
                "INSERT INTO daily_salts (day, salt) VALUES (:day, :salt) ON CONFLICT DO NOTHING"
            )
            connection.execute(text, {"day": day, "salt": proposed.hex()})
            wanted = sa.select(DAILY_SALTS.c.salt).where(DAILY_SALTS.c.day == day)
            return bytes.fromhex(connection.execute(wanted).scalar_one())

    def delete_before(self, day: str) -> None:
        """Delete the salts of earlier days."""
        with self._connections.engine().begin() as connection:
            connection.execute(DAILY_SALTS.delete().where(DAILY_SALTS.c.day < day))

    def close(self) -> None:
        self._connections.close()
