"""RegistryStore: reads and writes of records; each write raises the revision.

Calls block for about a millisecond; HTTP services call it in a thread.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Self

import msgspec
import sqlalchemy as sa

from schemas.receipts import ReceiptKey
from schemas.registry import database
from schemas.registry.audit_names import Names, read_names
from schemas.registry.audit_trail import read_changes
from schemas.registry.connections import RegistryConnections
from schemas.registry.contents import (
    ChangesSince,
    Contents,
    RegistryVersion,
    read_changes_since,
    read_contents,
    read_version,
)
from schemas.registry.deletions import (
    RESTORABLE,
    add_deletion,
    begin_purge,
    check_deleted_id,
    restore_deletion,
)
from schemas.registry.migrate import require_current_schema
from schemas.registry.notices import RegistryNotices
from schemas.registry.owners import check_owner_stays, has_owner
from schemas.registry.record_limits import check_record_limit
from schemas.registry.record_mapping import (
    RECORD_TABLES,
    RecordT,
    kind_name,
    owner_id,
    read_records,
    to_column_values,
    to_record,
    to_row,
)
from schemas.registry.records import (
    Account,
    Action,
    Change,
    Deletion,
    Key,
    Member,
    Organization,
    Record,
    Website,
)
from schemas.registry.sign_ins import RegistrySignIns
from schemas.registry.tombstones import TombstoneKey
from schemas.registry.tracker_ids import check_alias_name
from schemas.registry.transaction import RecordConflict, WriteTransaction
from schemas.runtime.clock import now_ms
from schemas.runtime.finding import Finding

HAS_OWNER = "the organization has an owner: ask for an invitation"
Equals = str | Sequence[str] | None
"""What a column equals: a value, one of several, or any (None)."""


class RecordNotFound(Exception):
    """The record does not exist."""


class RegistryStore:
    """Reads and writes of records; each write is one transaction. `migrate` creates the tables.

    Every call raises RegistryLost while the file of a SQLite registry is missing: it never creates
    a file and never writes to a removed one; it opens a file that replaced it.
    """

    def __init__(self, url: str, actor: str = "", clock: Callable[[], int] = now_ms) -> None:
        self._connections = RegistryConnections(url)
        self._actor = actor
        self._clock = clock

    def with_actor(self, actor: str) -> Self:
        """The same store with another actor for its writes."""
        other = copy(self)
        other._actor = actor
        return other

    def create(self, record: RecordT) -> RecordT:
        """Create a record; RecordConflict (id or slug in use, no owner) or RecordLimitReached."""
        with self._transaction() as transaction:
            _insert(transaction, record)
        return record

    def make_first_owner(self, account: Account, member: Member) -> None:
        """Create both; RecordConflict when there is an owner, or the address has an account."""
        with self._transaction() as transaction:
            if has_owner(transaction, member.organization_id):
                raise RecordConflict(HAS_OWNER)
            _insert(transaction, account)
            _insert(transaction, member)

    def accept_invitation(
        self, member: Member, invitation: str, account: Account, now_ms: int
    ) -> Member:
        """Give a member the account, which is created if there is none with its id.

        RecordNotFound when the invitation has ended or was accepted, RecordConflict.
        """
        table = RECORD_TABLES[Account]
        with self._transaction() as transaction:
            current = _lock(transaction, Member, member.id)
            if current.account_id is not None or current.invitation != invitation:
                raise RecordNotFound("the invitation has ended")
            there = sa.select(table.c.id).where(table.c.id == account.id)
            if transaction.connection.execute(there).first() is None:
                _insert(transaction, account)
            joined = {"account_id": account.id, "invitation": None, "updated_at": now_ms}
            return _change(transaction, Member, member.id, joined)

    def note(self, record: Record, *fields: str) -> None:
        """Append to the audit trail what was done about a record, though no field changed."""
        with self._transaction() as transaction:
            owner = owner_id(record)
            transaction.log_change(Action.UPDATE, type(record), record.id, owner, fields)

    def get(self, kind: type[RecordT], record_id: str) -> RecordT:
        """The record with this id; RecordNotFound."""
        table = RECORD_TABLES[kind]
        with self._connections.engine().connect() as connection:
            row = connection.execute(sa.select(table).where(table.c.id == record_id)).first()
        if row is None:
            raise RecordNotFound(f"no {kind_name(kind)} '{record_id}'")
        return to_record(kind, row._mapping)

    def list(
        self, kind: type[RecordT], *, limit: int | None = None, offset: int = 0, **where: Equals
    ) -> Sequence[RecordT]:
        """Records whose columns equal `where` (None: any), oldest first."""
        table = RECORD_TABLES[kind]
        query = sa.select(table).order_by(table.c.created_at, table.c.id)
        query = query.where(*_conditions(table, where))
        with self._connections.engine().connect() as connection:
            return read_records(connection, kind, query.limit(limit).offset(offset))

    def count(self, kind: type[RecordT], **where: Equals) -> int:
        """Number of records that `list` would return without a limit."""
        table = RECORD_TABLES[kind]
        query = sa.select(sa.func.count()).select_from(table).where(*_conditions(table, where))
        with self._connections.engine().connect() as connection:
            return int(connection.execute(query).scalar_one())

    def update(self, kind: type[RecordT], record_id: str, now_ms: int, **changes: Any) -> RecordT:
        """Update fields; RecordNotFound or RecordConflict. Equal values are no change."""
        with self._transaction() as transaction:
            return _change(transaction, kind, record_id, {**changes, "updated_at": now_ms})

    def revise(
        self, record: RecordT, now_ms: int, revision: Callable[[RecordT], RecordT]
    ) -> RecordT:
        """Replace a record by what `revision` makes of its current state, in one transaction.

        Fields that depend on each other stay consistent when two callers change them at once.
        RecordNotFound, RecordConflict, or the error of `revision`.
        """
        kind = type(record)
        with self._transaction() as transaction:
            current = _lock(transaction, kind, record.id)
            revised = revision(current)
            changes = {
                name: value
                for name, value in msgspec.structs.asdict(revised).items()
                if value != getattr(current, name)
            }
            return _change(transaction, kind, record.id, {**changes, "updated_at": now_ms})

    def replace_key(self, new: Key, old_id: str, until_ms: int, now_ms: int) -> Key:
        """Create a key and let an old one expire, in one transaction; returns the old one."""
        with self._transaction() as transaction:
            _insert(transaction, new)
            return _change(transaction, Key, old_id, {"expires_at": until_ms, "updated_at": now_ms})

    def record_key_uses(self, uses: Mapping[str, int]) -> None:
        """Write the last use of keys by id, unless another process wrote a later one."""
        table = RECORD_TABLES[Key]
        later = sa.or_(table.c.last_used_at.is_(None), table.c.last_used_at < sa.bindparam("at"))
        used = sa.update(table).where(table.c.id == sa.bindparam("key_id"), later)
        rows = [{"key_id": key_id, "at": at} for key_id, at in uses.items()]
        with self._connections.engine().begin() as connection:
            connection.execute(used.values(last_used_at=sa.bindparam("at")), rows)

    def update_progress(
        self, kind: type[RecordT], record_id: str, now_ms: int, **changes: Any
    ) -> None:
        """Update fields that services do not read; does not raise the revision."""
        table = RECORD_TABLES[kind]
        values = {**changes, "updated_at": now_ms}
        with self._connections.engine().begin() as connection:
            connection.execute(sa.update(table).where(table.c.id == record_id).values(values))

    def delete(self, kind: type[RecordT], record_id: str) -> None:
        """Delete a record and all that belongs to it; RecordNotFound.

        A website or an organization can be restored until its rows are purged.
        """
        with self._transaction() as transaction:
            if kind in RESTORABLE:
                add_deletion(transaction, _lock(transaction, kind, record_id), self._clock())
            if kind is Organization:
                _log_deleted_websites(transaction, record_id)
            _delete(transaction, kind, record_id)

    def remove_member(self, member_id: str) -> None:
        """Delete a member, and an account that belongs to no organization then.

        RecordNotFound; RecordConflict for the last owner.
        """
        members = RECORD_TABLES[Member]
        with self._transaction() as transaction:
            account_id = _delete(transaction, Member, member_id).account_id
            others = sa.select(members.c.id).where(members.c.account_id == account_id)
            if account_id and transaction.connection.execute(others).first() is None:
                _delete(transaction, Account, account_id)

    def restore_deleted(self, kind: type[RecordT], record_id: str) -> RecordT:
        """Bring back a deleted website or organization with all that belonged to it.

        RecordNotFound, RecordConflict or RecordLimitReached.
        """
        with self._transaction() as transaction:
            try:
                restore_deletion(transaction, record_id, kind, self._clock())
            except KeyError:
                raise RecordNotFound(f"no deleted {kind_name(kind)} '{record_id}'") from None
        return self.get(kind, record_id)

    def begin_purge(self, deletion: Deletion) -> bool:
        """Drop what would restore a deleted record; False when it was restored before."""
        with self._transaction() as transaction:
            return begin_purge(transaction, deletion)

    def forget_deletions(self, purged_before_ms: int) -> None:
        """Forget deletions whose rows were purged before this instant."""
        purged = database.DELETIONS.c.purged_at < purged_before_ms
        with self._connections.engine().begin() as connection:
            connection.execute(sa.delete(database.DELETIONS).where(purged))

    def require_current_schema(self) -> None:
        """SchemaMismatch, with what to do, when the tables are of another version of Tidemark."""
        with self._connections.engine().connect() as connection:
            require_current_schema(connection)

    def read_version(self) -> RegistryVersion:
        """The current version, which every write changes."""
        with self._connections.engine().connect() as connection:
            return read_version(connection)

    def read_contents(self) -> Contents:
        """All records, from one database snapshot."""
        with database.read_transaction(self._connections.engine()) as connection:
            return read_contents(connection)

    def read_changes_since(self, known: RegistryVersion) -> ChangesSince | None:
        """Changes since a version; None when all records have to be read."""
        with database.read_transaction(self._connections.engine()) as connection:
            return read_changes_since(connection, known)

    def changes(
        self,
        limit: int,
        organization_id: str | None = None,
        before: int | None = None,
        **where: str | None,
    ) -> Sequence[Change]:
        """Newest entries of the audit trail, newest first; see `read_changes`."""
        with self._connections.engine().connect() as connection:
            return read_changes(connection, limit, organization_id, before, where)

    def names_of(self, changes: Sequence[Change]) -> Sequence[Names | None]:
        """What the record of each entry is called, also deleted ones; see `read_names`."""
        with self._connections.engine().connect() as connection:
            return read_names(connection, changes)

    def accept(self, finding_id: str, details: Sequence[str]) -> None:
        """Record that an operator accepted a finding; `details` is what and why."""
        with self._transaction() as transaction:
            transaction.log_change(Action.ACCEPT, Finding, finding_id, None, details)

    def accepted(self) -> frozenset[str]:
        """Ids of accepted findings."""
        log = database.CHANGES
        query = sa.select(log.c.record_id).where(log.c.action == Action.ACCEPT.value)
        with self._connections.engine().connect() as connection:
            return frozenset(connection.execute(query).scalars())

    def sign_ins(self) -> RegistrySignIns:
        """What query processes share about sign-ins; it uses the connections of this store."""
        return RegistrySignIns(self._connections)

    def notices(self) -> RegistryNotices:
        """What alerts and reports tell; it uses the connections of this store."""
        return RegistryNotices(self._connections)

    def tombstone_key(self) -> TombstoneKey:
        """The key of tombstones, made from a secret of the registry."""
        return TombstoneKey(self._secret())

    def receipt_key(self) -> ReceiptKey:
        """The key of receipts, from which other secrets are made too."""
        return ReceiptKey(self._secret())

    def _secret(self) -> str:
        with self._connections.engine().connect() as connection:
            secret = connection.execute(sa.select(database.REVISION.c.receipt_secret))
            return str(secret.scalar_one())

    def truncate_log(self) -> None:
        """Write the log of a SQLite registry to its file: replaced values are gone from both.

        A reader may prevent it; then the next write does it.
        """
        engine = self._connections.engine()
        if engine.dialect.name == "sqlite":
            with engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._connections.close()

    def _transaction(self) -> WriteTransaction:
        return WriteTransaction(self._connections.engine(), self._actor, self._clock)


def _conditions(table: sa.Table, where: Mapping[str, Equals]) -> Iterator[sa.ColumnElement[bool]]:
    for column, value in where.items():
        if isinstance(value, str):
            yield table.c[column] == value
        elif value is not None:
            yield table.c[column].in_(value)


def _insert(transaction: WriteTransaction, record: Record) -> None:
    check_deleted_id(transaction, record)
    check_alias_name(transaction, record)
    transaction.connection.execute(sa.insert(RECORD_TABLES[type(record)]).values(to_row(record)))
    transaction.log_record(Action.CREATE, record)
    check_record_limit(transaction, record)


def _delete(transaction: WriteTransaction, kind: type[RecordT], record_id: str) -> RecordT:
    """The deleted record; RecordNotFound."""
    table = RECORD_TABLES[kind]
    deletion = sa.delete(table).where(table.c.id == record_id).returning(*table.c)
    row = transaction.connection.execute(deletion).first()
    if row is None:
        raise RecordNotFound(f"no {kind_name(kind)} '{record_id}'")
    deleted = to_record(kind, row._mapping)
    transaction.log_record(Action.DELETE, deleted)
    check_owner_stays(transaction, deleted)
    return deleted


def _lock(transaction: WriteTransaction, kind: type[RecordT], record_id: str) -> RecordT:
    """The record as it stays until the end of the transaction; RecordNotFound."""
    table = RECORD_TABLES[kind]
    unchanged = sa.update(table).where(table.c.id == record_id).values(id=table.c.id)
    row = transaction.connection.execute(unchanged.returning(*table.c)).first()
    if row is None:
        raise RecordNotFound(f"no {kind_name(kind)} '{record_id}'")
    return to_record(kind, row._mapping)


def _change(
    transaction: WriteTransaction, kind: type[RecordT], record_id: str, values: dict[str, Any]
) -> RecordT:
    """The changed record; as it was, `updated_at` included, if it has all these values."""
    table, before = RECORD_TABLES[kind], _lock(transaction, kind, record_id)
    if all(getattr(before, name) == values[name] for name in values if name != "updated_at"):
        return before
    changed = sa.update(table).where(table.c.id == record_id).values(to_column_values(values))
    row = transaction.connection.execute(changed.returning(*table.c)).one()
    record = to_record(kind, row._mapping)
    check_alias_name(transaction, record)
    check_owner_stays(transaction, before, record)
    transaction.log_record(Action.UPDATE, record, before)
    return record


def _log_deleted_websites(transaction: WriteTransaction, organization_id: str) -> None:
    """Log websites that are deleted with their organization: the doctor names their rows."""
    table = RECORD_TABLES[Website]
    owned = sa.delete(table).where(table.c.organization_id == organization_id)
    for row in transaction.connection.execute(owned.returning(*table.c)).all():
        transaction.log_record(Action.DELETE, to_record(Website, row._mapping))
