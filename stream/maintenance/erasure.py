"""Erases rows: the task that removes what the registry's erasures name, for good.

| state     | what a cycle of the keeper does                                             |
|-----------|-----------------------------------------------------------------------------|
| pending   | removes matching rows from every table, all erasures of a table in one pass |
| pending   | finds no matching row in any table: `rewritten`                             |
| rewritten | waits until replaced data files may be deleted, looks for rows once more    |
| rewritten | deletes replaced data files: `done`                                         |
| counting  | counts matching rows, for a dry run: `counted`                              |

Rows match by tombstones, as in the workers, which drop what is sent later. A worker that wrote a
batch before it saw the tombstone is why an erasure is not `rewritten` before a pass without a
match, some seconds after its creation. A data file is searched once: it never changes.

Erasing a profile erases the visitors that were identified with it last, too, but for their rows
that name another profile. They are added to the record before a row is removed, because the
identities that say so are removed as well.

A table that was restored from a backup has removed fewer rows than the report of an erasure says:
the erasure is repeated, by its tombstones.

A quarantined item with the value stays as an entry without payload, so that counts still agree.
"""

import base64
import binascii
import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from schemas.kafka.topic_configuration import SEGMENT_HOURS
from schemas.kinds import DERIVED_TABLES, KINDS, TABLES, lake_tables
from schemas.lake.committed_offsets import SNAPSHOT_MAX_AGE_SECONDS
from schemas.lake.delta_table import read_version
from schemas.lake.object_store import is_object_store
from schemas.lake.retention import table_retention
from schemas.registry import (
    DatabaseError,
    Erasure,
    ErasureState,
    RecordNotFound,
    RegistryStore,
    Selector,
    Snapshot,
)
from schemas.registry.tombstones import Tombstones, tombstones_of
from schemas.runtime.clock import format_instant, now_ms
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS, IDENTITIES, LEDGER, QUARANTINE
from stream.maintenance.derivation import compare
from stream.maintenance.merge_plan import LiveDataFile, live_data_files
from stream.maintenance.rewrite import read_batches, rewrite_files
from stream.maintenance.row_removal import (
    Removal,
    count_rows,
    remove_rows,
    removed_key,
    topic_of,
)
from stream.maintenance.verification import DamagedFileError, undamaged_files, verified_files
from stream.rows.erased_rows import (
    ERASED_REASON,
    erasure_ids,
    payload_erasure,
    value_columns,
)
from stream.runtime.errors import Fenced
from stream.storage.delta_commit import LakeTable, OffsetUpdate
from stream.storage.table_reader import read_batches as read_table

log = logging.getLogger(__name__)

SETTLE_MS = 5_000
"""After so long every worker has the tombstones and has ended the batch that it wrote before."""
HOUR_MS = 3_600_000
BUCKET_COPIES = "noncurrent versions and incomplete uploads, by the bucket's lifecycle rules"
"""What a bucket may keep by its own settings; nobody but its owner can delete it."""

SEARCHED = frozenset((*(kind.table.name for kind in KINDS), QUARANTINE.name))
"""The tables that may have erased values; derived ones follow from their source."""
IDENTITY_COLUMNS = (
    *("website_id", "anonymous_id", "profile_id", "trusted", "sender"),
    *("ts", "epoch", "kafka_partition", "kafka_offset", "seq"),
)


