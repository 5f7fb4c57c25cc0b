"""The rows that a query may see: subject, time range, bots, filters (the `scoped` CTE).

`scoped` stands in front of the SQL of every query type. A query type cannot forget the tenant,
because it does not write that condition.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from query.engine.engine import Engine, Sql, merge_values
from query.engine.snapshots import PinnedVersion
from query.request.time_range import Granularity, TimeRange
from schemas.lake.delta_table import DataFile
from schemas.tables import Column, Table

REQUIRED_COLUMNS = ("ts", "is_bot")
BUCKET = "bucket"
PROPERTY_ENTRIES = "entries"
MS = "ms"
EPOCH = "epoch"


class Scope(Struct, frozen=True):
    """Which rows of a table version a query may see."""

    pinned: PinnedVersion
    subject_column: str
    subject: str
    time_range: TimeRange
    granularity: Granularity = Granularity.DAILY
    where: Sql = Sql("")
    """Further conditions on columns of the table, each line beginning with AND."""
    include_bots: bool = False

    @property
    def table(self) -> Table:
        return self.pinned.version.table

    @property
    def data_files(self) -> Sequence[DataFile]:
        """The data files that may hold rows of the subject and the time range."""
        same = self.subject_column == self.table.subject_column
        subject = self.subject if same else None
        return self.pinned.data_files(subject, self.time_range.start_ms, self.time_range.end_ms)


async def scoped_rows(engine: Engine, scope: Scope, names: Sequence[str]) -> Sql:
    """The body of the `scoped` CTE with the named columns.

    Besides the columns of the table there are `ms` (Unix milliseconds of `ts`) and `bucket`.
    """
    table, time_range = scope.table, scope.time_range
    relation = await engine.relation(scope.data_files, _columns(table, scope, names))
    ms = engine.unix_ms("ts")
    bucket = time_range.bucket_sql(ms, scope.granularity) if BUCKET in names else Sql("")
    expressions = {
        MS: f"{ms} AS {MS}",
        BUCKET: f"{bucket.text} AS {BUCKET}",
        EPOCH: f"COALESCE({EPOCH}, 0) AS {EPOCH}",  # older rows have no epoch
    }
    bots = "" if scope.include_bots else "\n AND is_bot IS DISTINCT FROM TRUE"
    selected = ", ".join(expressions.get(name, name) for name in names) or "1 AS nothing"
    text = (
        f"SELECT {selected}\n"  # noqa: S608 - every name is ours, every value bound
        f"  FROM {relation.text} AS stored\n"
        f" WHERE {scope.subject_column} = $subject\n"
        f" AND ts >= $start AND ts < $end{bots}{scope.where.text}"
    )
    values = {
        "subject": scope.subject,
        "start": _instant(time_range.start_ms),
        "end": _instant(time_range.end_ms),
    }
    return Sql(text, merge_values(relation.values, values, bucket.values, scope.where.values))


def _columns(table: Table, scope: Scope, names: Sequence[str]) -> list[Column]:
    """The columns of the table that are needed, in the table's order."""
    needed = {scope.subject_column, *REQUIRED_COLUMNS, *names}
    return [c for c in table.columns if c.name in needed or _names(scope.where.text, c.name)]


def _names(text: str, column: str) -> bool:
    return re.search(rf"\b{column}\b", text) is not None


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
