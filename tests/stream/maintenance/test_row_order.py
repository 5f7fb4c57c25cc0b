"""Rows come by subject, and by time or by visitor within half an hour."""

import pyarrow as pa
import pytest
from msgspec import structs

from schemas.tables import CLICKS, EVENTS, LEDGER, QUARANTINE, Table
from stream.maintenance.dictionaries import row_schema
from stream.maintenance.row_order import row_order
from stream.storage.table_schema import arrow_schema
from tests.stream.maintenance.rows_to_merge import COLUMNS, in_order, made_rows

VIEWS = structs.replace(
    EVENTS, columns=tuple(c for c in EVENTS.columns if c.name != "session_hash")
)
"""Without sessions, so that it is sorted by time."""


def test_tables_of_visitors_are_sorted_by_visitor_and_others_by_time() -> None:
    key = ("epoch", "kafka_partition", "kafka_offset", "seq")

    assert [row_order(table).is_by_visitor for table in (EVENTS, CLICKS, LEDGER)] == [
        *(True, False, False)  # a click has no session
    ]
    assert tuple(row_order(EVENTS).key) == key
    assert row_order(EVENTS).bound_columns == ("website_id", "ts", "visitor_hash")
    assert row_order(CLICKS).bound_columns == ("link_id", "ts")
    assert row_order(QUARANTINE).subject == "topic"


@pytest.mark.parametrize("table", [EVENTS, VIEWS])
def test_places_are_those_of_a_sort_by_values(table: Table) -> None:
    rows = made_rows(500)
    types = arrow_schema(EVENTS)
    schema = row_schema(pa.schema([types.field(name) for name in COLUMNS]))
    found = pa.Table.from_pylist(rows, schema)
    subjects = pa.array(sorted({row["website_id"] for row in rows if row["website_id"]}))

    places = row_order(table).places(found, subjects)

    assert [rows[place]["event_id"] for place in places] == [
        row["event_id"] for row in in_order(rows, table)
    ]


def test_strings_of_the_key_are_compared_as_strings() -> None:
    order = row_order(LEDGER)
    rows = pa.table(
        {
            name: pa.array([0, 0, 0, 0]).cast(arrow_schema(LEDGER).field(name).type)
            for name in (order.time, *order.key)
            if name != "topic"
        }
    )
    strings = [["s", "s", None, "a"], ["b", "a", "a", "c"]]
    for name, values in zip((order.subject, "topic"), strings, strict=True):
        rows = rows.append_column(name, pa.array(values).dictionary_encode())

    assert order.places(rows, pa.array(["a", "s"])).tolist() == [3, 1, 0, 2]
