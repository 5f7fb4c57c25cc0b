"""What the processes of both services counted in rate-limit buckets during the last minute.

A reader asks for the shared counts as a process does that has counted nothing.
"""

from collections.abc import Hashable, Sequence

from msgspec import Struct

from schemas.http.server_counts import server_counts
from schemas.http.shared_counts import (
    Counted,
    MachineCounts,
    SharedCounts,
    bucket_name,
    counts_path,
)
from schemas.runtime.settings import Settings

COLLECTOR, QUERY = "collector", "query"
"""The services that count, as `SharedRateLimiter` names them."""


class Usage(Struct, frozen=True):
    """Counts of buckets, in the order in which they were asked for."""

    counts: Sequence[Counted]
    all_machines: bool
    """Whether they are those of all machines, not only of this one."""


class LimitUsage:
    """Reads shared counts; it is connected only while it reads, because few ask."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def read(self, service: str, keys: Sequence[Hashable]) -> Usage:
        """The counts of a service's buckets by their keys; OSError when they cannot be read."""
        asked = [Counted(bucket_name(service, key)) for key in keys]
        server, path = server_counts(self._settings), counts_path(self._settings, service)
        if server is None and not path.exists():  # no process of the service has run here
            return Usage(asked, all_machines=False)
        counts: SharedCounts = server or MachineCounts(path)
        try:
            return Usage(await counts.add(asked), all_machines=server is not None)
        finally:
            await counts.close()
