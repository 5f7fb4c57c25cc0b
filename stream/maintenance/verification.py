"""Data files are verified before they are rewritten: a rewrite must not make damage look whole.

What is damaged is noted and named; what failed without such a cause fails as it did.
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

DAMAGE_CONSEQUENCE = "it is left as it is; questions that need it fail"


class DamagedFileError(Exception):
    """A data file is damaged, and what was to be done with it is not done."""


@contextmanager
def verified_files(
    table: LakeTable, pieces: Sequence[LiveDataFile], consequence: str = DAMAGE_CONSEQUENCE
) -> Iterator[list[Path]]:
    """The data files as local files with the bytes that were committed; Damaged if one is not."""
    with ExitStack() as fetched:
        files = [
            fetched.enter_context(_verified_file(table, piece, consequence)) for piece in pieces
        ]
        try:
            yield files
        except (duckdb.Error, pa.ArrowException, OSError) as failed:
            for piece, file in zip(pieces, files, strict=True):
                if named_checksum(piece.path) is None and (problem := decode_problem(file)):
                    raise report_damage(table, piece, problem, consequence) from failed
            raise


def undamaged_files(table: LakeTable, found: Sequence[LiveDataFile]) -> list[LiveDataFile]:
    """The data files of which no damage is known."""
    noted = table.damage_reports.of_table(table.table.name)
    return [piece for piece in found if piece.path.rpartition("/")[2] not in noted]


def report_damage(
    table: LakeTable, piece: LiveDataFile, problem: str, consequence: str = DAMAGE_CONSEQUENCE
) -> DamagedFileError:
    """The failure to raise; the file is noted."""
    note = DamagedFile(table.table.name, piece.path, problem, piece.rows)
    table.damage_reports.report(note, consequence)
    return DamagedFileError(str(note))


def decode_problem(file: Path) -> str | None:
    """What the reader says about a file whose bytes cannot be compared with a checksum."""
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as opened:
            for batch in opened.iter_batches():
                batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as bad:
        return f"cannot be decoded ({str(bad).splitlines()[0][:200]})"
    return None


@contextmanager
def _verified_file(table: LakeTable, piece: LiveDataFile, consequence: str) -> Iterator[Path]:
    with ExitStack() as fetched:
        try:
            file = fetched.enter_context(table.store.local_copy(piece.path))
        except FileNotFoundError as gone:
            raise report_damage(table, piece, "is missing", consequence) from gone
        if problem := file_problem(file, piece.size):
            raise report_damage(table, piece, problem, consequence)
        yield file
