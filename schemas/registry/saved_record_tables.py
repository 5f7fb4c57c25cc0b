"""Database tables of saved records, with columns made from the fields of their structs."""

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from msgspec import inspect

from schemas.registry.database import METADATA
from schemas.registry.records import Record
from schemas.registry.saved_records import SAVED_RECORDS, SavedRecord

OWNERS: Mapping[str, str] = {"organization_id": "organizations.id", "website_id": "websites.id"}
"""Columns of owners, with what they refer to."""


def _table(record: type[SavedRecord]) -> sa.Table:
    columns = list(_columns(record))
    named = any(column.name == "name" for column in columns)
    unique = [_unique_name(record)] if named else []
    return sa.Table(record.plural, METADATA, *columns, *unique)


def _unique_name(record: type[SavedRecord]) -> sa.UniqueConstraint:
    return sa.UniqueConstraint("website_id", "name", name=f"uq_{record.plural}_name")


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
    return sa.BigInteger() if isinstance(described, inspect.IntType) else sa.JSON()


SAVED_RECORD_TABLES: Mapping[type[Record], sa.Table] = {
    record: _table(record) for record in SAVED_RECORDS
}
