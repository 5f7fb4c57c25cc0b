"""The SQL of exports: total order, values as they are stored, facts only when they are named."""

import asyncio
from typing import Any

import pytest

from query.engine.duckdb_dialect import DuckDBDialect
from query.engine.engine import Sql
from query.engine.snapshots import PinnedVersion
from query.export.slices import export_statement
from query.request.time_range import TimeRange
from schemas.kinds import TABLES
from schemas.lake.delta_table import TableVersion
from tests.query.export.test_request import parsed

VERSIONS = {table.name: PinnedVersion(TableVersion(table, 1, ()), 0) for table in TABLES}


class WrittenEngine:
    """An engine that writes statements and runs none."""

    dialect = DuckDBDialect

    async def relation(self, _files: Any, columns: Any) -> Sql:
        return Sql(f"(SELECT {', '.join(column.name for column in columns)} FROM stored_rows)")

    def intact(self, data_files: Any) -> Any:
        return data_files


def statement(table: str = "events", hours: int = 1, **given: str) -> Sql:
    export = parsed(table, **given)
    start = export.query.time_range.start_ms
    part = TimeRange(start, start + hours * 3_600_000, "UTC")
    engine: Any = WrittenEngine()
    return asyncio.run(export_statement(engine, export, part, VERSIONS))


def test_rows_have_one_total_order() -> None:
    text = statement(columns="path").text

    order = text[text.rindex("ORDER BY") :].removeprefix("ORDER BY").split(",")
    columns = ["ts", "epoch", "kafka_partition", "kafka_offset", "seq"]
    assert [column.strip() for column in order] == columns


def test_a_part_reads_its_own_time_only() -> None:
    first = statement(hours=1).values

    assert (first["end"] - first["start"]).total_seconds() == 3600  # type: ignore[operator]
    assert first["subject"] == "shop"


def test_instants_are_milliseconds_and_decimals_are_numbers() -> None:
    text = statement(columns="ts,time_on_page,path").text

    assert "EPOCH_MS(ts) AS o0" in text
    assert "CAST(time_on_page AS DOUBLE) AS o1" in text
    assert "path AS o2" in text


@pytest.mark.parametrize(
    ("columns", "reads_visits"), [("path,channel", False), ("path,visit.channel", True)]
)
def test_facts_are_computed_when_they_are_named(columns: str, reads_visits: bool) -> None:
    assert ("visit_facts" in statement(columns=columns).text) is reads_visits


def test_sessions_are_ordered_by_their_start() -> None:
    text = statement("sessions", columns="session_id,entry_path").text

    assert "started_at" in text[text.rindex("ORDER BY") :]


def test_values_of_filters_are_bound() -> None:
    filters = '[{"field": "path", "operator": "eq", "value": "it\'s"}]'

    sql = statement(filters=filters)

    assert "it's" not in sql.text
    assert "it's" in sql.values.values()
