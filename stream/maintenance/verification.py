"""Verifies data files before they are rewritten, so that a rewrite cannot hide damage.

A damaged file is reported and named in the error; an error with another cause is raised unchanged.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.lake.damage_reports import DamagedFile
from schemas.lake.data_files import file_problem, named_checksum
from stream.maintenance.merge_plan import LiveDataFile
from stream.storage.delta_commit import LakeTable

DAMAGE_CONSEQUENCE = "it is left unchanged; queries that need it fail"


class DamagedFileError(Exception):
    """A data file is damaged; the operation on it was not carried out."""


@contextmanager
def verified_files(
    table: LakeTable, data_files: Sequence[LiveDataFile], consequence: str = DAMAGE_CONSEQUENCE
) -> Iterator[list[Path]]:
    """The data files as local files with the committed bytes; DamagedFileError if one differs."""
    with ExitStack() as copies:
        files = [
            copies.enter_context(_verified_file(table, data_file, consequence))
            for data_file in data_files
        ]
        try:
            yield files
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            for data_file, file in zip(data_files, files, strict=True):
                if named_checksum(data_file.path) is None and (problem := decode_problem(file)):
                    raise report_damage(table, data_file, problem, consequence) from error
            raise


def undamaged_files(table: LakeTable, data_files: Sequence[LiveDataFile]) -> list[LiveDataFile]:
    """The data files without a damage report."""
    damaged = table.damage_reports.of_table(table.table.name)
    return [
        data_file for data_file in data_files if data_file.path.rpartition("/")[2] not in damaged
    ]


def report_damage(
    table: LakeTable, data_file: LiveDataFile, problem: str, consequence: str = DAMAGE_CONSEQUENCE
) -> DamagedFileError:
    """Report the damage of a file; returns the error to raise."""
    report = DamagedFile(table.table.name, data_file.path, problem, data_file.rows)
    table.damage_reports.report(report, consequence)
    return DamagedFileError(str(report))


def decode_problem(file: Path) -> str | None:
    """Why a file without a checksum cannot be decoded; None when it can."""
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            for batch in parquet.iter_batches():
                batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        return f"cannot be decoded ({str(error).splitlines()[0][:200]})"
    return None


@contextmanager
def _verified_file(table: LakeTable, data_file: LiveDataFile, consequence: str) -> Iterator[Path]:
    with ExitStack() as copies:
        try:
            file = copies.enter_context(table.store.local_copy(data_file.path))
        except FileNotFoundError as error:
            raise report_damage(table, data_file, "is missing", consequence) from error
        if problem := file_problem(file, data_file.size):
            raise report_damage(table, data_file, problem, consequence)
        yield file
