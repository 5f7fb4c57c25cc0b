"""Removes this machine's copies of what an erasure removed from the tables.

Rollups and indexes of replaced data files are removed once the tables have no erased rows, and
again when the erasure is done: a query of an older version may have made some meanwhile. Then the
cached data files that no table has any more are removed as well.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator

from query.engine.data_file_source import DataFileSource
from query.engine.snapshots import SnapshotCache
from query.prepared.prepared_results import PreparedResults
from query.prepared.store import KINDS, stored_table
from schemas.errors import ApiError
from schemas.kinds import lake_tables
from schemas.registry import Erasure, ErasureState, Snapshot

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0


class ErasedCopies:
    """Follows the erasures of the registry, for one process."""

    def __init__(
        self,
        registry: Callable[[], Snapshot],
        snapshots: SnapshotCache,
        source: DataFileSource,
        results: PreparedResults | None,
    ) -> None:
        self._registry = registry
        self._snapshots = snapshots
        self._source = source
        self._results = results
        self._removed: set[tuple[str, int]] = set()
        """Erasures, and the times of the changes for which copies were removed."""

    async def run(self) -> None:
        """Remove copies until cancelled; what fails is tried again."""
        while True:
            try:
                await self.remove_copies()
            except (ApiError, OSError) as error:
                log.warning("copies of erased rows not removed", extra={"reason": str(error)})
            await asyncio.sleep(POLL_SECONDS)

    async def remove_copies(self) -> None:
        """Remove the copies of erasures that moved on since the last call."""
        registry = self._registry()
        moved = [
            erasure
            for erasure in registry.erasures.values()
            if erasure.state is not ErasureState.PENDING
            and (erasure.id, erasure.updated_at) not in self._removed
        ]
        if not moved:
            return
        if self._results is not None:
            pinned = {kind: await self._snapshots.pin(stored_table(kind)) for kind in KINDS}
            for website in {each for erasure in moved for each in _websites(erasure, registry)}:
                for kind, of_table in pinned.items():
                    files = [file.path for file in of_table.version.data_files]
                    await asyncio.to_thread(self._results.remove_replaced, website, kind, files)
            self._results.forget()
        if any(erasure.state is ErasureState.DONE for erasure in moved):
            versions = [(await self._snapshots.pin(table)).version for table in lake_tables()]
            live = [file for version in versions for file in version.data_files]
            await asyncio.to_thread(self._source.remove_others, live)
        self._removed.update((erasure.id, erasure.updated_at) for erasure in moved)


def _websites(erasure: Erasure, registry: Snapshot) -> Iterator[str]:
    if erasure.website_id is not None:
        yield erasure.website_id
    elif erasure.link_id is None:
        yield from registry.websites_by_organization.get(erasure.organization_id, ())
