"""All records at one revision, and the changes since an earlier one."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from msgspec import Struct

from schemas.registry.database import CHANGES, REVISION
from schemas.registry.record_mapping import Record, kind_name, read_all, read_by_ids
from schemas.registry.records import Import, Key, Link, Organization, Website

MAX_CHANGES = 1_000
"""Beyond them everything is read instead."""


class RegistryVersion(Struct, frozen=True):
    """By which two states of a registry are told apart."""

    incarnation: str
    revision: int


class Contents(Struct, frozen=True):
    """Everything in the registry, as of one moment."""

    stamp: RegistryVersion
    organizations: Sequence[Organization]
    websites: Sequence[Website]
    links: Sequence[Link]
    keys: Sequence[Key]
    imports: Sequence[Import] = ()
    receipt_secret: str = ""
    """Signs receipts, as hexadecimal digits; empty in backups of before it was there."""

    def by_kind(self) -> Sequence[tuple[type[Record], Sequence[Record]]]:
        """All of them, owners first."""
        return (
            (Organization, self.organizations),
            (Website, self.websites),
            (Link, self.links),
            (Key, self.keys),
            (Import, self.imports),
        )


class ChangesSince(Struct, frozen=True):
    """What was written after an earlier state: records as they are now, and ids that are gone."""

    changed: Contents
    """Only what was written."""
    deleted_ids: Mapping[str, Sequence[str]]
    """By the name of their kind."""


def read_version(connection: sa.Connection) -> RegistryVersion:
    """The state that the registry is in."""
    row = connection.execute(sa.select(REVISION.c.incarnation, REVISION.c.number)).one()
    return RegistryVersion(str(row.incarnation), int(row.number))


def read_contents(connection: sa.Connection) -> Contents:
    """All records."""
    return Contents(
        read_version(connection),
        read_all(connection, Organization),
        read_all(connection, Website),
        read_all(connection, Link),
        read_all(connection, Key),
        read_all(connection, Import),
        str(connection.execute(sa.select(REVISION.c.receipt_secret)).scalar_one()),
    )


def read_changes_since(connection: sa.Connection, known: RegistryVersion) -> ChangesSince | None:
    """What the log of changes tells; None when it does not tell all that was written.

    It does not when the registry was restored, when older changes were removed from it, or when a
    version of before wrote, which keeps no log.
    """
    stamp = read_version(connection)
    written = stamp.revision - known.revision
    if stamp.incarnation != known.incarnation or not 0 <= written <= MAX_CHANGES:
        return None
    query = sa.select(CHANGES.c.kind, CHANGES.c.record_id).where(CHANGES.c.number > known.revision)
    rows = connection.execute(query).all()
    if len(rows) != written:
        return None
    touched: dict[str, set[str]] = {}
    for kind, record_id in rows:
        touched.setdefault(str(kind), set()).add(str(record_id))
    now = Contents(
        stamp,
        read_by_ids(connection, Organization, touched.get(kind_name(Organization), ())),
        read_by_ids(connection, Website, touched.get(kind_name(Website), ())),
        read_by_ids(connection, Link, touched.get(kind_name(Link), ())),
        read_by_ids(connection, Key, touched.get(kind_name(Key), ())),
        read_by_ids(connection, Import, touched.get(kind_name(Import), ())),
    )
    for kind, records in now.by_kind():
        touched.get(kind_name(kind), set()).difference_update(record.id for record in records)
    return ChangesSince(now, {name: tuple(ids) for name, ids in touched.items() if ids})
