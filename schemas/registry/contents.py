"""All records at one revision, and the changes since an earlier one."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from msgspec import Struct

from schemas.registry.database import CHANGES, REVISION
from schemas.registry.record_mapping import Record, kind_name, read_all, read_by_ids
from schemas.registry.records import Import, Key, Link, Organization, Website

MAX_CHANGES = 1_000
"""With more changes than this all records are read instead."""


class RegistryVersion(Struct, frozen=True):
    """Identifies a state of a registry: revisions of two incarnations are not comparable."""

    incarnation: str
    revision: int


class Contents(Struct, frozen=True):
    """All records at one revision."""

    stamp: RegistryVersion
    organizations: Sequence[Organization]
    websites: Sequence[Website]
    links: Sequence[Link]
    keys: Sequence[Key]
    imports: Sequence[Import] = ()
    receipt_secret: str = ""
    """Secret that signs receipts, in hex; empty in backups of older versions."""

    def by_kind(self) -> Sequence[tuple[type[Record], Sequence[Record]]]:
        """All records by class, owners first."""
        return (
            (Organization, self.organizations),
            (Website, self.websites),
            (Link, self.links),
            (Key, self.keys),
            (Import, self.imports),
        )


class ChangesSince(Struct, frozen=True):
    """Changes since an earlier revision: changed records, and ids of deleted ones."""

    changed: Contents
    """Created and updated records only."""
    deleted_ids: Mapping[str, Sequence[str]]
    """By kind name."""


def read_version(connection: sa.Connection) -> RegistryVersion:
    """The current version."""
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


def read_changes_since(connection: sa.Connection, version: RegistryVersion) -> ChangesSince | None:
    """Changes by the audit trail; None when the trail is incomplete.

    It is after a restore, when older changes were pruned, or when an older version wrote.
    """
    stamp = read_version(connection)
    written = stamp.revision - version.revision
    if stamp.incarnation != version.incarnation or not 0 <= written <= MAX_CHANGES:
        return None
    query = sa.select(CHANGES.c.kind, CHANGES.c.record_id).where(
        CHANGES.c.number > version.revision
    )
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
