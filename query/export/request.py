"""Query parameters of an export."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from starlette.datastructures import QueryParams

from query.custom.tables import CUSTOM_TABLES, CustomColumn, CustomTable
from query.engine.snapshots import VersionNumber
from query.request.body import decode_json
from query.request.filters import Filter, compile_conditions
from query.request.suggestions import unknown_column_message, unknown_name_message
from query.request.time_parameters import parse_time_range
from query.request.time_range import TimeRange
from query.request.time_zones import check_time_zone
from query.sql.fragment import Fragment, all_of
from schemas.errors import Malformed

MAX_DAYS = 3_660

EXPORT_TABLES = {name: table for name, table in CUSTOM_TABLES.items() if not table.is_computed}
"""Stored tables; sessions are computed, so they are available in custom queries only."""

FLAGS = {"true": True, "false": False, "1": True, "0": False}


class ExportQuery(Struct, frozen=True):
    """A validated export."""

    table: CustomTable
    columns: tuple[CustomColumn, ...]
    time_range: TimeRange
    where: Fragment
    include_bots: bool
    as_of: int | None = None
    """The table version; the newest if None."""


def parse_export_query(
    name: str, params: QueryParams, now_ms: int, default_zone: str
) -> ExportQuery:
    """The validated export; Malformed names the parameter and the rule."""
    table = EXPORT_TABLES.get(name)
    if table is None:
        raise Malformed(unknown_name_message("table", name, EXPORT_TABLES))
    zone = check_time_zone("timezone", params.get("timezone") or default_zone)
    time_range = parse_time_range(
        params.get("startDate"), params.get("endDate"), params.get("preset"), zone, now_ms, MAX_DAYS
    )
    where = compile_conditions(
        _filters(params.get("filters")), table.fields, f"table '{table.name}'"
    )
    return ExportQuery(
        table=table,
        columns=_columns(params.get("columns"), table),
        time_range=time_range,
        where=all_of(Fragment(table.where), where),
        include_bots=_flag("include_bots", params.get("include_bots", "false")),
        as_of=_version(params.get("asOf")),
    )


def _filters(text: str | None) -> Sequence[Filter]:
    if not text:
        return ()
    return decode_json(text.encode("utf-8", "surrogatepass"), list[Filter], "filters")


def _columns(text: str | None, table: CustomTable) -> tuple[CustomColumn, ...]:
    """The requested columns in their order; all columns of the table by default."""
    if not text:
        return table.columns
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if table.column(name) is None:
            raise Malformed(unknown_column_message(name, table.fields, f" in table '{table.name}'"))
        if names.count(name) > 1:
            raise Malformed(f"'columns' names '{name}' twice")
    return tuple(column for name in names if (column := table.column(name)))


def _version(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return msgspec.convert(text, VersionNumber, strict=False)
    except msgspec.ValidationError:
        raise Malformed(
            f"'asOf' is '{text[:40]}'; it must be a version number from 'meta.versions'"
        ) from None


def _flag(name: str, text: str) -> bool:
    if text not in FLAGS:
        raise Malformed(f"'{name}' is '{text[:40]}'; it must be true or false")
    return FLAGS[text]
