"""Maximum numbers of records, because every process has all of them in memory."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import sqlalchemy as sa

from schemas.plans import MAX_LINKS
from schemas.registry.record_mapping import RECORD_TABLES, to_record
from schemas.registry.records import (
    Action,
    Erasure,
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
    Website,
)
from schemas.registry.saved_records import SAVED_RECORDS, PathGroup, SavedRecord, Shield
from schemas.registry.transaction import RecordConflict, WriteTransaction

MAX_RECORDS: Mapping[type[Record], int] = {
    Website: 10_000,
    Link: 10_000,
    Key: 1_000,
    Member: 1_000,
    Import: 1_000,
    Erasure: 100_000,
    Replay: 100,
    **dict.fromkeys(SAVED_RECORDS, 1_000),
    PathGroup: 50,
    Shield: 500,
}
"""Maximum websites, links, keys, people, imports, erasures and replays of an organization, and
saved records of a website. A query compares each row with the paths of all path groups."""


OVER: Mapping[type[Record], tuple[Sequence[StrEnum], str]] = {
    Import: ((ImportState.UNDONE,), "undo"),
    Replay: (tuple(state for state in ReplayState if state.is_over), "wait for"),
}
"""States in which a record makes room for a new one, and what to do when none is in them."""


class RecordLimitReached(RecordConflict):
    """The organization or website has the maximum number of these records."""


def check_record_limit(transaction: WriteTransaction, record: Record) -> None:
    """Raise RecordLimitReached when a new record is one too many.

    For an import or a replay too many, one that is over is deleted if there is one.
    """
    maximum = MAX_RECORDS.get(type(record))
    if maximum is None:
        return
    if isinstance(record, SavedRecord):
        if _count(transaction, type(record), website_id=record.website_id) > maximum:
            raise _limit_reached("website", record, maximum, "delete")
    elif isinstance(record, OwnedRecord):
        _check_organization_limit(transaction, record, maximum)


def _check_organization_limit(
    transaction: WriteTransaction, record: OwnedRecord, maximum: int
) -> None:
    owner = record.organization_id
    if isinstance(record, Link):
        maximum = min(maximum, _plan_link_limit(transaction, owner))
    if _count(transaction, type(record), organization_id=owner) <= maximum:
        return
    states, remedy = OVER.get(type(record), ((), "delete"))
    if not _delete_oldest(transaction, type(record), owner, states):
        raise _limit_reached("organization", record, maximum, remedy)


def _limit_reached(owner: str, record: Record, maximum: int, remedy: str) -> RecordLimitReached:
    records = RECORD_TABLES[type(record)].name.replace("_", " ")
    return RecordLimitReached(
        f"the {owner} has {maximum:,} {records}, its maximum; {remedy} one first"
    )


def _count(transaction: WriteTransaction, kind: type[Record], **where: str) -> int:
    table = RECORD_TABLES[kind]
    query = sa.select(sa.func.count()).select_from(table).filter_by(**where)
    return int(transaction.connection.execute(query).scalar_one())


def _delete_oldest(
    transaction: WriteTransaction,
    kind: type[Record],
    organization_id: str,
    states: Sequence[StrEnum],
) -> bool:
    """Delete the oldest record of the organization in one of these states, if there is one."""
    if not states:
        return False
    table = RECORD_TABLES[kind]
    over = sa.select(table.c.id).where(
        table.c.organization_id == organization_id,
        table.c.state.in_([state.value for state in states]),
    )
    oldest = over.order_by(table.c.created_at, table.c.id).limit(1)
    removed = sa.delete(table).where(table.c.id == oldest.scalar_subquery()).returning(*table.c)
    deleted = transaction.connection.execute(removed).first()
    if deleted is not None:
        transaction.log_record(Action.DELETE, to_record(kind, deleted._mapping))
    return deleted is not None


def _plan_link_limit(transaction: WriteTransaction, organization_id: str) -> int:
    table = RECORD_TABLES[Organization]
    plan = sa.select(table.c.plan).where(table.c.id == organization_id)
    return MAX_LINKS[transaction.connection.execute(plan).scalar_one()]
