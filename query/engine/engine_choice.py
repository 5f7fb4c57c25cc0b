"""Which engine answers a query: DuckDB in this process, or the distributed engine for large ones.

Large is what may read many bytes: the sizes of the data files of its pinned versions that may have
rows of its subject in its time range. That is known before anything is read.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from query.engine.engine import Engine
from query.engine.snapshots import PinnedVersion


class Period(Protocol):
    """start <= instant < end, in Unix milliseconds."""

    @property
    def start_ms(self) -> int: ...

    @property
    def end_ms(self) -> int: ...


class DistributedEngine(Protocol):
    """An engine on other machines, which shares itself among organizations."""

    def for_tenant(self, tenant: str) -> Engine:
        """The engine as one organization uses it."""


class LargeQueries(Struct, frozen=True):
    """The engine of large queries, and how many bytes make one."""

    engine: DistributedEngine
    min_bytes: int


def bytes_to_read(
    versions: Iterable[PinnedVersion], subjects: Sequence[str], periods: Iterable[Period]
) -> int:
    """The size of the data files that may have rows of the subjects in one of the periods."""
    ranges = list(periods)
    files = {
        data_file.path: data_file.size
        for pinned in versions
        for period in ranges
        for data_file in pinned.data_files(subjects, period.start_ms, period.end_ms)
    }
    return sum(files.values())
