"""Shields, from the API to the ledger: what matches is answered as any, and is not stored."""

from datetime import UTC, datetime

from tests.flow.tenant import Tenant, at_ms
from tests.http_client import call
from tests.installation import eventually


def test_what_a_shield_matches_is_counted_and_not_stored(tenant: Tenant) -> None:
    shields = f"{tenant.stack.query_url}/v1/shields?website_id={tenant.website.id}"
    headers = {"x-api-key": tenant.key}
    made = call("POST", shields, {"name": "a", "kind": "path", "value": "/admin/*"}, headers)
    assert made.status == 201, made.body
    reason, today = f"shield {made.json['data']['id']}", str(datetime.now(UTC).date())
    sent = 0

    def is_counted() -> bool:
        """The worker reads the shield a moment after it was saved."""
        nonlocal sent
        paths = ("/admin/users", "/shop")
        events = [
            {"name": path, "path": path, "anonymousId": "anna", "timestamp": at_ms("10:00:00")}
            for path in paths
        ]
        assert tenant.send(events).status == 200
        sent += 1
        counts = dict(
            tenant.grouped_counts("ledger", "drop_reason", startDate=today, endDate=today)
        )
        return reason in counts

    eventually(is_counted)
    sums = {"metrics": ["received", "stored", "dropped"], "preset": "today"}
    query = f"{tenant.stack.query_url}/v1/query/metrics?website_id={tenant.website.id}"

    def totals() -> dict[str, int]:
        counts: dict[str, int] = call("POST", query, sums, headers).json["data"][0]
        return counts

    eventually(lambda: totals()["received"] == 2 * sent)
    counts = totals()
    assert counts["received"] == counts["stored"] + counts["dropped"]
    stored = dict(tenant.grouped_counts("events", "name"))
    assert stored["/shop"] == sent
    assert stored.get("/admin/users", 0) == sent - counts["dropped"] < sent
