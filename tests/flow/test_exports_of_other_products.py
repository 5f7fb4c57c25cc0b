"""Exports with the structures of other products, imported by the command: always the same visits.

Two visitors: one from a search in Germany with two page views and a sign-up, who comes back on the
next day for one page; one from a newsletter in the United States with two page views.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.flow.tenant import Tenant
from tests.flow.test_imports import tidemark
from tests.http_client import call
from tests.installation import Installation, eventually

EXPORTS = Path(__file__).parent / "exports"
MARCH = {"startDate": "2025-03-01", "endDate": "2025-03-31"}

REJECTED = {
    "plausible.ndjson": 1,  # how long a page was read
    "plausible.csv": 1,
    "umami.csv": 1,  # load times
    "google_analytics.ndjson": 3,  # `first_visit`, `session_start`, `user_engagement`
    "posthog.ndjson": 1,  # `$web_vitals`
    "posthog.csv": 1,
    "matomo.ndjson": 1,  # a goal
}
PAGE_EXITS = {"posthog.ndjson": 1, "posthog.csv": 1}
MONEY = {"plan": "pro", "team's size": "12", "revenue": 49.9, "currency": "EUR"}
PROPERTIES: dict[str, dict[str, Any]] = {
    "plausible.ndjson": MONEY,
    "plausible.csv": MONEY,
    "umami.csv": {},
    "google_analytics.ndjson": {"plan": "pro", "seats": 12, "value": 49.9, "currency": "EUR"},
    "posthog.ndjson": {"plan": "pro", "seats": 12},
    "posthog.csv": {"plan": "pro", "seats": 12},
    "matomo.ndjson": {"category": "account", "name": "pro", "value": 49.9},
}


def grouped(tenant: Tenant, metrics: list[str], *dimensions: str) -> set[tuple[Any, ...]]:
    """The values of the dimensions and of the metrics of each row."""
    body = {"metrics": metrics, "dimensions": dimensions, **MARCH}
    url = f"{tenant.stack.query_url}/v1/query/metrics?website_id={tenant.website.id}"
    reply = call("POST", url, body, {"x-api-key": tenant.key})
    assert reply.status == 200, reply.body
    return {tuple(row[name] for name in (*dimensions, *metrics)) for row in reply.json["data"]}


@pytest.mark.parametrize(
    "name",
    [
        name if name == "plausible.csv" else pytest.param(name, marks=pytest.mark.long)
        for name in REJECTED
    ],
)
def test_an_export_has_the_numbers_of_its_visits(
    stack: Installation, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tenant, path = Tenant.create(stack), tmp_path / name
    path.write_bytes((EXPORTS / name).read_bytes())
    sent = 6 + PAGE_EXITS.get(name, 0)

    done = tidemark(stack, "import", str(path), "--website", tenant.website.id)

    assert (done["accepted"], done["stored"], done["rejected"]) == (sent, sent, REJECTED[name])
    [summary] = tenant.rows("summary", **MARCH)
    assert (summary["pageviews"], summary["unique_visitors"], summary["sessions"]) == (5, 2, 3)
    assert (summary["bounce_rate"], summary["median_session_duration"]) == (33.33, 60)
    assert_visits(tenant)
    assert_events(tenant, PROPERTIES[name])
    with pytest.raises(SystemExit):
        tidemark(stack, "import", str(path), "--website", tenant.website.id)
    assert f"was imported as {done['id']}" in capsys.readouterr().err
    undone = tidemark(stack, "import", "undo", done["id"])
    assert undone["removed"] == sent
    assert eventually(lambda: tenant.rows("summary", **MARCH)[0]["pageviews"] == 0)


def assert_visits(tenant: Tenant) -> None:
    counts = ["visitors", "visits", "page_views"]
    assert grouped(tenant, counts, "visit.channel", "visit.utm_campaign") == {
        ("Organic Search", None, 1, 1, 2),
        ("Email", "spring", 1, 1, 2),
        ("Direct", None, 1, 1, 1),
    }
    assert grouped(tenant, counts, "visit.referrer_name") == {
        ("Google", 1, 1, 2),
        ("Direct", 2, 2, 3),
    }
    software = ("country", "browser_name", "os_name", "device_type")
    assert grouped(tenant, counts, *software) == {
        ("DE", "Chrome", "macOS", "desktop", 1, 2, 3),
        ("US", "Safari", "iOS", "mobile", 1, 1, 2),
    }


def assert_events(tenant: Tenant, properties: dict[str, Any]) -> None:
    assert grouped(tenant, ["page_views"], "path", "time:hour") >= {
        ("/", "2025-03-03 10:00:00", 1),
        ("/pricing", "2025-03-03 10:00:00", 1),
        ("/", "2025-03-03 22:00:00", 1),
        ("/pricing", "2025-03-03 22:00:00", 1),
        ("/docs", "2025-03-04 09:00:00", 1),
    }
    export = f"{tenant.stack.query_url}/v1/export/events?website_id={tenant.website.id}"
    reply = call(
        "GET",
        f"{export}&startDate={MARCH['startDate']}&endDate={MARCH['endDate']}&format=ndjson",
        headers={"x-api-key": tenant.key},
    )
    rows = map(json.loads, reply.body.splitlines())
    [signup] = [row for row in rows if row["name"] == "signup"]
    assert signup["ts"][:19] == "2025-03-03T10:02:30"
    assert json.loads(signup["properties"] or "{}") == properties
