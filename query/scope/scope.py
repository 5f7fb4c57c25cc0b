"""The rows that a query may see: subject, time range, bots, filters (the `scoped` CTE).

`scoped` stands in front of the SQL of every query type. A query type cannot forget the tenant,
because it does not write that condition.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from query.engine.engine import Engine
from query.engine.snapshots import PinnedVersion
from query.request.time_range import Granularity, TimeRange
from query.sql.fragment import Fragment, merge_values
from query.sql.portable import names_in
from query.sql.select import Relation
from schemas.lake.delta_table import DataFile
from schemas.tables import Column, Table

SCOPED = "scoped"
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
    where: Fragment = Fragment()
    """A further condition on columns of the table."""
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


class ScopedRelation(Struct, frozen=True):
    """The CTE of a scope, and its bound values."""

    relation: Relation
    values: Mapping[str, object]


async def scoped_relation(
    engine: Engine, scope: Scope, names: Sequence[str], name: str = SCOPED
) -> ScopedRelation:
    """The CTE with the named columns of the rows; beside `scoped`, its name prefixes its values.

    Besides the columns of the table there are `ms` (Unix milliseconds of `ts`) and `bucket`.
    """
    source = await engine.relation(scope.data_files, _stored_columns(scope, names))
    bucket = (
        scope.time_range.bucket_sql("UNIX_MS(ts)", scope.granularity)
        if BUCKET in names
        else Fragment()
    )
    expressions = {
        MS: f"UNIX_MS(ts) AS {MS}",
        BUCKET: f"{bucket.text} AS {BUCKET}",
        EPOCH: f"COALESCE({EPOCH}, 0) AS {EPOCH}",  # older rows have no epoch
    }
    conditions = [f"{scope.subject_column} = $subject", "ts >= $start", "ts < $end"]
    if not scope.include_bots:
        conditions.append("is_bot IS DISTINCT FROM TRUE")
    if scope.where.text:
        conditions.append(scope.where.text)
    own = {
        "subject": scope.subject,
        "start": _instant(scope.time_range.start_ms),
        "end": _instant(scope.time_range.end_ms),
    }
    values = merge_values(source.values, own, bucket.values, scope.where.values)
    prefix = "" if name == SCOPED else name
    relation = Relation(
        name=name,
        source=source.text,
        columns=tuple(expressions.get(column, column) for column in names) or ("1 AS nothing",),
        conditions=tuple(conditions),
        prefix=prefix,
    )
    if prefix:
        values = {f"{prefix}_{key}": value for key, value in values.items()}
    return ScopedRelation(relation, values)


def _stored_columns(scope: Scope, names: Sequence[str]) -> list[Column]:
    """The columns of the table that are needed, in the table's order."""
    needed = {scope.subject_column, *REQUIRED_COLUMNS, *names, *names_in(scope.where.text)}
    return [column for column in scope.table.columns if column.name in needed]


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
