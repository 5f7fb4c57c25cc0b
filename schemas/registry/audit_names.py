"""What the records of audit trail entries are called, also those that were deleted."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from schemas.registry.audit_trail import recorded_values, website_of
from schemas.registry.database import CHANGES
from schemas.registry.record_mapping import RECORD_TABLES, kind_name, owner_id, read_by_ids
from schemas.registry.records import Action, Change, Record

NAMING_FIELDS = (
    *("name", "email", "domain", "slug", "target_url", "text", "selector"),
    *("reason_contains", "position", "message"),
)
"""Fields by which people know a record; each class has at least one of them."""
KINDS: Mapping[str, type[Record]] = {kind_name(kind): kind for kind in RECORD_TABLES}
"""Record classes by their names in the audit trail."""

Names = Mapping[str, Any]
"""Naming fields that have a value."""


def read_names(connection: sa.Connection, changes: Sequence[Change]) -> Sequence[Names | None]:
    """For each entry the names that its record has now, or had last; None when not known.

    An id that was used again for another organization or website names nothing here.
    """
    records = _read_records(connection, changes)
    names = [_names_now(change, records.get((change.kind, change.record_id))) for change in changes]
    gone = [change for change, found in zip(changes, names, strict=True) if found is None]
    last = _names_of_deleted(connection, gone) if gone else {}
    return [
        last.get(_place(change)) if found is None else found
        for change, found in zip(changes, names, strict=True)
    ]


def _read_records(
    connection: sa.Connection, changes: Sequence[Change]
) -> Mapping[tuple[str, str], Record]:
    """The records that still exist, by kind and id."""
    found: dict[tuple[str, str], Record] = {}
    for kind in {change.kind for change in changes} & KINDS.keys():
        ids = {change.record_id for change in changes if change.kind == kind}
        records: list[Record] = read_by_ids(connection, KINDS[kind], ids)
        found |= {(kind, record.id): record for record in records}
    return found


def _names_now(change: Change, record: Record | None) -> Names | None:
    if record is None or owner_id(record) != change.organization_id:
        return None
    if change.website_id not in (None, website_of(record)):
        return None
    present = [field for field in NAMING_FIELDS if getattr(record, field, None)]
    return recorded_values(record, present)


def _place(change: Change | sa.RowMapping) -> tuple[Any, ...]:
    fields = ("organization_id", "website_id", "kind", "record_id")
    if isinstance(change, Change):
        return tuple(getattr(change, field) for field in fields)
    return tuple(change[field] for field in fields)


def _names_of_deleted(
    connection: sa.Connection, changes: Sequence[Change]
) -> Mapping[tuple[Any, ...], Names]:
    """By the entries of their deletion; what went with its website has none, but older ones."""
    last: dict[tuple[Any, ...], Names] = {}
    query = sa.select(CHANGES).where(
        CHANGES.c.organization_id.in_(sorted({change.organization_id or "" for change in changes})),
        CHANGES.c.record_id.in_(sorted({change.record_id for change in changes})),
    )
    for row in connection.execute(query.order_by(CHANGES.c.number)).mappings():
        values = row["before"] if row["action"] == Action.DELETE else row["after"]
        if values:  # those of old entries are not kept
            known = last.get(_place(row), {}) if row["action"] == Action.UPDATE else {}
            last[_place(row)] = {**known, **values}
    names = {place: _naming_values(values) for place, values in last.items()}
    return {place: found for place, found in names.items() if found}


def _naming_values(values: Mapping[str, Any]) -> Names:
    return {field: values[field] for field in NAMING_FIELDS if values.get(field)}
