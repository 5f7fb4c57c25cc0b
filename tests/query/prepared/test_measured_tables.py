"""Tables of measured values, as the SQL of each makes them of stored rows at their limits."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from query.prepared.measured_tables import LATER_TIMINGS, LOADS, VITALS, Measured, plus_one
from query.prepared.rollup import Columns
from tests.query.lake import Stored, a_view, a_vital
from tests.query.prepared.rollups import whole_part
from tests.query.query_service import InProcessService

GREATEST_MS = 60_000
"""Of a timing in the schema of items."""


def table_of(service: InProcessService, asked: str, measured: Measured) -> Columns:
    """The table in the rollup that is made of all rows when a type of query asks for it."""
    service.query(asked)
    assert service.results is not None
    asyncio.run(service.results.make_pending())
    [path] = Path(service.data, "prepared").rglob("*.parquet")
    with path.open("rb") as file:
        key = path.relative_to(path.parents[1])
        return whole_part(file, str(key), measured.table).tables[measured.table]


def test_vitals_are_whole_numbers_of_their_four_decimals(service: InProcessService) -> None:
    values = ("999999999999.9999", "1000000000000", "-1000000000000", "0.0001", "-0.0001", "0")
    stored: list[Stored] = []
    for i, text in enumerate(values):
        row = a_vital("LCP", 0, visitor=f"u{i}")
        row.values["metric_value"] = Decimal(text)
        stored.append(row)
    service.lake.holds(*stored, a_vital("CLS", 0.25, path=None))

    made = table_of(service, "vitals_overview", VITALS)

    expected = [int(Decimal(text) * VITALS.scale) for text in (*values, "0.25")]
    assert sorted(made.numbers["measured"].tolist()) == sorted(expected)
    assert made.texts["of_metric_name"] == ["CLS", "LCP"]
    assert sorted(made.numbers["of_path"].tolist()) == [0, *[1] * len(values)]
    assert {*VITALS.labels} == {name.removeprefix("of_") for name in made.texts}


@pytest.mark.parametrize("value", [0, 1, GREATEST_MS, None])
def test_zero_and_absent_timings_are_told_apart(
    service: InProcessService, value: int | None
) -> None:
    timings = dict.fromkeys(LATER_TIMINGS, value)
    service.lake.holds(
        a_view("/", load_time=GREATEST_MS, **timings),
        a_view("/", load_time=0, **timings),
        a_view("/", **timings),
    )

    made = table_of(service, "slow_pages", LOADS)

    assert made.numbers[plus_one("load_time")].tolist() == [GREATEST_MS + 1]
    expected = [0 if value is None else value + 1]
    assert [made.numbers[plus_one(name)].tolist() for name in LATER_TIMINGS] == [expected] * 3
    assert {*LOADS.labels} == {name.removeprefix("of_") for name in made.texts}
