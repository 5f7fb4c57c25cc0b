"""Custom queries of what was received and not stored: of one tenant, without contents."""

from typing import Any

from query.custom.tables import CUSTOM_TABLES
from tests.query.custom_queries import COUNT, rows
from tests.query.lake import a_quarantined_item, ledger_counts
from tests.query.query_service import NOVEMBER, InProcessService

SUMS = [
    {"field": name, "aggregate": "sum", "alias": name}
    for name in ("received", "stored", "duplicate", "quarantined", "dropped")
]


def test_quarantined_items_are_grouped_by_reason_with_first_and_last(
    service: InProcessService,
) -> None:
    service.holds(
        a_quarantined_item("no such zone", at="2026-11-10T12:00:00Z"),
        a_quarantined_item("no such zone", at="2026-11-12T09:30:00Z"),
        a_quarantined_item("Expected `str`", stage="decode", topic="vitals"),
        a_quarantined_item("no such zone", subject="rival"),
        a_quarantined_item("not a chunk", subject=None),
    )
    first, last = ({"field": "ts", "aggregate": name, "alias": name} for name in ("min", "max"))

    by_reason = rows(
        service, "quarantine", COUNT, first, last, groupBy=["stage", "reason", "topic"]
    )

    assert by_reason == [
        {
            "stage": "enrich",
            "reason": "no such zone",
            "topic": "events",
            "n": 2,
            "min": "2026-11-10T12:00:00.000Z",
            "max": "2026-11-12T09:30:00.000Z",
        },
        {
            "stage": "decode",
            "reason": "Expected `str`",
            "topic": "vitals",
            "n": 1,
            "min": "2026-11-10T12:00:00.000Z",
            "max": "2026-11-10T12:00:00.000Z",
        },
    ]


def test_the_ledger_adds_up_by_hour_and_by_drop_reason(service: InProcessService) -> None:
    service.holds(
        ledger_counts(at="2026-11-10T12:00:00Z", stored=5, duplicate=2),
        ledger_counts(at="2026-11-10T12:00:00Z", stored=4, quarantined=1, topic="vitals"),
        ledger_counts(at="2026-11-10T13:00:00Z", stored=-3, dropped=3, drop_reason="import undone"),
        ledger_counts(subject="rival", stored=100),
    )

    by_hour = rows(service, "ledger", *SUMS, groupBy=["time:hourly"])
    by_drop_reason = rows(service, "ledger", SUMS[4], groupBy=["drop_reason"])

    assert by_hour == [
        _counts("2026-11-10 12:00:00", 12, 9, 2, 1, 0),
        _counts("2026-11-10 13:00:00", 0, -3, 0, 0, 3),
    ]
    assert by_drop_reason == [
        {"drop_reason": "import undone", "dropped": 3},
        {"drop_reason": None, "dropped": 0},
    ]


def test_another_tenant_and_a_key_of_another_website_see_nothing(
    service: InProcessService,
) -> None:
    service.holds(a_quarantined_item(), ledger_counts(stored=1), a_quarantined_item(subject="blog"))

    def ask(table: str, key: str, website: str) -> Any:
        body = {"query": {"table": table, "selects": [COUNT]}, **NOVEMBER}
        reply = service.ask("POST", "/v1/query/custom", body, key=key, website_id=website)
        return reply.json["data"] if reply.status == 200 else reply.status

    for table in ("quarantine", "ledger"):
        assert ask(table, "globex", "rival") == [{"n": 0}]
        assert ask(table, "globex", "shop") == 403
        assert ask(table, "acme-shop", "blog") == 403
    assert ask("quarantine", "acme-shop", "shop") == [{"n": 1}]


def test_clicks_of_a_link_that_were_not_stored_are_asked_by_the_link(
    service: InProcessService,
) -> None:
    service.holds(a_quarantined_item(subject="go", topic="clicks"), a_quarantined_item())
    body = {"query": {"table": "quarantine", "selects": [COUNT]}, **NOVEMBER}

    reply = service.ask("POST", "/v1/query/custom", body, link_id="go")

    assert reply.json["data"] == [{"n": 1}]


def test_the_contents_of_items_are_no_column(service: InProcessService) -> None:
    names = [column.name for column in CUSTOM_TABLES["quarantine"].columns]

    assert names == ["subject_id", "ts", "topic", "stage", "reason"]
    reply = service.custom("quarantine", [COUNT], groupBy=["payload"])
    assert (reply.status, "payload" in reply.json["error"]) == (400, True)


def test_entries_are_exported(service: InProcessService) -> None:
    service.holds(a_quarantined_item("no such zone"), a_quarantined_item(subject="rival"))

    reply = service.ask("GET", "/v1/export/quarantine", website_id="shop", **NOVEMBER)

    assert reply.status == 200
    assert reply.body.decode().count("no such zone") == 1


def _counts(date: str, *values: int) -> dict[str, Any]:
    names = [select["alias"] for select in SUMS]
    return {"date": date, **dict(zip(names, values, strict=True))}