class ErasureTask:
    """Carries out the erasures of the registry."""

    def __init__(self, settle_ms: int | None = None) -> None:
        self._settle_ms = SETTLE_MS if settle_ms is None else settle_ms
        self._store: RegistryStore | None = None
        self._snapshot: Snapshot | None = None
        self._tables: dict[str, LakeTable] = {}
        self._searched: dict[str, set[str]] = {}
        """Paths of the data files that were searched, by erasure id."""
        self._clean: dict[str, set[str]] = {}
        """Names of the tables without a matching row, by erasure id."""
        self._compared: set[str] = set()
        """Names of the tables whose numbers of removed rows were compared with the reports."""
        self._files: Counter[str] = Counter()
        """Data files that were replaced, by erasure id."""

    def __call__(self, table: LakeTable, settings: Settings) -> None:
        self._tables[table.table.name] = table
        try:
            store, snapshot = self._registry(settings)
            if table.table.name not in self._compared:
                self._repeat_restored(table, store, snapshot)
                _, snapshot = self._registry(settings)
            active = [
                erasure
                for erasure in snapshot.erasures.values()
                if erasure.state in (ErasureState.PENDING, ErasureState.COUNTING)
                or _is_vacuum_due(erasure, settings)
            ]
            if not active:
                return
            if table.table is EVENTS and self._resolve_profiles(settings, store, active):
                _, snapshot = self._registry(settings)
                active = [snapshot.erasures[erasure.id] for erasure in active]
            active = [erasure for erasure in active if not _is_unresolved(erasure)]
            if table.table is LEDGER:
                self._count(store, snapshot, [e for e in active if e.state.is_dry_run])
            active = [erasure for erasure in active if not erasure.state.is_dry_run]
            if not active:
                return
            if table.table.name in SEARCHED:
                self._search(table, settings, store, snapshot, active)
            elif table.table is LEDGER:  # the last table of a cycle
                self._finish(settings, store, active)
        except (RecordNotFound, KeyError) as error:  # deleted with its website meanwhile
            log.info("not erased", extra={"reason": str(error)})
        except DatabaseError as error:
            log.warning("erasures not readable", extra={"reason": type(error).__name__})
        except Fenced as error:  # another commit went first; the next cycle retries
            log.info("not erased yet", extra={"reason": str(error)})

    def close(self) -> None:
        """Close the connections to the registry."""
        if self._store is not None:
            self._store.close()

    def _registry(self, settings: Settings) -> tuple[RegistryStore, Snapshot]:
        store = self._store = self._store or RegistryStore(settings.registry_url, "keeper")
        if self._snapshot is None or store.read_version() != self._snapshot.version:
            self._snapshot = Snapshot.read(store)
        return store, self._snapshot

    def _repeat_restored(self, table: LakeTable, store: RegistryStore, snapshot: Snapshot) -> None:
        """Repeat the erasures of which a table has removed fewer rows than their reports say.

        Such a table was restored from a backup since; the keeper does not run meanwhile.
        """
        for erasure in snapshot.erasures.values():
            reported = erasure.report.get("rows", {}).get(table.table.name, 0)
            is_over = erasure.state in (ErasureState.REWRITTEN, ErasureState.DONE)
            if is_over and table.next_offset(removed_key(erasure.id)) < reported:
                store.update(Erasure, erasure.id, now_ms(), state=ErasureState.PENDING)
                fields = {"erasure_id": erasure.id, "table": table.table.name}
                log.warning("erasure repeated: the table is from before it", extra=fields)
        self._compared.add(table.table.name)

    def _resolve_profiles(
        self, settings: Settings, store: RegistryStore, active: Sequence[Erasure]
    ) -> bool:
        """Add the visitors of profiles to their erasures; whether there were any to resolve."""
        unresolved = [erasure for erasure in active if _is_unresolved(erasure)]
        if not unresolved or self._snapshot is None:
            return False
        key = self._snapshot.tombstones.key
        profiles = _profiles_of_visitors(LakeTable(settings, IDENTITIES))
        for erasure in unresolved:
            subjects = set(_subjects(erasure, self._snapshot))
            visitors = {
                visitor
                for (website_id, visitor), profile in profiles.items()
                if website_id in subjects
                and key.tombstone(Selector.PROFILE, profile) in erasure.value_hashes
            }
            hashes = (key.tombstone(Selector.DEVICE, visitor) for visitor in sorted(visitors))
            values = [f"{Selector.DEVICE}:{visitor}" for visitor in sorted(visitors)]
            if erasure.state.is_dry_run:
                values.clear()
            store.update(
                Erasure,
                erasure.id,
                now_ms(),
                value_hashes=(*erasure.value_hashes, *hashes),
                erased_values=(*erasure.erased_values, *values),
                report={**erasure.report, "visitors": len(visitors)},
            )
        return True

    def _count(self, store: RegistryStore, snapshot: Snapshot, dry_runs: Sequence[Erasure]) -> None:
        """Count the rows of dry runs, each by itself."""
        for erasure in dry_runs:
            as_pending = structs.replace(erasure, state=ErasureState.PENDING)
            tombstones = self._tombstones(snapshot, [as_pending])
            subjects = set(_subjects(erasure, snapshot))
            rows: dict[str, int] = {}
            for name in sorted(SEARCHED):
                table = self._tables[name]
                live = live_data_files(table.handle, table.table)
                data_files = [f for f in live if _may_contain(f, subjects)]
                if table.table is QUARANTINE:
                    counts, _ = _payloads(table, data_files, tombstones)
                else:
                    removal = _removal(table, tombstones)
                    counts = count_rows(table, data_files, removal).rows
                if counts:
                    rows[name] = counts.total()
            report = {**erasure.report, "rows": rows}
            counted = ErasureState.COUNTED
            store.update(
                Erasure, erasure.id, now_ms(), state=counted, report=report, value_hashes=()
            )

    def _tombstones(self, snapshot: Snapshot, erasures: Sequence[Erasure]) -> Tombstones:
        key = snapshot.tombstones.key
        return tombstones_of(erasures, snapshot.websites, snapshot.links, key)

    def _search(
        self,
        table: LakeTable,
        settings: Settings,
        store: RegistryStore,
        snapshot: Snapshot,
        active: Sequence[Erasure],
    ) -> None:
        """Remove the rows of a table that match, and note for which erasures there were none."""
        started_ms = now_ms()
        table.refresh()
        tombstones = self._tombstones(snapshot, active)
        wanted = {erasure.id: set(_subjects(erasure, snapshot)) for erasure in active}
        subjects = frozenset[str]().union(*wanted.values())
        live = [
            data_file
            for data_file in live_data_files(table.handle, table.table)
            if _may_contain(data_file, subjects)
        ]
        searched = [self._searched.setdefault(erasure.id, set()) for erasure in active]
        data_files = [
            data_file
            for data_file in undamaged_files(table, live)
            if not all(data_file.path in paths for paths in searched)
        ]
        rows, files = self._remove(table, settings, data_files, tombstones)
        for erasure in active:
            self._searched[erasure.id].update(data_file.path for data_file in data_files)
            clean = self._clean.setdefault(erasure.id, set())
            is_complete = len(undamaged_files(table, live)) == len(live)
            if is_complete and not rows[erasure.id] and started_ms > self._settled_ms(erasure):
                clean.add(table.table.name)
            else:
                clean.discard(table.table.name)
            if rows[erasure.id]:
                self._files[erasure.id] += files
                if erasure.state is ErasureState.REWRITTEN:  # a worker stopped for long wrote them
                    store.update(Erasure, erasure.id, now_ms(), state=ErasureState.PENDING)
        if rows:
            fields = {"table": table.table.name, "rows": rows.total(), "files": files}
            log.info("erased", extra=fields)

    def _remove(
        self,
        table: LakeTable,
        settings: Settings,
        data_files: Sequence[LiveDataFile],
        tombstones: Tombstones,
    ) -> tuple[Counter[str], int]:
        """Rows by erasure id, and the number of replaced data files."""
        if table.table is QUARANTINE:
            return _remove_payloads(table, data_files, tombstones)
        removed = remove_rows(
            table,
            LakeTable(settings, LEDGER),
            topic_of(settings, table.table),
            data_files,
            _removal(table, tombstones),
        )
        return removed.rows, removed.files

    def _finish(self, settings: Settings, store: RegistryStore, active: Sequence[Erasure]) -> None:
        """Move the erasures on of which no table has a matching row."""
        clean = [e for e in active if self._clean.get(e.id, set()) >= SEARCHED]
        if not clean or self._has_outdated_derived_files(settings):
            return
        pending = [e for e in clean if e.state is ErasureState.PENDING]
        rewritten = [e for e in clean if e.state is ErasureState.REWRITTEN]
        if pending:
            time.sleep(SNAPSHOT_MAX_AGE_SECONDS)  # then no query that starts sees their rows
        for erasure in pending:
            if erasure.link_id is None:
                store.notices().forget_rows(erasure.organization_id, erasure.website_id)
            self._update(store, erasure, ErasureState.REWRITTEN, self._report(erasure, settings))
        if rewritten:
            for lake_table in lake_tables():
                handle = LakeTable(settings, lake_table).handle
                handle.vacuum(dry_run=False)
            for erasure in rewritten:
                report = {**erasure.report, "doneAt": format_instant(now_ms())}
                self._update(store, erasure, ErasureState.DONE, report, erased_values=())
                self._searched.pop(erasure.id, None)
            store.truncate_log()

    def _update(
        self,
        store: RegistryStore,
        erasure: Erasure,
        state: ErasureState,
        report: Mapping[str, Any],
        **changes: Any,
    ) -> None:
        self._clean.pop(erasure.id, None)
        store.update(Erasure, erasure.id, now_ms(), state=state, report=report, **changes)
        log.info("erasure moved on", extra={"erasure_id": erasure.id, "state": state.value})

    def _report(self, erasure: Erasure, settings: Settings) -> Mapping[str, Any]:
        """What was removed so far, by the numbers of the tables."""
        key = removed_key(erasure.id)
        rows = {name: table.next_offset(key) for name, table in self._tables.items()}
        at = now_ms()
        earlier = int(erasure.report.get("files", 0))
        return {
            **erasure.report,
            "rows": {name: count for name, count in sorted(rows.items()) if count},
            "files": earlier + self._files.pop(erasure.id, 0),
            "versions": {
                name: table.handle.version()
                for name, table in sorted(self._tables.items())
                if rows[name]
            },
            "rewrittenAt": format_instant(at),
            "rewrittenMs": at,
            "filesDeletedFrom": format_instant(at + _file_ms(settings)),
            "kafkaCopyUntil": format_instant(
                erasure.created_at + (settings.retention_hours + SEGMENT_HOURS) * HOUR_MS
            ),
            **_spool_copy(erasure, settings),
            **({"bucketCopies": BUCKET_COPIES} if is_object_store(settings.lake_url) else {}),
        }

    def _settled_ms(self, erasure: Erasure) -> int:
        """From when a search sees all rows that workers wrote without knowing of all values."""
        return erasure.updated_at + self._settle_ms

    def _has_outdated_derived_files(self, settings: Settings) -> bool:
        """Whether a derived table still has files of replaced ones: a task of it failed."""
        return any(
            compare(
                derived,
                LakeTable(settings, derived.source),
                LakeTable(settings, derived.table),
                settings.small_parts,
            ).outdated
            for derived in DERIVED_TABLES
        )


