"""Damage reports: damaged data files, shared between processes as one small file each.

A process that reads a damaged data file writes a report. Queries that need the file fail,
maintenance skips it, health and status show it; the maintenance process deletes the report once the
file is intact again or no table references it.
"""

import logging
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.runtime.clock import now_ms
from schemas.runtime.files import read_regular, write_atomically

log = logging.getLogger(__name__)

DAMAGE_FOLDER = "damage"
MTIME_SETTLED_NS = 100_000_000
"""Age from which a folder's mtime is reliable: two changes may share one clock tick."""


class DamagedFile(Struct, frozen=True):
    """One missing or damaged data file."""

    table: str
    path: str
    """Relative to the table's root."""
    problem: str
    """The problem, as the end of a sentence."""
    rows: int
    """Number of rows, from the Delta log."""
    at_ms: int = 0
    """Time of the report."""

    @property
    def name(self) -> str:
        """Its file name, which is unique."""
        return self.path.rpartition("/")[2]

    @property
    def day(self) -> str:
        """UTC day of receipt of its rows."""
        return self.path.partition("day=")[2][:10]

    def __str__(self) -> str:
        return f"data file {self.path} of table '{self.table}' {self.problem} ({self.rows} rows)"


class DamageReports:
    """Damage reports in a data folder."""

    def __init__(self, data: Path) -> None:
        self._folder = data / DAMAGE_FOLDER
        self._read_ns = -1
        self._reports: Mapping[str, DamagedFile] = {}
        self._unwritten: dict[str, DamagedFile] = {}
        """Reports that could not be written: the disk may be full."""

    def report(self, file: DamagedFile, consequence: str) -> bool:
        """Write a report and log its consequence; whether it is new."""
        if file.name in self.files():
            return False
        file = msgspec.structs.replace(file, at_ms=now_ms())
        log.error(
            "data file is damaged",
            extra={"table": file.table, "file": file.path, "problem": file.problem}
            | {"rows": file.rows, "so": consequence, "see": "tidemark doctor"},
        )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._folder / f"{file.name}.json", msgspec.json.encode(file))
        except OSError:
            self._unwritten[file.name] = file
        return True

    def clear(self, file: DamagedFile) -> None:
        """Delete a report: the file is intact, or no longer referenced."""
        self._unwritten.pop(file.name, None)
        (self._folder / f"{file.name}.json").unlink(missing_ok=True)

    def files(self) -> Mapping[str, DamagedFile]:
        """All reports by file name; costs one stat while nothing changes."""
        try:
            modified_ns = self._folder.stat().st_mtime_ns
        except OSError:
            return dict(self._unwritten)
        if modified_ns != self._read_ns:
            self._reports = {report.name: report for report in _read(self._folder)}
            settled = time.time_ns() - modified_ns > MTIME_SETTLED_NS
            self._read_ns = modified_ns if settled else -1
        return {**self._reports, **self._unwritten} if self._unwritten else self._reports

    def of_table(self, table: str) -> Mapping[str, DamagedFile]:
        """Reports of one table."""
        return {name: report for name, report in self.files().items() if report.table == table}


def _read(folder: Path) -> list[DamagedFile]:
    reports = []
    for path in sorted(folder.glob("*.json")):
        try:
            reports.append(msgspec.json.decode(read_regular(path), type=DamagedFile))
        except (OSError, msgspec.DecodeError):
            continue  # just deleted, or not a report
    return reports
