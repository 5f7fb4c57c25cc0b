"""Rows of the registry's tables become records, and the other way round."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from itertools import islice
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from schemas.registry import database
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

Record = Organization | Website | Link | Key | Import
R = TypeVar("R", Organization, Website, Link, Key, Import)

TABLES: Mapping[type[Record], sa.Table] = {
    Organization: database.ORGANIZATIONS,
    Website: database.WEBSITES,
    Link: database.LINKS,
    Key: database.KEYS,
    Import: database.IMPORTS,
}

LISTED = frozenset({"scopes", "allowed_origins"})
AT_ONCE = 500
"""Ids in one statement."""


def name_of(kind: type) -> str:
    """What the log of changes calls a kind."""
    return kind.__name__.lower()


def owner_of(record: Record) -> str:
    """The organization that a record belongs to."""
    return record.id if isinstance(record, Organization) else record.organization_id


def plain_values(record: Record | Change) -> dict[str, Any]:
    """A record as a row of its table."""
    return plain(msgspec.structs.asdict(record))


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Words of a closed set as text, which is all that some drivers know."""
    return {name: v.value if isinstance(v, StrEnum) else v for name, v in values.items()}


def all_of(connection: sa.Connection, kind: type[R]) -> list[R]:
    """All records of a kind, oldest first."""
    return records(connection, kind, _oldest_first(TABLES[kind]))


def by_ids(connection: sa.Connection, kind: type[R], ids: Collection[str]) -> list[R]:
    """Those of a kind that have one of these ids, oldest first."""
    table, left, found = TABLES[kind], iter(sorted(ids)), list[R]()
    while some := list(islice(left, AT_ONCE)):
        found += records(connection, kind, _oldest_first(table).where(table.c.id.in_(some)))
    return found


def _oldest_first(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table).order_by(table.c.created_at, table.c.id)


def records(connection: sa.Connection, kind: type[R], query: sa.Select[Any]) -> list[R]:
    """What a query for whole rows of a kind finds."""
    found = connection.execute(query)
    names = list(found.keys())
    return [record_of(kind, dict(zip(names, row, strict=True))) for row in found]


def record_of(kind: type[R], row: Mapping[Any, Any]) -> R:
    """The record that one row is."""
    values = dict(row)
    for listed in LISTED & values.keys():
        values[listed] = tuple(values[listed])  # JSON has lists only
    if "state" in values:
        values["state"] = ImportState(values["state"])
    return kind(**values)


def change_of(row: Mapping[Any, Any]) -> Change:
    """The change that one row of the log is."""
    values = {**row, "action": Action(row["action"]), "fields": tuple(row["fields"])}
    return Change(**values)
