"""/v1/unsubscribe: the page, and what the button or a mail program sends."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from query.notify.unsubscribe import YEAR_MS, unsubscribe_url
from query.sign_in.sign_ins import SignIns
from schemas.registry import Alert, Report
from tests.http_client import Reply
from tests.query.query_service import NOW, InProcessService, reused, start_service

PEOPLE = ["Ann@shop.example", "b@shop.example"]


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


def save(service: InProcessService, kind: str, /, **body: Any) -> str:
    """The id of a new saved record of the shop."""
    reply = service.ask("POST", f"/v1/{kind}", body, key="acme-admin", website_id="shop")
    assert reply.status == 201, reply.json
    return str(reply.json["data"]["id"])


def link(service: InProcessService, record_id: str, recipient: str, now_ms: int = NOW) -> str:
    """The token of the link in a mail."""
    sign_ins = SignIns(service.store.sign_ins(), lambda: now_ms, 1)
    url = unsubscribe_url("https://stats.example", sign_ins, record_id, recipient, now_ms)
    assert urlsplit(url)[:3] == ("https", "stats.example", "/v1/unsubscribe")
    [token] = parse_qs(urlsplit(url).query)["token"]
    return token


def ask(service: InProcessService, method: str, token: str) -> Reply:
    """A request without a key."""
    return service.ask(method, "/v1/unsubscribe", key=None, token=token)


def test_the_page_names_the_report_and_changes_nothing(service: InProcessService) -> None:
    report_id = save(service, "reports", name="<b>Weekly", recipients=PEOPLE)
    [first, _] = service.store.get(Report, report_id).recipients

    reply = ask(service, "GET", link(service, report_id, first))

    page = reply.body.decode()
    assert reply.status == 200
    assert f"The report “&lt;b&gt;Weekly” of shop.example is sent to {first}." in page
    assert '<form method="post"><button type="submit">Stop these mails</button></form>' in page
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["content-security-policy"].startswith("default-src 'none'; style-src")
    assert "unsafe" not in reply.headers["content-security-policy"]
    assert len(service.store.get(Report, report_id).recipients) == 2


def test_the_button_removes_one_recipient_and_may_be_pressed_twice(
    service: InProcessService,
) -> None:
    report_id = save(service, "reports", name="Weekly", recipients=PEOPLE)
    token = link(service, report_id, "b@shop.example")
    before = service.store.get(Report, report_id).recipients

    replies = [ask(service, "POST", token), ask(service, "POST", token)]

    assert [reply.status for reply in replies] == [200, 200]
    assert all("These mails are stopped" in reply.body.decode() for reply in replies)
    assert service.store.get(Report, report_id).recipients == before[:1]
    assert "These mails are stopped" in ask(service, "GET", token).body.decode()


def test_a_link_of_an_alert_is_of_that_alert_alone(service: InProcessService) -> None:
    query = {"metrics": ["errors"]}
    body: dict[str, Any] = {"metricsQuery": query, "condition": "above", "threshold": 1}
    one, other = (
        save(service, "alerts", name=name, recipients=PEOPLE, **body) for name in ("A", "B")
    )

    assert "The alert “A”" in (
        ask(service, "GET", link(service, one, "b@shop.example")).body.decode()
    )
    ask(service, "POST", link(service, one, "b@shop.example"))

    counts = [len(service.store.get(Alert, name).recipients) for name in (one, other)]
    assert counts == [1, 2]


def test_a_link_of_a_deleted_report_has_nothing_to_stop(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly", recipients=PEOPLE)
    token = link(service, report_id, "b@shop.example")
    service.ask("DELETE", f"/v1/reports/{report_id}", key="acme-admin")

    assert [ask(service, method, token).status for method in ("GET", "POST")] == [200, 200]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_link_that_is_wrong_or_a_year_old_has_ended(
    service: InProcessService, method: str
) -> None:
    report_id = save(service, "reports", name="Weekly", recipients=PEOPLE)
    token = link(service, report_id, "b@shop.example")
    old = link(service, report_id, "b@shop.example", NOW - YEAR_MS)

    for text in ("", "x", token[:-1], old):
        reply = ask(service, method, text)
        assert (reply.status, "This link has ended" in reply.body.decode()) == (404, True)
    assert len(service.store.get(Report, report_id).recipients) == 2


def test_the_change_is_in_the_audit_trail(service: InProcessService) -> None:
    report_id = save(service, "reports", name="Weekly", recipients=PEOPLE)
    ask(service, "POST", link(service, report_id, "b@shop.example"))

    entries = service.ask("GET", "/v1/audit", key="acme-admin", record_id=report_id).json["data"]

    assert [entry["actor"] for entry in entries][:1] == ["unsubscribe"]
