"""Hypothesis strategies for custom queries."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import strategies as st

from query.custom.tables import CUSTOM_TABLES, CustomTable
from query.sql.aggregates import AGGREGATES
from tests.oracle.behaviors import behaviors
from tests.oracle.custom import DATE_PARTS, TIME, CustomQuery, alias, output_name
from tests.oracle.filters import FilterJson
from tests.oracle.query_strategies import ZONES, filters_of_columns, grouped_filters
from tests.oracle.random_traffic import Stage

Select = dict[str, str]


def selects_of(table: CustomTable) -> st.SearchStrategy[Select]:
    """One value to compute: any aggregate of any column that it fits."""
    pairs = [("count", "*"), ("count", "*")] + [
        (aggregate.name, column.name)
        for aggregate in AGGREGATES
        for column in table.columns
        if column.type in aggregate.types
    ]
    return st.sampled_from(pairs).map(lambda pair: {"aggregate": pair[0], "field": pair[1]})


websites = st.sampled_from(("shop", "shop", "shop,blog", "blog,shop"))


@st.composite
def custom_queries(
    draw: st.DrawFn, stage: Stage, tables: Sequence[str] = tuple(sorted(CUSTOM_TABLES))
) -> CustomQuery:
    """A question about one of these tables."""
    table = CUSTOM_TABLES[draw(st.sampled_from(tables))]
    start = stage.day + timedelta(days=draw(st.integers(-1, 1)))
    names = [column.name for column in table.columns]
    selects = draw(st.lists(selects_of(table), min_size=1, max_size=4, unique_by=alias))
    groups = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    if draw(st.booleans()):
        groups.insert(draw(st.integers(0, len(groups))), draw(st.sampled_from(BUCKETS)))
    groups += draw(st.lists(st.sampled_from(sorted(DATE_PARTS)), max_size=1))
    outputs = [output_name(name) for name in groups]
    return CustomQuery(
        table=table.name,
        selects=selects,
        start=start,
        end=start + timedelta(days=draw(st.integers(0, 2))),
        filters=draw(st.lists(grouped_filters(filters_of_named(table.name)), max_size=2)),
        group_by=groups,
        having=draw(havings(selects)),
        order_by=draw(orders([*outputs, *map(alias, selects)])),
        subject="go" if table.name == "clicks" else draw(websites),
        zone=draw(st.sampled_from((stage.zone, *ZONES))),
        limit=draw(st.sampled_from((None, None, 1, 3))),
        page=draw(st.sampled_from((1, 1, 1, 2))),
        include_bots=draw(st.booleans()),
    )


WIDE_BUCKETS = (
    "quarter_hour", "hourly", "daily", "weekly", "sunday_week", "monthly", "quarterly", "yearly",
)  # fmt: skip
BUCKETS = tuple(f"{TIME}{each}" for each in WIDE_BUCKETS)


def havings(selects: Sequence[Select]) -> st.SearchStrategy[list[FilterJson]]:
    """Conditions on what is counted, or none."""
    counts = [alias(select) for select in selects if select["aggregate"] in ("count", "uniq")]
    if not counts:
        return st.just([])
    single = st.fixed_dictionaries(
        {
            "field": st.sampled_from(counts),
            "operator": st.sampled_from(("eq", "ne", "gt", "gte", "lt", "lte")),
            "value": st.sampled_from((0, 1, 2, 3)),
        }
    )
    return st.lists(grouped_filters(single), max_size=1)


def orders(outputs: Sequence[str]) -> st.SearchStrategy[list[Select]]:
    """Terms of an order, or none."""
    term = st.fixed_dictionaries(
        {"field": st.sampled_from(outputs), "direction": st.sampled_from(("asc", "desc"))}
    )
    return st.lists(term, max_size=2)


FILTERED = tuple(sorted(CUSTOM_TABLES))
WITHOUT_VISITORS = frozenset({"clicks", "quarantine", "ledger"})
"""Tables of which nothing can be asked about what visitors did."""


def filters_of_named(table: str) -> st.SearchStrategy[FilterJson]:
    """One filter on any column of a table by its name, or on what visitors did."""
    columns = filters_of_columns(CUSTOM_TABLES[table].columns)
    return columns if table in WITHOUT_VISITORS else st.one_of(columns, columns, behaviors)
