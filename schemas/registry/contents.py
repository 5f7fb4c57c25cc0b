"""The contents of a registry at one moment, and what was written since an earlier one."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from msgspec import Struct

from schemas.registry.database import CHANGES, REVISION
from schemas.registry.record_mapping import Record, all_of, by_ids, name_of
from schemas.registry.records import Import, Key, Link, Organization, Website

MOST_CHANGES = 1_000
"""Beyond them everything is read instead."""


class Stamp(Struct, frozen=True):
    """By which two states of a registry are told apart."""

    incarnation: str
    revision: int


class Contents(Struct, frozen=True):
    """Everything in the registry, as of one moment."""

    stamp: Stamp
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


class Since(Struct, frozen=True):
    """What was written after an earlier state: records as they are now, and ids that are gone."""

    contents: Contents
    """Only what was written."""
    gone: Mapping[str, Sequence[str]]
    """By the name of their kind."""


def read_stamp(connection: sa.Connection) -> Stamp:
    """The state that the registry is in."""
    row = connection.execute(sa.select(REVISION.c.incarnation, REVISION.c.number)).one()
    return Stamp(str(row.incarnation), int(row.number))


def read_everything(connection: sa.Connection) -> Contents:
    """All records."""
    return Contents(
        read_stamp(connection),
        all_of(connection, Organization),
        all_of(connection, Website),
        all_of(connection, Link),
        all_of(connection, Key),
        all_of(connection, Import),
        str(connection.execute(sa.select(REVISION.c.receipt_secret)).scalar_one()),
    )


def read_since(connection: sa.Connection, seen: Stamp) -> Since | None:
    """What the log of changes tells; None when it does not tell all that was written.

    It does not when the registry was restored, when older changes were removed from it, or when a
    version of before wrote, which keeps no log.
    """
    stamp = read_stamp(connection)
    written = stamp.revision - seen.revision
    if stamp.incarnation != seen.incarnation or not 0 <= written <= MOST_CHANGES:
        return None
    query = sa.select(CHANGES.c.kind, CHANGES.c.record_id).where(CHANGES.c.number > seen.revision)
    rows = connection.execute(query).all()
    if len(rows) != written:
        return None
    touched: dict[str, set[str]] = {}
    for kind, record_id in rows:
        touched.setdefault(str(kind), set()).add(str(record_id))
    now = Contents(
        stamp,
        by_ids(connection, Organization, touched.get(name_of(Organization), ())),
        by_ids(connection, Website, touched.get(name_of(Website), ())),
        by_ids(connection, Link, touched.get(name_of(Link), ())),
        by_ids(connection, Key, touched.get(name_of(Key), ())),
        by_ids(connection, Import, touched.get(name_of(Import), ())),
    )
    for kind, found in now.by_kind():
        touched.get(name_of(kind), set()).difference_update(record.id for record in found)
    return Since(now, {name: tuple(gone) for name, gone in touched.items() if gone})
