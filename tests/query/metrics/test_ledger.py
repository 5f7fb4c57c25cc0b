"""Metrics of the ledger: what became of accepted items, by time, topic and drop reason."""

import pytest

from tests.query.lake import a_view, ledger_counts
from tests.query.metrics_queries import ask, error, rows, where
from tests.query.query_service import InProcessService
from tests.query.shared_dashboards import opened

ALL = ("received", "stored", "duplicates", "quarantined", "dropped")


def hold_counts(service: InProcessService) -> None:
    """Two hours of one day and one of the next; and the counts of another tenant."""
    service.holds(
        ledger_counts(at="2026-11-10T12:00:00Z", stored=5, duplicate=2),
        ledger_counts(at="2026-11-10T13:00:00Z", stored=4, quarantined=1, topic="vitals"),
        ledger_counts(at="2026-11-11T13:00:00Z", stored=-3, dropped=3, drop_reason="import undone"),
        ledger_counts(subject="rival", stored=100),
    )


def test_the_totals_balance(service: InProcessService) -> None:
    hold_counts(service)

    assert rows(service, *ALL) == [dict(zip(ALL, (12, 6, 2, 1, 3), strict=True))]
    assert rows(service, *ALL, filters=[where("topic", "vitals")]) == [
        dict(zip(ALL, (5, 4, 0, 1, 0), strict=True))
    ]


def test_counts_by_day_hour_topic_and_reason(service: InProcessService) -> None:
    hold_counts(service)

    by_day = rows(service, "received", "quarantined", dimensions=["time:day"])
    by_hour = rows(service, "received", dimensions=["time:hour_of_day"])
    by_topic = rows(service, "stored", dimensions=["topic"])
    by_reason = rows(service, "dropped", dimensions=["drop_reason"])

    assert [row for row in by_day if row["received"]] == [
        {"time:day": "2026-11-10", "received": 12, "quarantined": 1}
    ]
    assert by_hour == [
        {"time:hour_of_day": 12, "received": 7},
        {"time:hour_of_day": 13, "received": 5},
    ]
    assert by_topic == [{"topic": "vitals", "stored": 4}, {"topic": "events", "stored": 2}]
    assert by_reason == [
        {"drop_reason": "import undone", "dropped": 3},
        {"drop_reason": None, "dropped": 0},
    ]


def test_they_stand_beside_metrics_of_events(service: InProcessService) -> None:
    hold_counts(service)
    service.holds(a_view("/"))

    assert rows(service, "page_views", "received") == [{"page_views": 1, "received": 12}]
    reply = ask(service, "received")
    assert list(reply.json["meta"]["versions"]) == ["ledger"]


@pytest.mark.parametrize("dimension", ["path", "website_id", "visit.channel", "visitor.is_new"])
def test_counts_have_no_facts_of_visitors(service: InProcessService, dimension: str) -> None:
    assert f"whose rows have no '{dimension}'" in error(service, "received", dimensions=[dimension])


def test_no_shared_dashboard_shows_them(service: InProcessService) -> None:
    reply = opened(service).metrics(metrics=["received"])

    assert (reply.status, reply.json["code"]) == (403, "ACCESS_DENIED")
