"""The pools of the query service: one of standard and one of custom queries."""

from pathlib import Path
from shutil import rmtree

from msgspec import structs

from query.engine.damaged_files import DamagedFiles
from query.engine.data_file_source import DataFileSource
from query.engine.duckdb_engine import DuckDBEngine, PoolLimits
from schemas.runtime.settings import Settings

ROW_MEMORY_FACTOR = 4
"""Memory of rows in Python, as a multiple of the maximum size of a response."""


def standard_limits(settings: Settings) -> PoolLimits:
    """Limits of the standard pool."""
    return PoolLimits(
        settings.query_memory_mb,
        settings.query_threads,
        concurrency=4,
        rows_bytes=ROW_MEMORY_FACTOR * settings.answer_bytes,
    )


def custom_limits(settings: Settings) -> PoolLimits:
    """Limits of the custom pool; its threads have a lower priority (nice 10)."""
    return structs.replace(standard_limits(settings), concurrency=3, nice=10)


def open_pool(
    pool: str, source: DataFileSource, spill: Path, limits: PoolLimits, damaged: DamagedFiles
) -> DuckDBEngine:
    """A pool with an empty spill folder of its own."""
    rmtree(spill / pool, ignore_errors=True)  # left by a killed process of that name
    return DuckDBEngine(pool, source, spill / pool, limits, damaged)
