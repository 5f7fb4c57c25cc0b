"""Store: the registry as it is kept. Every write raises the revision that followers look at.

Calls block for about a millisecond; HTTP services make them in a thread.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from schemas.registry import database
from schemas.registry.database_file import DatabaseFile, Identity, RegistryLost
from schemas.registry.records import Import, ImportState, Key, Link, Organization, Website

Record = Organization | Website | Link | Key | Import
R = TypeVar("R", Organization, Website, Link, Key, Import)

TABLES: Mapping[type[Record], sa.Table] = {
    Organization: database.ORGANIZATIONS,
    Website: database.WEBSITES,
    Link: database.LINKS,
    Key: database.KEYS,
    Import: database.IMPORTS,
}

MOST: Mapping[type[Record], int] = {Link: 10_000, Import: 1_000}
"""How many an organization may have: all of them are in the memory of every process."""


class Unknown(Exception):
    """There is no such record."""


class Taken(Exception):
    """Another record has this id or slug, or the organization or website does not exist."""


class Full(Taken):
    """The organization has as many of these records as it may have."""


class Stamp(msgspec.Struct, frozen=True):
    """By which two states of a registry are told apart."""

    incarnation: str
    revision: int


class Contents(msgspec.Struct, frozen=True):
    """Everything in the registry, as of one moment."""

    stamp: Stamp
    organizations: Sequence[Organization]
    websites: Sequence[Website]
    links: Sequence[Link]
    keys: Sequence[Key]
    imports: Sequence[Import] = ()

    def by_kind(self) -> Sequence[tuple[type[Record], Sequence[Record]]]:
        """All of them, owners first."""
        return (
            (Organization, self.organizations),
            (Website, self.websites),
            (Link, self.links),
            (Key, self.keys),
            (Import, self.imports),
        )


class Store:
    """Reads and writes of records; each write is one transaction. `migrate` made the tables.

    RegistryLost from every call while the file of a SQLite registry is gone: a new file is never
    made, nothing is written to one that was removed, and one that took its place is opened.
    """

    def __init__(self, url: str) -> None:
        self._database = database.connect(url)
        path = database.file_of(url)
        self._file = DatabaseFile(path) if path else None
        self._opened: Identity | None = None

    def create(self, record: R) -> R:
        """Keep a new record; Taken when its id or slug is in use or its owner is unknown; Full."""
        values = plain_values(record)
        with self._writing() as connection:
            connection.execute(sa.insert(TABLES[type(record)]).values(values))
            if isinstance(record, Link | Import):
                _check_room(connection, record)
        return record

    def get(self, kind: type[R], record_id: str) -> R:
        """The record of that id; Unknown when there is none."""
        table = TABLES[kind]
        with self._engine().connect() as connection:
            row = connection.execute(sa.select(table).where(table.c.id == record_id)).first()
        if row is None:
            raise Unknown(f"no {kind.__name__.lower()} '{record_id}'")
        return _record(kind, row)

    def list(
        self, kind: type[R], *, limit: int | None = None, offset: int = 0, **where: str | None
    ) -> Sequence[R]:
        """Records whose columns equal `where` (None: any), oldest first."""
        table = TABLES[kind]
        query = sa.select(table).order_by(table.c.created_at, table.c.id)
        for column, value in where.items():
            if value is not None:
                query = query.where(table.c[column] == value)
        with self._engine().connect() as connection:
            return _records(connection, kind, query.limit(limit).offset(offset))

    def count(self, kind: type[R], **where: str | None) -> int:
        """How many records `list` would give without limit."""
        table = TABLES[kind]
        query = sa.select(sa.func.count()).select_from(table)
        for column, value in where.items():
            if value is not None:
                query = query.where(table.c[column] == value)
        with self._engine().connect() as connection:
            return int(connection.execute(query).scalar_one())

    def update(self, kind: type[R], record_id: str, now_ms: int, **changes: Any) -> R:
        """Change the named fields; Unknown or Taken as above."""
        table = TABLES[kind]
        values = _plain({**changes, "updated_at": now_ms})
        with self._writing() as connection:
            result = connection.execute(
                sa.update(table).where(table.c.id == record_id).values(values)
            )
            if not result.rowcount:
                raise Unknown(f"no {kind.__name__.lower()} '{record_id}'")
        return self.get(kind, record_id)

    def note(self, kind: type[R], record_id: str, now_ms: int, **changes: Any) -> None:
        """Change what no service has to know: the revision stays as it is."""
        table = TABLES[kind]
        values = {**changes, "updated_at": now_ms}
        with self._engine().begin() as connection:
            connection.execute(sa.update(table).where(table.c.id == record_id).values(values))

    def delete(self, kind: type[R], record_id: str) -> None:
        """Remove the record and what belongs to it; Unknown when there is none."""
        table = TABLES[kind]
        with self._writing() as connection:
            result = connection.execute(sa.delete(table).where(table.c.id == record_id))
            if not result.rowcount:
                raise Unknown(f"no {kind.__name__.lower()} '{record_id}'")

    def stamp(self) -> Stamp:
        """What every write changes."""
        with self._engine().connect() as connection:
            return _stamp(connection)

    def everything(self) -> Contents:
        """All records, of one moment: none is without its owner, whatever is written meanwhile."""
        with database.one_moment(self._engine()) as connection:
            return Contents(
                _stamp(connection),
                _all(connection, Organization),
                _all(connection, Website),
                _all(connection, Link),
                _all(connection, Key),
                _all(connection, Import),
            )

    def close(self) -> None:
        self._database.dispose()
        if self._file:
            self._file.close()

    def _writing(self) -> "_Writing":
        return _Writing(self._engine())

    def _engine(self) -> sa.Engine:
        """Connections to the file that is there now."""
        if self._file is None:
            return self._database
        try:
            found = self._file.look()
        except RegistryLost:
            self._opened = None
            raise
        if found != self._opened:
            self._database.dispose()
            self._opened = found
        return self._database


class _Writing:
    """One write transaction, which raises the revision at its end."""

    def __init__(self, engine: sa.Engine) -> None:
        self._begun = engine.begin()

    def __enter__(self) -> sa.Connection:
        self._connection = self._begun.__enter__()
        return self._connection

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            number = database.REVISION.c.number
            self._connection.execute(sa.update(database.REVISION).values(number=number + 1))
        self._begun.__exit__(kind, error, trace)
        if isinstance(error, sa.exc.IntegrityError):
            raise Taken(_reason(error)) from None


def _check_room(connection: sa.Connection, record: Link | Import) -> None:
    """Full when there are too many now; imports that were undone make room, the oldest first."""
    table, most = TABLES[type(record)], MOST[type(record)]
    owned = table.c.organization_id == record.organization_id
    count = sa.select(sa.func.count()).select_from(table).where(owned)
    if connection.execute(count).scalar_one() <= most:
        return
    if isinstance(record, Link):
        raise Full(f"the organization has {most:,} links, the most that it may have; delete one")
    undone = sa.select(table.c.id).where(owned, table.c.state == ImportState.UNDONE.value)
    oldest = undone.order_by(table.c.created_at, table.c.id).limit(1)
    gone = connection.execute(sa.delete(table).where(table.c.id == oldest.scalar_subquery()))
    if not gone.rowcount:
        raise Full(f"the organization has {most:,} imports, the most that it may have; undo one")


def plain_values(record: Record) -> dict[str, Any]:
    """A record as a row of its table."""
    return _plain(msgspec.structs.asdict(record))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Words of a closed set as text, which is all that some drivers know."""
    return {name: v.value if isinstance(v, StrEnum) else v for name, v in values.items()}


def _reason(error: sa.exc.IntegrityError) -> str:
    text = str(error.orig).lower()
    if "slug" in text:
        return "this slug is already taken"
    if "foreign key" in text:
        return "the organization or website does not exist"
    return "this id is already taken"


def _stamp(connection: sa.Connection) -> Stamp:
    one = sa.select(database.REVISION.c.incarnation, database.REVISION.c.number)
    return Stamp(*connection.execute(one).one())


def _all(connection: sa.Connection, kind: type[R]) -> list[R]:
    table = TABLES[kind]
    return _records(connection, kind, sa.select(table).order_by(table.c.created_at, table.c.id))


def _records(connection: sa.Connection, kind: type[R], query: sa.Select[Any]) -> list[R]:
    return [_record(kind, row) for row in connection.execute(query).all()]


def _record(kind: type[R], row: sa.Row[Any]) -> R:
    values = dict(row._mapping)
    if "scopes" in values:
        values["scopes"] = tuple(values["scopes"])  # JSON has lists only
    if "state" in values:
        values["state"] = ImportState(values["state"])
    return kind(**values)
