"""Connection pool that reconnects when the SQLite file was replaced, and never creates the file."""

from typing import Any

import sqlalchemy as sa

from schemas.registry import database
from schemas.registry.database_file import DatabaseFileWatch, FileIdentity, RegistryLost

STATEMENT_SECONDS = 15
"""After which a database server ends a statement, for example one that waits for a lock."""


class RegistryConnections:
    """Connection pool; RegistryLost while the file of a SQLite registry is missing."""

    def __init__(self, url: str) -> None:
        self._engine = database.create_engine(url)
        path = database.sqlite_path(url)
        self._file = DatabaseFileWatch(path) if path else None
        if path is None:
            sa.event.listen(self._engine, "connect", _limit_statements)
        self._opened: FileIdentity | None = None

    def engine(self) -> sa.Engine:
        """The engine, connected to the current file."""
        if self._file is None:
            return self._engine
        try:
            identity = self._file.check()
        except RegistryLost:
            self._opened = None
            raise
        if identity != self._opened:
            self._engine.dispose()
            self._opened = identity
        return self._engine

    def close(self) -> None:
        self._engine.dispose()
        if self._file:
            self._file.close()


def _limit_statements(connection: Any, _record: object) -> None:
    connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'")
    connection.commit()
