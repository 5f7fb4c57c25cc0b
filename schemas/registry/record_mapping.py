"""Maps database rows to records and back; columns of saved records come from their structs."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from msgspec import inspect

from schemas.registry import database
from schemas.registry.privacy import parse_privacy
from schemas.registry.records import (
    Account,
    Action,
    Change,
    Deletion,
    Erasure,
    ErasureState,
    Import,
    ImportState,
    Key,
    Link,
    Member,
    Organization,
    OwnedRecord,
    Record,
    Replay,
    ReplayState,
    Selector,
    Website,
)
from schemas.registry.saved_records import SAVED_RECORDS, SavedRecord

RecordT = TypeVar("RecordT", bound=Record)

OWNERS: Mapping[str, str] = {"organization_id": "organizations.id", "website_id": "websites.id"}
"""Columns of owners, with what they refer to."""


def _table(record: type[SavedRecord]) -> sa.Table:
    columns = list(_columns(record))
    named = any(column.name == "name" for column in columns)
    unique = [_unique_name(record)] if named else []
    return sa.Table(record.plural, database.METADATA, *columns, *unique)


def _unique_name(record: type[SavedRecord]) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(record.unique_with, "name", name=f"uq_{record.plural}_name")


def _columns(record: type[SavedRecord]) -> Iterator[sa.Column[Any]]:
    described: Any = inspect.type_info(record)
    for field in described.fields:
        if field.name == "id":
            yield sa.Column("id", sa.String(32), primary_key=True)
        elif field.name in OWNERS:
            owner = sa.ForeignKey(OWNERS[field.name], ondelete="CASCADE")
            yield sa.Column(field.name, sa.String(32), owner, nullable=False, index=True)
        else:
            nullable = isinstance(field.type, inspect.UnionType)
            yield sa.Column(field.name, _column_type(field.type), nullable=nullable)


def _column_type(described: inspect.Type) -> sa.types.TypeEngine[Any]:
    """The column type of a text with a maximum length, an integer or a list."""
    if isinstance(described, inspect.UnionType):
        (described,) = (t for t in described.types if not isinstance(t, inspect.NoneType))
    if isinstance(described, inspect.Metadata):
        described = described.type
    if isinstance(described, inspect.StrType):
        return sa.String(described.max_length)
    if isinstance(described, inspect.LiteralType):
        raise TypeError(
            f"{described.values}: a text has a length; a literal would be stored as JSON"
        )
    return sa.BigInteger() if isinstance(described, inspect.IntType) else sa.JSON()


RECORD_TABLES: Mapping[type[Record], sa.Table] = {
    Organization: database.ORGANIZATIONS,
    Account: database.ACCOUNTS,
    Website: database.WEBSITES,
    Link: database.LINKS,
    Member: database.MEMBERS,
    Key: database.KEYS,
    Import: database.IMPORTS,
    Erasure: database.ERASURES,
    Replay: database.REPLAYS,
    **{record: _table(record) for record in SAVED_RECORDS},
    Deletion: database.DELETIONS,
}
"""Every record class, owners first."""

LIST_COLUMNS = frozenset(
    {
        "scopes",
        "allowed_origins",
        "filters",
        "frame_origins",
        "steps",
        "exclusions",
        "value_hashes",
        "erased_values",
        "item_changes",
        "subjects",
        "recovery_hashes",
        "recipients",
        "channels",
        "explorations",
        "tiles",
        "paths",
    }
)
ENUM_COLUMNS: Mapping[type[Record], Mapping[str, type[StrEnum]]] = {
    Import: {"state": ImportState},
    Erasure: {"state": ErasureState, "selector": Selector},
    Replay: {"state": ReplayState},
}
STRUCT_COLUMNS: Mapping[type[Record], Mapping[str, Callable[[Any], msgspec.Struct]]] = {
    Website: {"privacy": parse_privacy}
}
"""Columns with a JSON object that records have as a struct."""
IDS_PER_QUERY = 500
"""Maximum ids in one statement."""


def kind_name(kind: type) -> str:
    """Name of a record class in the audit trail and in messages, such as `money property`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()


def owner_id(record: Record) -> str:
    """Organization id of a record."""
    return record.organization_id if isinstance(record, OwnedRecord) else record.id


def to_row(record: Record | Change) -> dict[str, Any]:
    """Row of a record."""
    return to_column_values(msgspec.structs.asdict(record))


def to_column_values(values: dict[str, Any]) -> dict[str, Any]:
    """Enums as strings, because some drivers know no enums; structs as JSON objects."""
    return {name: _column_value(value) for name, value in values.items()}


def _column_value(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value


def read_all(connection: sa.Connection, kind: type[RecordT]) -> list[RecordT]:
    """All records of a class, oldest first."""
    return read_records(connection, kind, _oldest_first(RECORD_TABLES[kind]))


def read_by_ids(
    connection: sa.Connection, kind: type[RecordT], ids: Collection[str]
) -> list[RecordT]:
    """Records of a class with these ids, oldest first."""
    table, remaining, records = RECORD_TABLES[kind], iter(sorted(ids)), list[RecordT]()
    while batch := list(islice(remaining, IDS_PER_QUERY)):
        records += read_records(connection, kind, _oldest_first(table).where(table.c.id.in_(batch)))
    return records


def _oldest_first(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table).order_by(table.c.created_at, table.c.id)


def read_records(
    connection: sa.Connection, kind: type[RecordT], query: sa.Select[Any]
) -> list[RecordT]:
    """Records of a query that selects whole rows."""
    result = connection.execute(query)
    names = list(result.keys())
    return [to_record(kind, dict(zip(names, row, strict=True))) for row in result]


def to_record(kind: type[RecordT], row: Mapping[Any, Any]) -> RecordT:
    """Record of a row."""
    values = dict(row)
    for column in LIST_COLUMNS & values.keys():
        values[column] = tuple(values[column])  # JSON has lists, records have tuples
    for column, enum in ENUM_COLUMNS.get(kind, {}).items():
        values[column] = enum(values[column])
    for column, parse in STRUCT_COLUMNS.get(kind, {}).items():
        values[column] = parse(values.get(column, {}))
    return kind(**values)


def to_change(row: Mapping[Any, Any]) -> Change:
    """Change of a row of the audit trail."""
    values = {**row, "action": Action(row["action"]), "fields": tuple(row["fields"])}
    return Change(**values)
