"""Retention: deletes the rows that are older than their website keeps, or whose website is gone.

Main tables go first, each file at most once a pass (`expiry.py` says when) and with corrections in
the ledger (`row_removal.py`); imported totals are no items, and have none. Then quarantine and
ledger, by the longest days of a website's tables: only where the ledger's counts of the deleted
days add up to no stored row, so that what stays is balanced, and never of the days for which
collectors have counts of their own.

A deleted website or organization is purged when it can no longer be restored: all its rows are due,
whatever their age. Its purge is over once no table has a row of it; late rows that were still in
Kafka are deleted for some days more, also those of an id that was used again, by time of receipt.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, structs

from schemas.kinds import AGING_TABLES, KINDS
from schemas.registry import DatabaseError, Link, Organization, RegistryStore, Website
from schemas.registry.contents import RegistryVersion
from schemas.registry.keep_days import DAY_MS, KeepBounds
from schemas.registry.records import Deletion
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import IMPORTED_TOTALS, LEDGER, QUARANTINE, Table
from stream.maintenance.expiry import (
    ALWAYS,
    NEVER,
    Expiry,
    OwnerDays,
    Subject,
    SubjectsByFile,
    candidates,
    side_limit_ms,
)
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.maintenance.rewrite import rewrite_files
from stream.maintenance.row_removal import Removal, removal_key, remove_rows, topic_of
from stream.maintenance.verification import undamaged_files
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable
from stream.storage.table_reader import open_readers, read_batches

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 3_600.0
LATE_ROWS_MS = 30 * DAY_MS
"""For so long after a purge rows that were still in Kafka are deleted."""
PURGED = "purged"
MAIN_TABLES = frozenset(table.name for table in AGING_TABLES)

HOUR_MS = 3_600_000

RegistryKey = tuple[RegistryVersion, int]
"""Version of the registry, and the hour."""


class Due(Struct, frozen=True):
    """What is due at one state of the registry and on one day."""

    days: OwnerDays
    deletions: Sequence[Deletion]
    """Deletions that can no longer be undone."""
    created_ms: Mapping[str, int]
    """When each website was created: one may have the id of a purged one."""

    def expiries(self, table: Table, at_ms: int) -> Sequence[Expiry]:
        """Which rows of a table to delete, for each reason."""
        is_main = table.name in MAIN_TABLES
        limit_ms = NEVER if is_main else side_limit_ms(at_ms)
        precision_ms = 1 if is_main else HOUR_MS  # the ledger counts by hour
        purged = {
            subject: min(self.created_ms.get(subject, NEVER), limit_ms)
            // precision_ms
            * precision_ms
            for deletion in self.deletions
            for subject in deletion.subjects
        }
        both = (
            Expiry(PURGED, purged, time_column="received_at" if is_main else "ts"),
            self.days.expiry(table, at_ms) if is_main else self.days.side_expiry(at_ms),
        )
        return [expiry for expiry in both if expiry]


class Retention:
    """The task: at most once an hour for each table, and when what is due has changed."""

    def __init__(
        self,
        clock: Callable[[], int] = now_ms,
        on_step: Callable[[str], None] = lambda step: None,  # noqa: ARG005
    ) -> None:
        """`on_step` is called after each commit; tests stop there."""
        self._clock = clock
        self._on_step = on_step
        self._store: RegistryStore | None = None
        self._due: tuple[RegistryKey, Due] | None = None
        self._expiries: dict[str, Sequence[Expiry]] = {}
        """Of each table at that state of the registry."""
        self._subjects = SubjectsByFile()
        self._done: dict[str, tuple[float, Sequence[Expiry]]] = {}
        """When each table was done, and what was due then."""

    def __call__(self, table: LakeTable, settings: Settings) -> None:
        if table.table.name == QUARANTINE.name:
            return  # with the ledger
        try:
            self._run(table, settings)
        except DatabaseError as error:
            log.warning("retention not read", extra={"reason": type(error).__name__})
        except Fenced as error:  # another commit went first; the next cycle retries
            log.info("rows not deleted yet", extra={"reason": str(error)})

    def _run(self, table: LakeTable, settings: Settings) -> None:
        store = self._store = self._store or RegistryStore(settings.registry_url, "keeper")
        at_ms = self._clock()
        due = self._read_due(store, settings, at_ms)
        if table.table.name not in self._expiries:
            self._expiries[table.table.name] = due.expiries(table.table, at_ms)
        expiries = self._expiries[table.table.name]
        done_at, done = self._done.get(table.table.name, (0.0, None))
        if done == expiries and time.monotonic() - done_at < INTERVAL_SECONDS:
            return
        if table.table.name == LEDGER.name:
            if not self._remove_side_rows(table, settings, expiries):
                return
            self._finish_purges(store, due, at_ms)
        else:
            self._remove_main_rows(table, settings, expiries)
        self._done[table.table.name] = time.monotonic(), expiries

    def _read_due(self, store: RegistryStore, settings: Settings, at_ms: int) -> Due:
        """What is due; read again when the registry has changed, and in a new hour."""
        key = store.read_version(), at_ms // HOUR_MS
        if self._due is None or self._due[0] != key:
            due = read_due(store, settings, at_ms)
            deletions = [one for one in due.deletions if store.begin_purge(one)]
            self._due = key, structs.replace(due, deletions=deletions)
            self._expiries.clear()
        return self._due[1]

    def _remove_main_rows(
        self, table: LakeTable, settings: Settings, expiries: Sequence[Expiry]
    ) -> None:
        subject = table.table.subject_column
        for expiry in expiries:
            data_files = self._due_files(table, expiry)
            if not data_files:
                continue
            if table.table is IMPORTED_TOTALS:  # no items that the ledger has counted
                rewrite_files(table, data_files, partial(_kept_rows, expiry, subject))
                self._on_step("rewrite")
                continue
            removal = Removal(
                expiry.reason,
                (subject, expiry.time_column),
                partial(expiry.causes, subject_column=subject),
            )
            ledger = LakeTable(settings, LEDGER)
            topic = topic_of(settings, table.table)
            removed = remove_rows(table, ledger, topic, data_files, removal, self._on_step)
            log.info(
                "rows deleted",
                extra={
                    "table": table.table.name,
                    "reason": expiry.reason,
                    "rows": removed.rows.total(),
                    "files": removed.files,
                },
            )

    def _due_files(self, table: LakeTable, expiry: Expiry) -> Sequence[LiveDataFile]:
        """The data files to rewrite or to remove now."""
        table.refresh()
        due = {
            name
            for name, (_, subjects) in candidates(table, expiry, self._subjects).items()
            if expiry.is_rewrite_due(subjects)
        }
        if not due:
            return ()
        live = undamaged_files(table, live_data_files(table.handle, table.table))
        return [file for file in live if file.path.rpartition("/")[2] in due]

    def _remove_side_rows(
        self, ledger: LakeTable, settings: Settings, expiries: Sequence[Expiry]
    ) -> bool:
        """Delete rows of quarantine and ledger; False when the main tables must be done first."""
        if not self._done.keys() >= MAIN_TABLES:
            return False
        ledger.refresh()
        if _has_open_removal(ledger, settings):
            return False
        for expiry in expiries:
            balanced = self._balanced(expiry, ledger, settings)
            quarantine = LakeTable(settings, QUARANTINE)
            for side in (quarantine, ledger):
                data_files = self._due_files(side, balanced)
                rewrite_files(side, data_files, partial(_kept_rows, balanced, "subject_id"))
                if data_files:
                    self._on_step(side.table.name)
        return True

    def _balanced(self, expiry: Expiry, ledger: LakeTable, settings: Settings) -> Expiry:
        """The same without subjects of whose due days the ledger counts stored rows.

        Their rows are still in a main table, such as in a damaged data file.
        """
        topics = [settings.topic(kind.topic) for kind in KINDS]
        stored: Counter[tuple[str, Subject]] = Counter()
        for data_file, _ in candidates(ledger, expiry, self._subjects).values():
            columns = ("subject_id", "ts", "topic", "stored")
            for batch in read_batches(ledger.handle, LEDGER, [data_file], columns):
                rows = pa.Table.from_batches([batch])
                due = rows.filter(pc.is_valid(expiry.causes(rows, "subject_id")))
                for row in due.to_pylist():
                    stored[row["topic"], row["subject_id"]] += row["stored"]
        unbalanced = {
            subject for (topic, subject), rows in stored.items() if topic in topics and rows
        }
        if unbalanced:
            log.warning("ledger not shortened", extra={"subjects": len(unbalanced)})
        kept = {subject: ALWAYS for subject in unbalanced if subject is not None}
        return structs.replace(
            expiry,
            kept_from={**expiry.kept_from, **kept},
            default=ALWAYS if None in unbalanced else expiry.default,
        )

    def _finish_purges(self, store: RegistryStore, due: Due, at_ms: int) -> None:
        """Note which purges are over: with every table done since they were due."""
        purged = [
            {name for one in expiries if one.reason == PURGED for name in one.kept_from}
            for _, expiries in (self._done[name] for name in MAIN_TABLES)
        ]
        for deletion in due.deletions:
            if deletion.purged_at is None and all(
                purged_set >= {*deletion.subjects} for purged_set in purged
            ):
                store.update_progress(Deletion, deletion.id, at_ms, purged_at=at_ms)
                log.info("purged", extra={"record": deletion.id, "kind": deletion.record_kind})
                self._due = None
        store.forget_deletions(at_ms - LATE_ROWS_MS)


def read_due(store: RegistryStore, settings: Settings, at_ms: int) -> Due:
    """What is due by the registry."""
    ended = at_ms - settings.purge_days * DAY_MS
    websites = store.list(Website)
    return Due(
        OwnerDays.of_registry(
            store.list(Organization),
            websites,
            store.list(Link),
            KeepBounds.of_settings(settings),
        ),
        [deletion for deletion in store.list(Deletion) if deletion.created_at <= ended],
        {website.id: website.created_at for website in websites},
    )


def read_expiries(settings: Settings, table: Table) -> Sequence[Expiry]:
    """Which rows of a table are due now; none while the registry cannot be read."""
    store, at_ms = RegistryStore(settings.registry_url), now_ms()
    try:
        return read_due(store, settings, at_ms).expiries(table, at_ms)
    except DatabaseError as error:
        log.warning("retention not read", extra={"reason": type(error).__name__})
        return ()
    finally:
        store.close()


def _has_open_removal(ledger: LakeTable, settings: Settings) -> bool:
    """Whether the ledger has corrections of a removal that a main table does not have."""
    mains = open_readers(settings, (kind.table for kind in KINDS))
    keys = {name: removal_key(topic_of(settings, main.table)) for name, main in mains.items()}
    return any(mains[name].number(key) < ledger.next_offset(key) for name, key in keys.items())


def _kept_rows(expiry: Expiry, subject_column: str, batch: pa.Table) -> pa.Table:
    """The rows that are not due."""
    return batch.filter(pc.is_null(expiry.causes(batch, subject_column)))