def carry_out(settings: Settings) -> Mapping[str, ErasureState]:
    """Carry out the pending erasures of tables that nobody else reads or writes.

    The state of each afterwards. One stays pending when a damaged data file may have its rows.
    """
    store = RegistryStore(settings.registry_url, "keeper")
    try:
        pending = [e.id for e in store.list(Erasure) if e.state is ErasureState.PENDING]
        if pending:
            task = ErasureTask(settle_ms=-1)
            tables = [LakeTable(settings, table) for table in TABLES]
            for _ in range(CARRY_OUT_CYCLES):
                for table in tables:
                    _run_past_damage(task, table, settings)
            task.close()
        return {erasure_id: store.get(Erasure, erasure_id).state for erasure_id in pending}
    finally:
        store.close()


CARRY_OUT_CYCLES = 2
"""One removes rows, the next finds none."""


def _run_past_damage(task: ErasureTask, table: LakeTable, settings: Settings) -> None:
    """Run a task, again after each damaged data file: it is left out once it was reported."""
    while True:
        try:
            task(table, settings)
        except DamagedFileError as error:
            log.warning("data file not searched", extra={"reason": str(error)})
        else:
            return


def _removal(table: LakeTable, tombstones: Tombstones) -> Removal:
    return Removal(
        ERASED_REASON,
        value_columns(table.table),
        lambda batch: erasure_ids(batch, table.table, tombstones),
    )


