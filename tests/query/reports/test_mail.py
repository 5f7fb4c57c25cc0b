"""The mail of a report: its parts, headers, and what strangers cannot do with it."""

from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.headerregistry import Address
from email.message import EmailMessage
from html.parser import HTMLParser

from query.reports.charts import chart_of
from query.reports.content import Content
from query.reports.mail import Links, report_html, report_mail, report_text
from query.reports.texts import alt_text
from schemas.mail.message import Attachment, build_message
from tests.query.reports.report_values import a_content

DASHBOARD = "https://stats.example/shop/overview?period=2026-11-23..2026-11-29"
UNSUBSCRIBE = "https://stats.example/v1/unsubscribe?token=stop.a.rep_b-c.1.d"
LINKS = Links(DASHBOARD, UNSUBSCRIBE)


def sent(content: Content, *attachments: Attachment) -> EmailMessage:
    """The message as a mail program reads it."""
    mail = report_mail("a@shop.example", content, LINKS, chart_of(content), attachments, "dlv_1")
    sender, to = Address(addr_spec="t@stats.example"), Address(addr_spec="a@shop.example")
    built = build_message(mail, sender, to, datetime(2026, 11, 30, 7, tzinfo=UTC))
    message = message_from_bytes(built.as_bytes(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


class Tags(HTMLParser):
    """The tags of a document with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_mail_has_text_html_chart_and_file() -> None:
    message = sent(a_content(), Attachment("r.csv", "text/csv", b"section\r\n"))

    assert [part.get_content_type() for part in message.walk()] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "text/csv",
    ]
    [chart] = [part for part in message.walk() if part.get_content_type() == "image/png"]
    assert chart["Content-ID"] == "<chart>"
    assert chart.get_content().startswith(b"\x89PNG")


def test_a_mail_can_be_unsubscribed_from_in_one_click() -> None:
    message = sent(a_content())

    assert (message["List-Unsubscribe"], message["List-Unsubscribe-Post"]) == (
        f"<{UNSUBSCRIBE}>",
        "List-Unsubscribe=One-Click",
    )
    assert message["Subject"] == "shop.example: Weekly numbers, 23 – 29 Nov"
    assert message["Message-ID"] == "<dlv_1@stats.example>"


def test_the_html_loads_nothing_and_leads_to_two_pages() -> None:
    tags = Tags(report_html(a_content(), LINKS, "cid:chart")).tags

    images = [attributes for tag, attributes in tags if tag == "img"]
    assert [(one["src"], one["alt"]) for one in images] == [("cid:chart", alt_text(a_content()))]
    links = [attributes["href"] for tag, attributes in tags if tag == "a"]
    assert links == [DASHBOARD, UNSUBSCRIBE]
    assert {tag for tag, _ in tags} & {"script", "style", "link", "iframe", "form"} == set()


def test_the_html_is_of_tables_with_inline_styles() -> None:
    html = report_html(a_content(), LINKS, "cid:chart")

    for modern in ("display:flex", "display:grid", "position:", "class=", "var(", "<style"):
        assert modern not in html
    assert "max-width:600px" in html
    assert len(html.encode()) < 100_000  # Gmail cuts longer ones


def test_names_of_strangers_are_texts() -> None:
    content = a_content(name="<img src=x onerror=alert(1)>", website='"><a href="//evil.example">')

    html, text = report_html(content, LINKS, "cid:chart"), report_text(content, LINKS)

    assert "onerror=alert(1)>" not in html
    assert "<script" not in html
    for shown in (html, text):
        assert "evil.example" not in shown
        assert "https://evil" not in shown
        assert "\u202e" not in shown


def test_the_text_reads_well() -> None:
    text = report_text(a_content(), LINKS).replace("\u200c", "")

    assert text.startswith(
        """\
Weekly numbers
shop.example
23 – 29 November 2026

Visitors         1,234         ▲ 23%
Visits           1,500          = 0%
Page views       4,000         ▼ 20%
Bounce rate     43.25%  ▼ 2.1 points
Visit duration  1m 32s

Visitors by day
---------------
Mon 23  10
Tue 24  20
"""
    )
    assert text.endswith(
        f"""\
Top pages
---------
Page                                         Page views         Visitors
/                                                 3,000  ▲ 50%       900
https://evil.example/?<script>alert(1)</sc…         700  ▲ new       300
/команда/日本語                                        300   = 0%        34

By browser
----------
browser_name  errors
Firefox            3

Old
---
This exploration was deleted.

Open the dashboard:
{DASHBOARD}

Changes are since the week before.

Days are those of Europe/Berlin. You get this weekly report because
somebody who manages shop.example added your address to it, in Tidemark
at stats.example.

Stop these mails:
{UNSUBSCRIBE}
"""
    )


def test_a_preview_has_no_link_to_unsubscribe() -> None:
    links = Links(DASHBOARD)

    assert "Stop these mails" not in report_html(a_content(), links, "cid:chart")
    assert "Stop these mails" not in report_text(a_content(), links)
