"""Which rows of a table are due for deletion by age, and which data files have them.

The age of a row counts by its event time (`ts`), so that imported history is as old as it says: it
is due when it happened before the first day (UTC) that its website keeps. The keeper rewrites a
data file when all rows of a website in it are due, or some have been for a week: a file of one day
is rewritten once for each number of days that its websites keep, and a file of imported history,
through which the border moves from day to day, at most once a week.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from schemas.acknowledged_counts import RETENTION_HOURS
from schemas.kinds import KINDS
from schemas.lake.delta_table import DataFile, read_version
from schemas.registry import Link, Organization, Website
from schemas.registry.keep_days import KeepBounds, KeepDays, midnight_ms_before
from schemas.tables import Table
from stream.storage.delta_commit import LakeTable
from stream.storage.table_reader import TableReader, read_batches

DAY_MS = 86_400_000
WAIT_MS = 7 * DAY_MS
"""For so long due rows stay in a file whose website has rows in it that are not due."""
ALWAYS, NEVER = 0, 2**53
"""Rows before such an instant: none, or all."""
MAX_CACHED_SUBJECTS = 200_000

Subject = str | None
OpenTable = LakeTable | TableReader


class SubjectRows(NamedTuple):
    """The rows of one subject in one data file."""

    rows: int
    first_ms: int
    last_ms: int


FileSubjects = Mapping[Subject, SubjectRows]


class Expiry(Struct, frozen=True, dict=True):
    """From when the rows of each subject are kept in one table."""

    reason: str
    """The drop reason in the ledger."""
    kept_from: Mapping[str, int]
    """Unix milliseconds by subject; rows before are due."""
    default: int = ALWAYS
    """That of subjects that are not listed."""
    time_column: str = "ts"
    """The time that the age of a row counts by."""

    def __bool__(self) -> bool:
        return self.default > ALWAYS or any(self.kept_from.values())

    def of(self, subject: Subject) -> int:
        """From when the rows of a subject are kept."""
        return self.default if subject is None else self.kept_from.get(subject, self.default)

    def newest(self, data_file: DataFile) -> int:
        """The latest such instant of the subjects that a data file may have."""
        subjects = self._subjects
        if data_file.subject_range is None:
            candidates = subjects
        else:
            first, last = data_file.subject_range
            candidates = subjects[bisect_left(subjects, first) : bisect_right(subjects, last)]
        return max([self.default, *(self.kept_from[subject] for subject in candidates)])

    def is_rewrite_due(self, subjects: FileSubjects) -> bool:
        """Whether it is time to rewrite a data file with these rows, or to remove it."""
        return any(
            rows.last_ms < self.of(name) or rows.first_ms < self.of(name) - WAIT_MS
            for name, rows in subjects.items()
        )

    def causes(self, batch: pa.Table, subject_column: str) -> pa.Array:
        """The reason for each due row; null for the others."""
        subjects = batch[subject_column].combine_chunks().dictionary_encode()
        kept_us = pa.array([self.of(name) * 1000 for name in subjects.dictionary.to_pylist()])
        kept_us = pc.fill_null(kept_us.cast(pa.int64()).take(subjects.indices), self.default * 1000)
        is_due = pc.less(batch[self.time_column].combine_chunks().cast(pa.int64()), kept_us)
        reason = pa.scalar(self.reason, pa.string())
        return pc.if_else(is_due, reason, pa.scalar(None, pa.string()))

    @cached_property
    def _subjects(self) -> Sequence[str]:
        return sorted(self.kept_from)


class OwnerDays(Struct, frozen=True):
    """The days to keep of every website and link: its own, and those of its organization."""

    by_subject: Mapping[str, Sequence[KeepDays]]
    bounds: KeepBounds

    @classmethod
    def of_registry(
        cls,
        organizations: Sequence[Organization],
        websites: Sequence[Website],
        links: Sequence[Link],
        bounds: KeepBounds,
    ) -> "OwnerDays":
        of_owner = {organization.id: organization.keep_days for organization in organizations}
        by_website = {w.id: (w.keep_days, of_owner.get(w.organization_id, {})) for w in websites}
        by_link = {link.id: (of_owner.get(link.organization_id, {}),) for link in links}
        return cls({**by_website, **by_link}, bounds)

    def days(self, table: Table, subject: str) -> int | None:
        """Days for which a table keeps the rows of a subject; None: for ever."""
        return self.bounds.days_of(table.name, *self.by_subject.get(subject, ()))

    def expiry(self, table: Table, now_ms: int) -> Expiry:
        """Which rows of a main table are due now."""
        default = _kept_from(self.bounds.days_of(table.name), now_ms)
        kept = {name: _kept_from(self.days(table, name), now_ms) for name in self.by_subject}
        listed = {name: instant for name, instant in kept.items() if instant != default}
        return Expiry("expired", listed, default)

    def side_expiry(self, now_ms: int) -> Expiry:
        """Which rows of quarantine and ledger are due now: some days after those of all tables.

        Subjects that cannot be read are kept for as long as the longest of all.
        """
        expiries = [self.expiry(kind.table, now_ms) for kind in KINDS]
        kept = {name: min(one.of(name) for one in expiries) for name in self.by_subject}
        default = min(one.default for one in expiries)
        longest = min([default, *kept.values()])

        def later(instant: int) -> int:
            return max(min(instant - WAIT_MS - DAY_MS, side_limit_ms(now_ms)), ALWAYS)

        listed = {name: later(instant) for name, instant in kept.items()}
        return Expiry("expired", listed, later(longest))


def side_limit_ms(now_ms: int) -> int:
    """From when all rows of quarantine and ledger are kept: collectors' counts are compared."""
    return midnight_ms_before(RETENTION_HOURS // 24 + 1, now_ms)


def _kept_from(days: int | None, now_ms: int) -> int:
    return ALWAYS if days is None else max(midnight_ms_before(days, now_ms), ALWAYS)


class SubjectsByFile:
    """The subjects of data files with their rows; a file is read once, as it never changes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], FileSubjects] = {}
        self._subjects = 0

    def of(self, table: OpenTable, data_file: DataFile, time_column: str) -> FileSubjects:
        """The subjects of one data file, with their first and last time."""
        key = data_file.path, time_column
        if key not in self._known:
            if self._subjects > MAX_CACHED_SUBJECTS:
                self._known, self._subjects = {}, 0
            self._known[key] = _read_subjects(table, data_file, time_column)
            self._subjects += len(self._known[key])
        return self._known[key]


def _read_subjects(table: OpenTable, data_file: DataFile, time: str) -> FileSubjects:
    subject = table.table.subject_column
    subjects: dict[Subject, SubjectRows] = {}
    for batch in read_batches(table.handle, table.table, [data_file], (subject, time)):
        grouped = pa.Table.from_batches([batch]).group_by(subject)
        sums = grouped.aggregate([(time, "count"), (time, "min"), (time, "max")])
        for row in sums.to_pylist():
            first, last = (
                round(row[f"{time}_{name}"].timestamp() * 1000) for name in ("min", "max")
            )
            rows = SubjectRows(row[f"{time}_count"], first, last)
            if (seen := subjects.get(row[subject])) is not None:
                rows = SubjectRows(
                    seen.rows + rows.rows,
                    min(seen.first_ms, rows.first_ms),
                    max(seen.last_ms, rows.last_ms),
                )
            subjects[row[subject]] = rows
    return subjects


class DueRows(NamedTuple):
    """Rows that are due, and their share of the bytes of their data files."""

    rows: int
    bytes: int


def due_rows(table: OpenTable, expiry: Expiry) -> Mapping[Subject, DueRows]:
    """The due rows of each subject, also of files whose rewrite waits."""
    due: dict[Subject, DueRows] = {}
    columns = (table.table.subject_column, expiry.time_column)
    for data_file in _due_files(table, expiry):
        counts: Counter[Subject] = Counter()
        for batch in read_batches(table.handle, table.table, [data_file], columns):
            rows = pa.Table.from_batches([batch])
            is_due = pc.is_valid(expiry.causes(rows, table.table.subject_column))
            counts.update(rows.filter(is_due)[table.table.subject_column].to_pylist())
        for subject, count in counts.items():
            before = due.get(subject, DueRows(0, 0))
            size = round(data_file.size * count / data_file.rows)
            due[subject] = DueRows(before.rows + count, before.bytes + size)
    return due


def candidates(
    table: OpenTable, expiry: Expiry, subjects: SubjectsByFile
) -> Mapping[str, tuple[DataFile, FileSubjects]]:
    """The data files that may have due rows, with their subjects, by file name."""
    return {
        data_file.path.rpartition("/")[2]: (
            data_file,
            subjects.of(table, data_file, expiry.time_column),
        )
        for data_file in _due_files(table, expiry)
    }


def _due_files(table: OpenTable, expiry: Expiry) -> Sequence[DataFile]:
    """The data files that may have due rows, by their statistics."""
    if not expiry:
        return ()
    return [
        data_file
        for data_file in read_version(table.handle, table.table).data_files
        if _first_ms(data_file, expiry.time_column) < expiry.newest(data_file)
    ]


def _first_ms(data_file: DataFile, time_column: str) -> int:
    """The smallest time of a data file by its statistics; 0 when unknown."""
    return data_file.ts_range[0] if data_file.ts_range and time_column == "ts" else ALWAYS
