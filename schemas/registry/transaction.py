"""Write transaction: raises the revision and appends to the audit trail.

Followers read the trail instead of all records: each entry has the number of its revision, so a
follower that counts them knows that none is missing. Entries have no secrets; an entry for an
accepted finding has the finding and the reason.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Self

import sqlalchemy as sa

from schemas.registry import database
from schemas.registry.audit_trail import changed_fields, recorded_values, website_of
from schemas.registry.record_mapping import kind_name, owner_id
from schemas.registry.records import (
    Account,
    Action,
    Erasure,
    Import,
    Link,
    Member,
    Record,
    Replay,
)
from schemas.registry.saved_records import SAVED_RECORDS

PRUNED_KINDS = (
    *map(kind_name, (Link, Import, Erasure, Replay, Account, Member)),
    *map(kind_name, SAVED_RECORDS),
)
"""Kinds that API callers can change as often as their rate limit permits."""
KEPT_CHANGES = 100_000
"""Newest changes of these kinds that are kept; all others stay for ever."""
KEPT_VALUES = 10_000
"""Newest changes of which those of these kinds keep the values."""
PRUNE_INTERVAL = 1_000

NO_VALUES = {"website_id": None, "before": None, "after": None}

UNIQUE_COLUMN = re.compile(r"(?:\buq_\w+_|\w\.)(slug|name|email)\b")
"""Finds the column in the messages of PostgreSQL (`uq_links_slug`) and SQLite (`links.slug`)."""

FOREIGN_KEY_VIOLATION = "23503"
"""Its SQLSTATE in PostgreSQL, whose messages may be in any language."""


class RecordConflict(Exception):
    """The id, slug or name is taken, or the organization or website does not exist."""


class OwnerMissing(RecordConflict):
    """The organization or website does not exist: it may have been deleted meanwhile."""


class WriteTransaction:
    """Context manager of a transaction; RecordConflict on constraint violations."""

    def __init__(self, engine: sa.Engine, actor: str, clock: Callable[[], int]) -> None:
        self._transaction = engine.begin()
        self._actor = actor
        self._clock = clock
        self._changes: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        self.connection = self._transaction.__enter__()
        return self

    def log_record(self, action: Action, record: Record, before: Record | None = None) -> None:
        """Append what became of a record to the audit trail: it was another one `before`."""
        fields = None if before is None else changed_fields(before, record)
        values = recorded_values(record, fields)
        self.log_change(action, type(record), record.id, owner_id(record), fields or ())
        deleted = action is Action.DELETE
        self._changes[-1] |= {
            "website_id": website_of(record),
            "before": values if deleted else before and recorded_values(before, fields),
            "after": None if deleted else values,
        }

    def log_change(
        self,
        action: Action,
        kind: type,
        record_id: str,
        organization_id: str | None,
        fields: Sequence[str] = (),
    ) -> None:
        """Append a change of this transaction to the audit trail."""
        change = {
            "at": self._clock(),
            "actor": self._actor,
            "action": action.value,
            "kind": kind_name(kind),
            "record_id": record_id,
            "organization_id": organization_id,
            "fields": sorted(fields),
            **NO_VALUES,
        }
        self._changes.append(change)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None and self._changes:
            self._write_changes()
        self._transaction.__exit__(kind, error, trace)
        if isinstance(error, sa.exc.IntegrityError):
            raise _conflict(error) from None

    def _write_changes(self) -> None:
        """Write the trail last, because it locks the revision row until the commit."""
        number, log = database.REVISION.c.number, database.CHANGES
        raised = sa.update(database.REVISION).values(number=number + len(self._changes))
        last = int(self.connection.execute(raised.returning(number)).scalar_one())
        first = last - len(self._changes) + 1
        rows = [{"number": first + index, **row} for index, row in enumerate(self._changes)]
        self.connection.execute(sa.insert(log), rows)
        if first // PRUNE_INTERVAL != (last + 1) // PRUNE_INTERVAL:
            pruned, at = log.c.kind.in_(PRUNED_KINDS), log.c.number
            self.connection.execute(sa.delete(log).where(pruned, at <= last - KEPT_CHANGES))
            valued = log.c.before.is_not(None) | log.c.after.is_not(None)
            old = sa.update(log).where(pruned, at <= last - KEPT_VALUES, valued)
            self.connection.execute(old.values(before=None, after=None))


def _conflict(error: sa.exc.IntegrityError) -> RecordConflict:
    text = str(error.orig).lower()
    if getattr(error.orig, "sqlstate", None) == FOREIGN_KEY_VIOLATION or "foreign key" in text:
        return OwnerMissing("the organization or website does not exist")
    column = UNIQUE_COLUMN.search(text)
    return RecordConflict(f"this {column[1] if column else 'id'} is already taken")
