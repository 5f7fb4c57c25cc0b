"""Tests of alerts and reports sent by hand: no way to fill the mailboxes of strangers."""

from pathlib import Path
from typing import Any

from tests.query.query_service import InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


def save(service: InProcessService, records: str, website: str = "shop", **body: Any) -> str:
    """The path of a new saved record."""
    query = {"website_id": website}
    reply = service.ask("POST", f"/v1/{records}", body, key="acme-admin", **query)
    assert reply.status == 201, reply.json
    return f"/v1/{records}/{reply.json['data']['id']}"


def strangers(count: int) -> list[str]:
    return [f"stranger{i}@elsewhere.example" for i in range(count)]


def test_an_organization_sends_two_hundred_mails_an_hour_by_hand(
    service: InProcessService,
) -> None:
    alert = save(service, "alerts", name="a", condition="nothing", recipients=strangers(20))
    report = save(service, "reports", "blog", name="r", recipients=strangers(50))

    asked = [f"{alert}/test"] * 5 + [f"{report}/send"] * 3 + [f"{alert}/test"]
    replies = [service.ask("POST", path, {}, key="acme-admin") for path in asked]

    assert [reply.status for reply in replies] == [200] * 7 + [429] * 2
    assert replies[-1].json["code"] == "RATE_LIMIT_EXCEEDED"
    assert "200 deliveries an hour" in replies[-1].json["error"]
    assert int(replies[-1].headers["retry-after"]) == 3600
