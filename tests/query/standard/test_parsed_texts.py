"""What is parsed at the start is what the first queries need."""

from query.sql import portable
from query.standard.parsed_texts import parse_all
from query.standard.query_types import FAMILIES


def test_no_query_type_parses_its_sql_again() -> None:
    portable._cached_tree.cache_clear()
    portable._cached_names.cache_clear()
    parse_all()
    parsed = portable._cached_tree.cache_info().misses

    for query_type in (each for family in FAMILIES for each in family):
        statement = query_type.statement(query_type.example)
        assert statement.names
        portable.parse(statement.sql)

    assert portable._cached_tree.cache_info().misses == parsed > len(FAMILIES)