def _is_unresolved(erasure: Erasure) -> bool:
    """Whether the visitors of a profile are not known yet: one created during a cycle."""
    return erasure.selector is Selector.PROFILE and "visitors" not in erasure.report


def _spool_copy(erasure: Erasure, settings: Settings) -> Mapping[str, str]:
    """Until when collectors may have requests of before on disk, if they have a spool."""
    if not settings.spool_mb:
        return {}
    until = erasure.created_at + int(settings.spool_hours * HOUR_MS)
    return {"spoolCopyUntil": str(format_instant(until))}


def _file_ms(settings: Settings) -> int:
    return table_retention(settings).file_minutes * 60_000


def _is_vacuum_due(erasure: Erasure, settings: Settings) -> bool:
    """Whether the data files that an erasure replaced may be deleted."""
    if erasure.state is not ErasureState.REWRITTEN:
        return False
    return now_ms() > int(erasure.report.get("rewrittenMs", 0)) + _file_ms(settings)


def _subjects(erasure: Erasure, snapshot: Snapshot) -> Iterator[str]:
    """The websites and links of an erasure."""
    if subject := erasure.website_id or erasure.link_id:
        yield subject
        return
    yield erasure.organization_id  # of items without a website
    yield from snapshot.websites_by_organization.get(erasure.organization_id, ())
    for link in snapshot.links.values():
        if link.organization_id == erasure.organization_id:
            yield link.id


