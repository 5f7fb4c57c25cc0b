"""KeeperLease: one active keeper over all machines, by a lock of the registry's database server.

The lock belongs to a connection, and ends with it. So a keeper that loses it has to stop:
another one may work already. Commits of a table are atomic, so two that overlap for seconds delay
each other and damage nothing.
"""

from contextlib import suppress
from typing import Self

import sqlalchemy as sa

from schemas.registry import database

LOCK_NUMBER = 0x7469_6465
"""The number of the advisory lock, by which keepers of one registry know each other."""
SESSION = (
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
)
"""The server ends the connection of a machine that is gone after 20 s."""


class KeeperLease:
    """The lease; errors are DatabaseError."""

    def __init__(self, url: str) -> None:
        self._engine = database.create_engine(url)
        self._connection: sa.Connection | None = None

    @classmethod
    def on_server(cls, url: str) -> Self | None:
        """The lease of a registry on a server; None for a file, which one machine has."""
        return None if database.sqlite_path(url) is not None else cls(url)

    def acquire(self) -> bool:
        """Whether this keeper has the lease now; False while another one has it."""
        self.release()
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            connection.exec_driver_sql(SESSION)
            lock = sa.text("SELECT pg_try_advisory_lock(:number)")
            if connection.execute(lock, {"number": LOCK_NUMBER}).scalar_one():
                self._connection = connection
                return True
        finally:
            if self._connection is None:
                connection.close()
        return False

    def check(self) -> None:
        """DatabaseError when the connection is lost, and the lease with it."""
        if self._connection is not None:
            self._connection.exec_driver_sql("SELECT 1")

    def release(self) -> None:
        """Give the lease back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sa.exc.SQLAlchemyError):
                connection.invalidate()
            connection.close()
        self._engine.dispose()
