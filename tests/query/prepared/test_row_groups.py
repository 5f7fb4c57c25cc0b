"""Groups of rows: what is counted of each, their order, and conditions on counts."""

import msgspec
import pytest

from query.engine.engine import Row
from query.prepared.array_rows import ArrayRows
from query.prepared.quarters import whole_range
from query.prepared.row_groups import CountedField, Group, RowGroups
from query.prepared.row_sources import ALL_ROWS
from query.request.buckets import Granularity
from query.request.date_parts import DatePart
from query.request.filter_struct import Filter
from query.request.time_range import TimeRange
from tests.query.prepared.parts import join
from tests.query.prepared.test_row_columns import OTHERS, VIEWS, part

DAY = TimeRange(0, 86_400_000, "UTC")
"""Its quarters of an hour have the numbers 0 to 95."""
COUNT = CountedField()
VISITORS = CountedField("anonymous_id", is_distinct=True)
HAVING_COUNTRY = CountedField("country")


def rows_of(
    *groups: Group, counted: tuple[CountedField, ...] = (COUNT,), having: list[Filter] | None = None
) -> list[Row]:
    """Those of five page views, each with another row, and of a row without one."""
    form = RowGroups(
        ALL_ROWS, groups, counted, having=msgspec.json.encode(having or []), time_range=DAY
    )
    quarters = form.quarters(DAY, Granularity.DAILY)
    assert quarters is not None
    found = form.rows(join([part(VIEWS[:2], OTHERS), part(VIEWS[2:], OTHERS)], 0, 96), quarters)
    assert isinstance(found, ArrayRows)
    return [*found]


def test_rows_visitors_and_values_of_each_country() -> None:
    assert rows_of("country", counted=(COUNT, VISITORS, HAVING_COUNTRY)) == [
        ("DE", 4, 2, 4),
        ("ES", 2, 1, 2),
        ("FR", 2, 1, 2),
        ("IT", 2, 1, 2),
        (None, 2, 1, 0),
    ]


def test_without_groups_there_is_one_row() -> None:
    assert rows_of(counted=(COUNT, VISITORS, HAVING_COUNTRY)) == [(12, 5, 10)]


def test_groups_of_the_time() -> None:
    assert rows_of(Granularity.DAILY) == [(0, 12)]
    assert rows_of(DatePart.HOUR_OF_DAY) == [(2, 10), (3, 2)]


@pytest.mark.parametrize(
    ("having", "countries"),
    [
        (Filter("1", "gt", value=2.5), ["DE"]),
        (Filter("1", "in", value=[2.0, 3.0]), ["ES", "FR", "IT", None]),
        (Filter(none_of=Filter("1", "lte", value=2.0)), ["DE"]),
    ],
)
def test_conditions_on_counts(having: Filter, countries: list[str | None]) -> None:
    assert [row[0] for row in rows_of("country", having=[having])] == countries


def test_no_rows_have_a_row_only_without_groups() -> None:
    more = msgspec.json.encode([Filter("0", "gt", value=0.0)])
    assert RowGroups(ALL_ROWS, (), (COUNT, VISITORS)).nothing == (0, 0)
    assert RowGroups(ALL_ROWS, (), (COUNT,), having=more).nothing is None
    assert RowGroups(ALL_ROWS, ("country",), (COUNT,)).nothing is None
    assert whole_range(DAY) is not None
