"""Audit trail: what a change did to the fields of a record, and reads of the trail.

Values are kept for people. They have no secrets, and long ones are cut: API callers decide how long
they are, and the trail outlives the records.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from schemas.registry.database import CHANGES
from schemas.registry.privacy import DEFAULT_PRIVACY
from schemas.registry.record_mapping import to_change
from schemas.registry.records import Change, Record, Website

MAX_VALUE_LENGTH = 250
"""Characters of a value; a list or an object is cut as JSON text."""
UNRECORDED = frozenset(
    {
        *("id", "organization_id", "created_at", "updated_at"),
        *("erased_values", "planned_items", "upload"),
        *("totp_step", "invitation"),
    }
)
"""Fields that an entry has anyway, and those that it must not have."""
EMPTY: tuple[object, ...] = (None, False, "", (), {}, DEFAULT_PRIVACY)
SECRET_WORDS = ("secret", "password", "hash", "token", "address")


def recorded_values(record: Record, fields: Iterable[str] | None = None) -> dict[str, Any]:
    """Values of these fields of a record (None: all that have one), as an entry shows them."""
    values = msgspec.structs.asdict(record)
    names = [name for name, v in values.items() if v not in EMPTY] if fields is None else fields
    return {
        name: _shortened(msgspec.to_builtins(values[name]))
        for name in names
        if name not in UNRECORDED and not is_secret(name)
    }


def is_secret(field: str) -> bool:
    """Whether the values of a field are in no entry."""
    return any(word in field for word in SECRET_WORDS)


def changed_fields(before: Record, after: Record) -> list[str]:
    """Names of the fields that differ."""
    return [
        name
        for name in after.__struct_fields__
        if name not in UNRECORDED and getattr(before, name) != getattr(after, name)
    ]


def website_of(record: Record) -> str | None:
    """The website that a record is, or belongs to."""
    if isinstance(record, Website):
        return record.id
    website_id: str | None = getattr(record, "website_id", None)
    return website_id


def read_changes(
    connection: sa.Connection,
    limit: int,
    organization_id: str | None = None,
    before: int | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Sequence[Change]:
    """Newest entries, newest first: of one organization, older than a number, with these values.

    The actor `key` stands for every key, `cli` for every user of the command line.
    """
    query = sa.select(CHANGES).order_by(CHANGES.c.number.desc()).limit(limit)
    if organization_id is not None:
        query = query.where(CHANGES.c.organization_id == organization_id)
    if before is not None:
        query = query.where(CHANGES.c.number < before)
    for column, value in (where or {}).items():
        if value is not None:
            query = query.where(
                _by_actor(value) if column == "actor" else CHANGES.c[column] == value
            )
    return [to_change(row) for row in connection.execute(query).mappings()]


def _by_actor(actor: str) -> sa.ColumnElement[bool]:
    column = CHANGES.c.actor
    return sa.or_(column == actor, column.startswith(f"{actor}:", autoescape=True))


def _shortened(value: Any) -> Any:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if len(text) <= MAX_VALUE_LENGTH:
        return value
    return f"{text[:MAX_VALUE_LENGTH]}…"
