"""Connections to the registry, and never to a file of it that was removed or replaced."""

import sqlalchemy as sa

from schemas.registry import database
from schemas.registry.database_file import DatabaseFile, Identity, RegistryLost


class Connections:
    """A pool of connections; RegistryLost while the file of a SQLite registry is gone."""

    def __init__(self, url: str) -> None:
        self._engine = database.connect(url)
        path = database.file_of(url)
        self._file = DatabaseFile(path) if path else None
        self._opened: Identity | None = None

    def engine(self) -> sa.Engine:
        """Connects to the file that is there now."""
        if self._file is None:
            return self._engine
        try:
            found = self._file.look()
        except RegistryLost:
            self._opened = None
            raise
        if found != self._opened:
            self._engine.dispose()
            self._opened = found
        return self._engine

    def close(self) -> None:
        self._engine.dispose()
        if self._file:
            self._file.close()
