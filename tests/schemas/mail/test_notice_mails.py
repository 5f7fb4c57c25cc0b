"""Mails about alerts and reports: facts, links, images and files, and headers of our own only."""

import asyncio
import zlib
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from struct import pack

import pytest
from msgspec import structs

from schemas.mail.mailer import Mailer
from schemas.mail.message import Attachment, InlineImage, Mail, build_message
from schemas.mail.notice_mails import notice_mail
from schemas.runtime.mail_access import mail_server
from schemas.runtime.settings import Settings
from tests.smtp_server import SmtpServer

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC)
LINK = "https://stats.shop.example/shop.example/errors?from=2026-12-01&to=2026-12-01"
UNSUBSCRIBE = "https://stats.shop.example/v1/unsubscribe?token=" + "aB3_-." * 60
FACTS = (("Page", "/checkout"), ("Bound", "10"))


def alert_mail(**changes: object) -> Mail:
    mail = notice_mail(
        "ann@shop.example",
        "Errors above 10 on shop.example",
        "14 errors from 09:00 to 10:00.",
        FACTS,
        LINK,
        website="shop.example",
        delivery_id="dlv_01",
        unsubscribe=UNSUBSCRIBE,
    )
    return structs.replace(mail, **changes)


def message_of(mail: Mail) -> EmailMessage:
    sender, to = Address("T", "t", "shop.example"), Address("", "ann", "shop.example")
    return build_message(mail, sender, to, NOW)


def received(mail: Mail) -> EmailMessage:
    """The mail as a real server was given it."""

    async def run(port: int) -> None:
        url = f"smtp://127.0.0.1:{port}"
        server = mail_server(Settings(smtp_url=url, mail_from="stats@shop.example"))
        assert server is not None
        await Mailer(server, lambda: int(NOW.timestamp() * 1000)).send(mail)
        await asyncio.sleep(0.05)

    with SmtpServer() as server:
        asyncio.run(run(server.port))
    [message] = server.messages
    return message


def png() -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return pack(">I", len(content)) + kind + content + pack(">I", checksum)

    header = pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0\x80")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b""))
    )


def outline(message: EmailMessage) -> list[str]:
    return [part.get_content_type() for part in message.walk()]


def test_a_notice_says_what_happened_with_its_facts() -> None:
    mail = alert_mail()

    assert (mail.to, mail.subject) == ("ann@shop.example", "Errors above 10 on shop.example")
    assert mail.text == (
        "Errors above 10 on shop.example\n\n"
        "14 errors from 09:00 to 10:00.\n\n"
        "Page: /checkout\nBound: 10\n\n"
        f"Open shop.example:\n{LINK}\n\n"
        f"Stop these mails:\n{UNSUBSCRIBE}\n\n"
        "-- \nTidemark at stats.shop.example\n"
    )
    assert ">Page</td>" in mail.html
    assert ">/checkout</td>" in mail.html
    assert f'<a href="{UNSUBSCRIBE}" ' in mail.html


def test_a_test_mail_has_nothing_to_unsubscribe_from() -> None:
    mail = notice_mail(
        "a@b.example", "Test", "", (), LINK, website="b.example", delivery_id="dlv_02"
    )

    assert "Stop these mails" not in mail.text + mail.html
    assert message_of(mail)["List-Unsubscribe"] is None


def test_a_delivery_that_is_sent_again_has_the_same_message_id() -> None:
    ids = {received(alert_mail())["Message-ID"] for _ in range(2)}

    assert ids == {"<dlv_01@shop.example>"}


def test_the_unsubscribe_headers_arrive_in_one_line() -> None:
    sent = message_of(alert_mail()).as_bytes()
    message = received(alert_mail())

    assert f"List-Unsubscribe: <{UNSUBSCRIBE}>\n".encode() in sent
    assert message["List-Unsubscribe"] == f"<{UNSUBSCRIBE}>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_images_belong_to_the_html_and_files_to_the_mail() -> None:
    mail = alert_mail(
        html='<p>Visitors</p><img src="cid:visitors.1" alt="">',
        images=(InlineImage("visitors.1", png()),),
        attachments=(
            Attachment("shop.example 2026-11.csv", "text/csv", "page,n\n/grüße,1\n".encode()),
            Attachment("report.pdf", "application/pdf", b"%PDF-1.7\n\xff\r\n"),
        ),
    )

    message = received(mail)

    assert outline(message) == [
        "multipart/mixed",
        *("multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png"),
        *("text/csv", "application/pdf"),
    ]
    [image] = [part for part in message.walk() if part.get_content_type() == "image/png"]
    assert image["Content-ID"] == "<visitors.1>"
    assert image.get_content_disposition() == "inline"
    assert image.get_payload(decode=True) == png()
    files = list(message.iter_attachments())
    assert [(file.get_filename(), file.get_payload(decode=True)) for file in files] == [
        ("shop.example-2026-11.csv", "page,n\n/grüße,1\n".encode()),
        ("report.pdf", b"%PDF-1.7\n\xff\r\n"),
    ]
    assert files[0].get_content_charset() == "utf-8"
    text = message.get_body(("plain",))
    assert text is not None
    assert text.get_content() == mail.text


def test_files_without_images_leave_text_and_html_alternatives() -> None:
    mail = alert_mail(attachments=(Attachment("a.csv", "text/csv", b"n\n"),))

    assert outline(message_of(mail)) == [
        "multipart/mixed",
        *("multipart/alternative", "text/plain", "text/html"),
        "text/csv",
    ]


EVIL = 'x\r\nBcc: eve@evil.example\r\n\r\n<b>"hi"'


def test_names_begin_no_header_and_no_markup() -> None:
    mail = notice_mail(
        "ann@shop.example",
        f"Alert {EVIL}",
        f"Sentence {EVIL}",
        ((f"Label {EVIL}", f"Value {EVIL}"),),
        LINK,
        website=f"shop.example{EVIL}",
        delivery_id="dlv_03",
    )
    attached = structs.replace(mail, attachments=(Attachment(EVIL, "text/csv", b""),))

    message = received(attached)

    assert mail.subject == 'Alert x Bcc: eve@evil.example <b>"hi"'
    assert [part["Bcc"] for part in message.walk()] == [None] * 5
    [file] = message.iter_attachments()
    assert file.get_filename() == "x-Bcc-eve-evil.example-b-hi-"
    assert "<b>" not in mail.html


@pytest.mark.parametrize(
    "changes",
    [
        {"message_id": "dlv_01>\r\nBcc: eve@evil.example"},
        {"message_id": "dlv 01"},
        {"unsubscribe": "https://stats.shop.example/\r\nBcc: eve@evil.example"},
        {"unsubscribe": "https://stats.shop.example/>, <mailto:eve@evil.example"},
        {"unsubscribe": "javascript:alert(1)"},
        {"unsubscribe": "https://stats.shop.example/" + "a" * 1000},
        {"images": (InlineImage("a>\r\nBcc: eve@evil.example", b""),)},
        {"attachments": (Attachment("a", "text/csv\r\nBcc: eve@evil.example", b""),)},
    ],
)
def test_values_of_headers_begin_no_other(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"of a mail"):
        message_of(alert_mail(**changes))


def test_a_mail_is_not_shown_with_its_content() -> None:
    mail = alert_mail(attachments=(Attachment("a.csv", "text/csv", b"secret"),))

    assert repr(mail) == "Mail('Errors above 10 on shop.example')"
    assert repr(mail.attachments) == "(Attachment('a.csv', 6 bytes),)"
