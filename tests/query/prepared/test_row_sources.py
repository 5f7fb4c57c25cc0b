"""Which fields the rows of a source have, and from which tables."""

from query.prepared.rollup_tables import PAGES
from query.prepared.row_columns import ALL_ROWS, OTHER_ROWS, view_rows

BY_PATH = view_rows(PAGES, first_name=True, second_name=True)


def test_the_tables_that_fields_are_told_from() -> None:
    assert ALL_ROWS.tables_read(["country"]) == ["facts", "other_facts"]
    assert BY_PATH.tables_read(["path"]) == ["pages"]
    assert BY_PATH.tables_read(["country"]) == ["pages", "facts", "other_facts"]
    assert OTHER_ROWS.tables_read(["name", "visit.channel"]) == [
        "other_events",
        "sessions",
        "sessionless",
    ]
    assert not ALL_ROWS.has_field("path")
    assert OTHER_ROWS.has_field("path")
