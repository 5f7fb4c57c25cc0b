"""Owners of organizations: there is one at least, as soon as there was one."""

import sqlalchemy as sa

from schemas.registry.database import MEMBERS, ORGANIZATIONS
from schemas.registry.records import Member, Record
from schemas.registry.transaction import RecordConflict, WriteTransaction
from schemas.runtime.roles import Role

LAST_OWNER = "the last owner of an organization stays; make somebody else owner first"


def has_owner(transaction: WriteTransaction, organization_id: str) -> bool:
    """Whether somebody is owner, and nobody else changes that before the transaction ends."""
    table = ORGANIZATIONS
    lock = sa.update(table).where(table.c.id == organization_id).values(id=table.c.id)
    transaction.connection.execute(lock)
    owners = sa.select(MEMBERS.c.id).where(
        MEMBERS.c.organization_id == organization_id,
        MEMBERS.c.role == Role.OWNER.value,
        MEMBERS.c.account_id.is_not(None),
    )
    return transaction.connection.execute(owners.limit(1)).first() is not None


def check_owner_stays(
    transaction: WriteTransaction, before: Record, after: Record | None = None
) -> None:
    """RecordConflict when a record that was changed or deleted (None) was the last owner."""
    if not isinstance(before, Member) or not _is_owner(before) or _is_owner(after):
        return
    if not has_owner(transaction, before.organization_id):
        raise RecordConflict(LAST_OWNER)


def _is_owner(record: Record | None) -> bool:
    return (
        isinstance(record, Member) and record.role == Role.OWNER and record.account_id is not None
    )
