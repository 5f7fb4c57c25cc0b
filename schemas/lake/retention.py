"""TableRetention: how long replaced data files and log entries stay, by where the lake is.

On a disk the readers are our query services, whose queries end within seconds. Tables in an object
store may be read by other engines (Trino, Spark), whose queries and streams hold a version for
hours or days.
"""

from collections.abc import Mapping

from msgspec import Struct

from schemas.lake.object_store import is_object_store
from schemas.runtime.settings import Settings


class TableRetention(Struct, frozen=True):
    """Minutes after which maintenance deletes."""

    file_minutes: int
    """From when a data file was replaced."""
    log_minutes: int
    """From when a log entry was written, if a later checkpoint exists."""

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties of a table, as every Delta writer reads them."""
        return {
            "delta.deletedFileRetentionDuration": f"interval {self.file_minutes} minutes",
            "delta.logRetentionDuration": f"interval {self.log_minutes} minutes",
        }


ON_DISK = TableRetention(file_minutes=15, log_minutes=60)
IN_OBJECT_STORE = TableRetention(file_minutes=24 * 60, log_minutes=7 * 24 * 60)


def table_retention(settings: Settings) -> TableRetention:
    """The retention of all tables; 0 stands for the default of the kind of lake."""
    by_lake = IN_OBJECT_STORE if is_object_store(settings.lake_url) else ON_DISK
    return TableRetention(
        settings.tombstone_minutes or by_lake.file_minutes,
        settings.log_minutes or by_lake.log_minutes,
    )