def _may_contain(data_file: LiveDataFile, subjects: Collection[str]) -> bool:
    """Whether a data file may have rows of one of these subjects, by its statistics."""
    bounds = data_file.subjects
    return bounds is None or any(bounds[0] <= subject <= bounds[1] for subject in subjects)


def _profiles_of_visitors(table: LakeTable) -> Mapping[tuple[str, str], str]:
    """The profile that each visitor of each website was identified with last.

    As in queries (`query/scope/profiles.py`): once an API key has sent one, only such rows count.
    """
    last: dict[tuple[str, str], tuple[tuple[Any, ...], str]] = {}
    data_files = read_version(table.handle, IDENTITIES).data_files
    for batch in read_table(table.handle, IDENTITIES, data_files, IDENTITY_COLUMNS):
        columns = (batch.column(name).to_pylist() for name in IDENTITY_COLUMNS)
        for website_id, visitor, profile, trusted, sender, ts, epoch, *offsets in zip(
            *columns, strict=True
        ):
            if visitor is None or profile is None:
                continue
            is_trusted = bool(trusted) or (trusted is None and '"trusted":true' in (sender or ""))
            order = (is_trusted, ts, epoch or 0, *offsets)
            key = website_id, visitor
            if key not in last or last[key][0] < order:
                last[key] = order, profile
    return {key: profile for key, (_, profile) in last.items()}


def _payloads(
    table: LakeTable, data_files: Iterable[LiveDataFile], tombstones: Tombstones
) -> tuple[Counter[str], list[LiveDataFile]]:
    """Quarantine entries that have an erased value by erasure id, and their data files."""
    affected: list[LiveDataFile] = []
    counts = Counter[str]()
    for data_file in data_files:
        of_file = Counter[str]()
        with verified_files(table, [data_file]) as (file,):
            for rows in read_batches(table.table, file, columns=("subject_id", "payload")):
                of_file.update(_payload_erasures(rows, tombstones).drop_null().to_pylist())
        if of_file:
            affected.append(data_file)
            counts.update(of_file)
    return counts, affected


def _remove_payloads(
    table: LakeTable, data_files: Iterable[LiveDataFile], tombstones: Tombstones
) -> tuple[Counter[str], int]:
    """Replace quarantine entries that have an erased value by entries without payload."""
    counts, affected = _payloads(table, data_files, tombstones)
    table.refresh()
    updates = {
        removed_key(erasure_id): OffsetUpdate(before, before + count)
        for erasure_id, count in counts.items()
        for before in (table.next_offset(removed_key(erasure_id)),)
    }
    rewrite_files(
        table, affected, lambda rows: _without_payloads(rows, tombstones), updates=updates
    )
    return counts, len(affected)


def _payload_erasures(rows: pa.Table, tombstones: Tombstones) -> pa.Array:
    """The id of an erasure of each entry whose payload has an erased value."""
    ids = []
    columns = rows["subject_id"].to_pylist(), rows["payload"].to_pylist()
    for subject, payload in zip(*columns, strict=True):
        of_subject = tombstones.of_subject(subject)
        decoded = _decoded(payload or "") if of_subject else b""
        ids.append(payload_erasure(decoded, of_subject, tombstones.key))
    return pa.array(ids, pa.string())


def _without_payloads(rows: pa.Table, tombstones: Tombstones) -> pa.Table:
    is_erased = pc.is_valid(_payload_erasures(rows, tombstones))
    for name, text in (("payload", ""), ("reason", ERASED_REASON)):
        index = rows.schema.get_field_index(name)
        replaced = pc.if_else(is_erased, pa.scalar(text), rows[name])
        rows = rows.set_column(index, rows.schema.field(index), replaced)
    return rows


def _decoded(payload: str) -> bytes:
    try:
        return base64.b64decode(payload)
    except (binascii.Error, ValueError):
        return b""
