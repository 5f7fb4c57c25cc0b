"""A report that is sent: from the request to the mail in a mailbox, and back by its last link."""

import re
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

from tests.flow.tenant import Tenant
from tests.http_client import call
from tests.installation import eventually
from tests.query.lake import a_view
from tests.smtp_server import SmtpServer
from tests.web.query_alone import WEBSITE, query_alone

YESTERDAY = datetime.now(UTC).date() - timedelta(days=1)


def part(message: EmailMessage, media_type: str) -> str:
    """The text of a part of a mail."""
    [found] = [one for one in message.walk() if one.get_content_type() == media_type]
    return str(found.get_content())


def test_a_report_is_mailed_with_its_numbers_and_stopped_by_its_link(tmp_path: Path) -> None:
    view = a_view("/pricing", at=f"{YESTERDAY}T10:00:00Z")
    with SmtpServer() as server:
        settings = {
            "smtp_url": f"smtp://127.0.0.1:{server.port}",
            "mail_from": "Tidemark <t@stats.example>",
        }
        with query_alone(tmp_path, [view], **settings) as tenant:
            report = {
                "name": "Daily numbers",
                "schedule": "daily",
                "attach": "csv",
                "recipients": ["a@shop.example"],
            }
            report_id = _post(tenant, f"/v1/reports?website_id={WEBSITE}", report)["id"]

            _post(tenant, f"/v1/reports/{report_id}/send")

            eventually(lambda: server.messages, 60)
            [message] = server.messages
            assert f"Daily numbers, {YESTERDAY.day} " in str(message["Subject"])
            assert re.search(r"^Page views +1 ", part(message, "text/plain"), re.MULTILINE)
            assert ">/pricing<" in part(message, "text/html")
            csv = part(message, "text/csv").splitlines()
            assert f"Overview,{YESTERDAY}/{YESTERDAY},Page views,1,0" in csv
            _one_click(tenant, str(message["List-Unsubscribe"]))
            shown = call(
                "GET", f"{tenant.stack.query_url}/v1/reports/{report_id}", None, _key(tenant)
            )
            assert shown.json["data"]["recipients"] == []


def _post(tenant: Tenant, path: str, body: object = None) -> dict[str, str]:
    reply = call("POST", f"{tenant.stack.query_url}{path}", body, _key(tenant))
    assert reply.status in (200, 201), reply.body
    data: dict[str, str] = reply.json["data"]
    return data


def _one_click(tenant: Tenant, header: str) -> None:
    """As mail programs do it (RFC 8058)."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    url = header.strip("<>")
    assert url.startswith(tenant.stack.query_url)
    assert call("POST", url, b"List-Unsubscribe=One-Click", form).status == 200


def _key(tenant: Tenant) -> dict[str, str]:
    return {"x-api-key": tenant.key}
