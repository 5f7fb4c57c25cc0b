"""Deleted websites and organizations: kept with all that belonged to them until they are purged.

A deletion moves the records out of their tables into one row of `deletions`, so that nothing that
reads the registry needs to tell deleted records from others.
"""

from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from schemas.registry.database import DELETIONS
from schemas.registry.record_limits import check_record_limit
from schemas.registry.record_mapping import (
    RECORD_TABLES,
    kind_name,
    owner_id,
    read_records,
    to_record,
    to_row,
)
from schemas.registry.records import (
    Account,
    Action,
    Deletion,
    Erasure,
    Key,
    Link,
    Member,
    Organization,
    Record,
    Replay,
    Website,
)
from schemas.registry.tombstones import begun_again
from schemas.registry.transaction import RecordConflict, WriteTransaction

RESTORABLE: tuple[type[Record], ...] = (Organization, Website)
NOT_RESTORED = (Deletion, Replay)
"""Records that end with their owner: replays have contents of items."""
SUBJECTS = (Website, Link)
"""Records whose ids are the subjects of rows."""


def add_deletion(transaction: WriteTransaction, record: Record, now_ms: int) -> None:
    """Keep a record and all that belongs to it, which the caller is about to delete."""
    belongings = list(_belongings(transaction, record))
    deletion = Deletion(
        id=record.id,
        organization_id=owner_id(record),
        record_kind=kind_name(type(record)),
        name=getattr(record, "name", "") or getattr(record, "domain", ""),
        subjects=tuple(
            owned.id for kind, records in belongings if kind in SUBJECTS for owned in records
        ),
        records={
            RECORD_TABLES[kind].name: [to_row(owned) for owned in records]
            for kind, records in belongings
            if records
        },
        created_at=now_ms,
        updated_at=now_ms,
    )
    transaction.connection.execute(sa.delete(DELETIONS).where(DELETIONS.c.id == record.id))
    transaction.connection.execute(sa.insert(DELETIONS).values(to_row(deletion)))


def _belongings(
    transaction: WriteTransaction, record: Record
) -> Iterator[tuple[type[Record], Sequence[Record]]]:
    """The record itself and what belongs to it, by class, owners first."""
    owner = "organization_id" if isinstance(record, Organization) else "website_id"
    for kind, table in RECORD_TABLES.items():
        if kind is type(record):
            yield kind, [record]
        elif kind not in NOT_RESTORED and owner in table.c:
            owned = sa.select(table).where(table.c[owner] == record.id)
            yield kind, read_records(transaction.connection, kind, owned)


def restore_deletion(
    transaction: WriteTransaction, deletion_id: str, kind: type[Record], now_ms: int
) -> None:
    """Bring back a deleted record with all that belonged to it.

    Its erasures begin again: what was still in Kafka was stored without their tombstones. So do
    those of the whole organization, which did not search it while it was deleted.

    KeyError when there is none; RecordConflict when its purge has begun, when its organization is
    gone, or when a slug was taken meanwhile.
    """
    removed = sa.delete(DELETIONS).where(
        DELETIONS.c.id == deletion_id, DELETIONS.c.record_kind == kind_name(kind)
    )
    row = transaction.connection.execute(removed.returning(*DELETIONS.c)).first()
    if row is None:
        raise KeyError(deletion_id)
    deletion = to_record(Deletion, row._mapping)
    if not deletion.records:
        raise RecordConflict(
            f"the rows of this {deletion.record_kind} are purged: it cannot be restored"
        )
    for restored_kind, table in RECORD_TABLES.items():
        for values in deletion.records.get(table.name, ()):
            record = to_record(restored_kind, values)
            if _has_left(transaction, record):
                continue
            if isinstance(record, Erasure):
                record = begun_again(record, now_ms)
            transaction.connection.execute(sa.insert(table).values(to_row(record)))
            transaction.log_record(Action.RESTORE, record)
            if isinstance(record, Website) and record.id == deletion_id:
                check_record_limit(transaction, record)
                _begin_erasures_again(transaction, record.organization_id, now_ms)


def _has_left(transaction: WriteTransaction, record: Record) -> bool:
    """Whether it is of a person whose account or membership has ended meanwhile."""
    if isinstance(record, Member):
        table, reference = RECORD_TABLES[Account], record.account_id
    elif isinstance(record, Key):
        table, reference = RECORD_TABLES[Member], record.person_id
    else:
        return False
    if reference is None:
        return False
    there = sa.select(table.c.id).where(table.c.id == reference)
    return transaction.connection.execute(there).first() is None


def _begin_erasures_again(transaction: WriteTransaction, organization_id: str, now_ms: int) -> None:
    """Begin the erasures of all websites of the organization again."""
    table = RECORD_TABLES[Erasure]
    of_all = sa.select(table).where(
        table.c.organization_id == organization_id,
        table.c.website_id.is_(None),
        table.c.link_id.is_(None),
    )
    for erasure in read_records(transaction.connection, Erasure, of_all):
        again = begun_again(erasure, now_ms)
        if again != erasure:
            changed = sa.update(table).where(table.c.id == erasure.id)
            transaction.connection.execute(changed.values(to_row(again)))
            transaction.log_record(Action.UPDATE, again, erasure)


def check_deleted_id(transaction: WriteTransaction, record: Record) -> None:
    """RecordConflict when a new record has an id whose rows are not purged yet."""
    if not isinstance(record, RESTORABLE):
        return
    query = sa.select(*(c for c in DELETIONS.c if c.name != "records"))
    for deletion in read_records(transaction.connection, Deletion, query):
        is_of_deletion = record.id in (deletion.id, *deletion.subjects)
        if is_of_deletion and deletion.purged_at is None:
            raise RecordConflict(
                f"this id is that of a deleted {deletion.record_kind}: restore '{deletion.id}', "
                "or wait until its rows are purged"
            )


def begin_purge(transaction: WriteTransaction, deletion: Deletion) -> bool:
    """Drop the records, so that the deletion cannot be undone; False when it was undone before."""
    pending = (DELETIONS.c.id == deletion.id) & (DELETIONS.c.created_at == deletion.created_at)
    emptied = sa.update(DELETIONS).where(pending).values(records={})
    if not transaction.connection.execute(emptied).rowcount:
        return False
    if deletion.records:
        kind = next(kind for kind in RESTORABLE if kind_name(kind) == deletion.record_kind)
        transaction.log_change(Action.PURGE, kind, deletion.id, deletion.organization_id)
    return True
