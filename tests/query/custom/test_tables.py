"""The tables of custom queries: their rows and columns."""

import pytest

from query.custom.tables import CUSTOM_TABLES
from tests.query.custom_queries import COUNT, rows
from tests.query.lake import (
    Stored,
    a_click,
    a_quarantined_item,
    a_view,
    a_vital,
    an_engagement,
    an_error,
    an_identity,
    an_outbound_click,
    ledger_counts,
)
from tests.query.query_service import InProcessService


def test_each_table_answers_with_its_own_rows(service: InProcessService) -> None:
    service.holds(
        a_view("/", visitor="u1"),
        an_outbound_click("https://x.example/p", "Docs"),
        an_error("boom"),
        a_vital("LCP", 1200.5),
        a_click(),
        a_click(link="away", organization="globex"),
        an_engagement("/"),
        an_engagement("/", website="blog"),
        an_identity("p1"),
        a_quarantined_item(),
        a_quarantined_item(subject="rival"),
        ledger_counts(stored=3),
    )

    assert {name: rows(service, name) for name in CUSTOM_TABLES} == {
        "events": [{"n": 2}],
        "sessions": [{"n": 1}],
        "errors": [{"n": 1}],
        "vitals": [{"n": 1}],
        "clicks": [{"n": 1}],
        "engagement": [{"n": 1}],
        "identities": [{"n": 1}],
        "outbound": [{"n": 1}],
        "quarantine": [{"n": 1}],
        "ledger": [{"n": 1}],
    }
    assert rows(service, "outbound", groupBy=["domain", "text", "href"]) == [
        {"domain": "x.example", "text": "Docs", "href": "https://x.example/p", "n": 1}
    ]
    assert rows(service, "errors", groupBy=["message", "level", "path"]) == [
        {"message": "boom", "level": "error", "path": "/", "n": 1}
    ]


@pytest.mark.parametrize("table", CUSTOM_TABLES)
def test_every_column_may_be_grouped_filtered_and_counted(
    service: InProcessService, table: str
) -> None:
    everything: list[Stored] = [a_view("/"), an_outbound_click("https://x.example/p"), an_error()]
    service.holds(*everything, a_vital("LCP", 1), a_click(), an_engagement(), an_identity("p1"))
    service.holds(a_quarantined_item(), ledger_counts(dropped=1, drop_reason="import undone"))

    for column in CUSTOM_TABLES[table].columns:
        select = {"field": column.name, "aggregate": "uniq", "alias": "different"}
        there = {"field": column.name, "operator": "is_not_null"}
        grouped = rows(service, table, COUNT, select, groupBy=[column.name], filters=[there])
        for row in grouped:
            assert list(row) == [column.name, "n", "different"]
            assert row[column.name] is not None
            assert row["different"] == 1
