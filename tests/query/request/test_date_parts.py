"""Hour of the day and day of the week, beside the calendar of Python."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import duckdb
import pytest

from query.engine.duckdb_dialect import DuckDBDialect
from query.request.date_parts import DatePart, date_part_sql
from query.request.time_range import time_range
from query.sql.portable import parse

ZONES = ("UTC", "America/St_Johns", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia")


def expected(ms: int, zone: str, part: DatePart) -> int:
    there = datetime.fromtimestamp(ms / 1000, ZoneInfo(zone))
    return there.hour if part is DatePart.HOUR_OF_DAY else there.isoweekday()


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("part", DatePart)
def test_every_instant_has_the_number_that_the_local_calendar_shows(
    zone: str, part: DatePart
) -> None:
    year = time_range(date(2026, 1, 1), date(2026, 12, 31), zone, 400)
    sample = list(range(year.start_ms, year.end_ms, 1_733_000))
    fragment = date_part_sql("ms", year, part).with_prefix("p_")
    sql = parse(f"SELECT {fragment.text}").sql(dialect=DuckDBDialect).removeprefix("SELECT ")

    rows = duckdb.execute(
        f"SELECT ms, {sql} FROM (SELECT UNNEST($sample) AS ms)",
        {"sample": sample, **fragment.values},
    ).fetchall()

    assert [number for _, number in rows] == [expected(ms, zone, part) for ms, _ in rows]
