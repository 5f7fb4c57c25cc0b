"""Store: the registry as it is kept. Every write raises the revision that followers look at.

Calls block for about a millisecond; HTTP services make them in a thread.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import sqlalchemy as sa

from schemas.plans import MOST_LINKS
from schemas.registry import database
from schemas.registry.connections import Connections
from schemas.registry.contents import (
    Contents,
    Since,
    Stamp,
    read_everything,
    read_since,
    read_stamp,
)
from schemas.registry.record_mapping import (
    TABLES,
    R,
    Record,
    change_of,
    owner_of,
    plain,
    plain_values,
    record_of,
    records,
)
from schemas.registry.records import (
    Action,
    Change,
    Import,
    ImportState,
    Key,
    Link,
    Organization,
    Website,
)
from schemas.registry.transaction import Taken, Writing
from schemas.runtime.clock import now_ms
from schemas.runtime.finding import Finding

MOST: Mapping[type[Record], int] = {Link: 10_000, Import: 1_000}
"""How many an organization may have: all of them are in the memory of every process."""


class Unknown(Exception):
    """There is no such record."""


class Full(Taken):
    """The organization has as many of these records as it may have."""


class Store:
    """Reads and writes of records; each write is one transaction. `migrate` made the tables.

    RegistryLost from every call while the file of a SQLite registry is gone: a new file is never
    made, nothing is written to one that was removed, and one that took its place is opened.
    """

    def __init__(self, url: str, actor: str = "", clock: Callable[[], int] = now_ms) -> None:
        self._connections = Connections(url)
        self._actor = actor
        self._clock = clock

    def acting_for(self, actor: str) -> Self:
        """The same store, whose writes are those of another actor."""
        other = copy(self)
        other._actor = actor
        return other

    def create(self, record: R) -> R:
        """Keep a new record; Taken when its id or slug is in use or its owner is unknown; Full."""
        with self._writing() as writing:
            _insert(writing, record)
        return record

    def get(self, kind: type[R], record_id: str) -> R:
        """The record of that id; Unknown when there is none."""
        table = TABLES[kind]
        with self._connections.engine().connect() as connection:
            row = connection.execute(sa.select(table).where(table.c.id == record_id)).first()
        if row is None:
            raise Unknown(f"no {kind.__name__.lower()} '{record_id}'")
        return record_of(kind, row._mapping)

    def list(
        self, kind: type[R], *, limit: int | None = None, offset: int = 0, **where: str | None
    ) -> Sequence[R]:
        """Records whose columns equal `where` (None: any), oldest first."""
        table = TABLES[kind]
        query = sa.select(table).order_by(table.c.created_at, table.c.id)
        for column, value in where.items():
            if value is not None:
                query = query.where(table.c[column] == value)
        with self._connections.engine().connect() as connection:
            return records(connection, kind, query.limit(limit).offset(offset))

    def count(self, kind: type[R], **where: str | None) -> int:
        """How many records `list` would give without limit."""
        table = TABLES[kind]
        query = sa.select(sa.func.count()).select_from(table)
        for column, value in where.items():
            if value is not None:
                query = query.where(table.c[column] == value)
        with self._connections.engine().connect() as connection:
            return int(connection.execute(query).scalar_one())

    def update(self, kind: type[R], record_id: str, now_ms: int, **changes: Any) -> R:
        """Change the named fields; Unknown or Taken as above."""
        with self._writing() as writing:
            return _change(writing, kind, record_id, {**changes, "updated_at": now_ms})

    def replace_key(self, new: Key, old_id: str, until_ms: int, now_ms: int) -> Key:
        """Keep a new key and let an old one end, both or neither; answers the old one."""
        with self._writing() as writing:
            _insert(writing, new)
            return _change(writing, Key, old_id, {"expires_at": until_ms, "updated_at": now_ms})

    def note_uses(self, uses: Mapping[str, int]) -> None:
        """When keys were last used, by their ids; other processes may know of later uses."""
        table = TABLES[Key]
        later = sa.or_(table.c.last_used_at.is_(None), table.c.last_used_at < sa.bindparam("at"))
        used = sa.update(table).where(table.c.id == sa.bindparam("key_id"), later)
        rows = [{"key_id": key_id, "at": at} for key_id, at in uses.items()]
        with self._connections.engine().begin() as connection:
            connection.execute(used.values(last_used_at=sa.bindparam("at")), rows)

    def note(self, kind: type[R], record_id: str, now_ms: int, **changes: Any) -> None:
        """Change what no service has to know: the revision stays as it is."""
        table = TABLES[kind]
        values = {**changes, "updated_at": now_ms}
        with self._connections.engine().begin() as connection:
            connection.execute(sa.update(table).where(table.c.id == record_id).values(values))

    def delete(self, kind: type[R], record_id: str) -> None:
        """Remove the record and what belongs to it; Unknown when there is none."""
        table = TABLES[kind]
        with self._writing() as writing:
            if kind is Organization:
                _note_websites(writing, record_id)
            gone = sa.delete(table).where(table.c.id == record_id).returning(*table.c)
            row = writing.connection.execute(gone).first()
            if row is None:
                raise Unknown(f"no {kind.__name__.lower()} '{record_id}'")
            owner = owner_of(record_of(kind, row._mapping))
            writing.note(Action.DELETE, kind, record_id, owner)

    def stamp(self) -> Stamp:
        """What every write changes."""
        with self._connections.engine().connect() as connection:
            return read_stamp(connection)

    def everything(self) -> Contents:
        """All records, of one moment: none is without its owner, whatever is written meanwhile."""
        with database.one_moment(self._connections.engine()) as connection:
            return read_everything(connection)

    def since(self, seen: Stamp) -> Since | None:
        """What was written after a state; None when only reading everything tells it."""
        with database.one_moment(self._connections.engine()) as connection:
            return read_since(connection, seen)

    def changes(self, limit: int, organization_id: str | None = None) -> Sequence[Change]:
        """The newest changes of all, or of one organization; the newest first."""
        log = database.CHANGES
        query = sa.select(log).order_by(log.c.number.desc()).limit(limit)
        if organization_id is not None:
            query = query.where(log.c.organization_id == organization_id)
        with self._connections.engine().connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [change_of(row) for row in rows]

    def accept(self, finding_id: str, said: Sequence[str]) -> None:
        """Note in the trail that an operator accepted a finding; `said` is what and why."""
        with self._writing() as writing:
            writing.note(Action.ACCEPT, Finding, finding_id, None, said)

    def accepted(self) -> frozenset[str]:
        """Ids of the findings that were accepted."""
        log = database.CHANGES
        query = sa.select(log.c.record_id).where(log.c.action == Action.ACCEPT.value)
        with self._connections.engine().connect() as connection:
            return frozenset(connection.execute(query).scalars())

    def close(self) -> None:
        self._connections.close()

    def _writing(self) -> Writing:
        return Writing(self._connections.engine(), self._actor, self._clock)


def _insert(writing: Writing, record: Record) -> None:
    writing.connection.execute(sa.insert(TABLES[type(record)]).values(plain_values(record)))
    writing.note(Action.CREATE, type(record), record.id, owner_of(record))
    if isinstance(record, Link | Import):
        _check_room(writing, record)


def _change(writing: Writing, kind: type[R], record_id: str, values: dict[str, Any]) -> R:
    table = TABLES[kind]
    changed = sa.update(table).where(table.c.id == record_id).values(plain(values))
    row = writing.connection.execute(changed.returning(*table.c)).first()
    if row is None:
        raise Unknown(f"no {kind.__name__.lower()} '{record_id}'")
    record = record_of(kind, row._mapping)
    fields = [name for name in values if name != "updated_at"]
    writing.note(Action.UPDATE, kind, record_id, owner_of(record), fields)
    return record


def _note_websites(writing: Writing, organization_id: str) -> None:
    """Those that go with their organization: by the trail their rows are known as deleted."""
    table = TABLES[Website]
    owned = sa.delete(table).where(table.c.organization_id == organization_id)
    for row in writing.connection.execute(owned.returning(table.c.id)).all():
        writing.note(Action.DELETE, Website, row.id, organization_id)


def _check_room(writing: Writing, record: Link | Import) -> None:
    """Full when there are too many now; imports that were undone make room, the oldest first."""
    table, most = TABLES[type(record)], MOST[type(record)]
    owned = table.c.organization_id == record.organization_id
    if isinstance(record, Link):
        most = min(most, _links_of_plan(writing, record.organization_id))
    count = sa.select(sa.func.count()).select_from(table).where(owned)
    if writing.connection.execute(count).scalar_one() <= most:
        return
    if isinstance(record, Link):
        raise Full(f"the organization has {most:,} links, the most that it may have; delete one")
    undone = sa.select(table.c.id).where(owned, table.c.state == ImportState.UNDONE.value)
    oldest = undone.order_by(table.c.created_at, table.c.id).limit(1)
    removed = sa.delete(table).where(table.c.id == oldest.scalar_subquery()).returning(table.c.id)
    gone = writing.connection.execute(removed).first()
    if gone is None:
        raise Full(f"the organization has {most:,} imports, the most that it may have; undo one")
    writing.note(Action.DELETE, Import, gone.id, record.organization_id)


def _links_of_plan(writing: Writing, organization_id: str) -> int:
    table = TABLES[Organization]
    plan = sa.select(table.c.plan).where(table.c.id == organization_id)
    return MOST_LINKS[writing.connection.execute(plan).scalar_one()]
