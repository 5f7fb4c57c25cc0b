"""Mails arrive at a real server over TLS and after a login, or the reason is given."""

import asyncio
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.mail.mailer import Mailer, MailNotSent, MailRefused, MailUnavailable, open_mailer
from schemas.mail.message import Mail, build_message
from schemas.runtime.mail_access import mail_server, single_address
from schemas.runtime.settings import Settings
from tests.installation import free_port
from tests.smtp_server import SmtpServer
from tests.tls_proxy import Certificates

SENDER = "Tidemark für alle <stats@shop.example>"
LINK = "https://stats.shop.example/invitation#" + "t0ken" * 30
MAIL = Mail("ann@shop.example", "Grüße", f"Bonjour:\n{LINK}\n", f'<a href="{LINK}">à bientôt</a>')
CLOSE_SECONDS = 0.05
"""In which the event loop closes connections."""
NOW = 1_795_219_200_000


def send(url: str, mail: Mail = MAIL, seconds: float = 5.0, **others: Any) -> None:
    server = mail_server(Settings(smtp_url=url, mail_from=SENDER, **others))
    assert server is not None
    mailer = Mailer(server, lambda: NOW, seconds)

    async def run() -> None:
        try:
            await mailer.send(mail)
        finally:
            await asyncio.sleep(CLOSE_SECONDS)

    asyncio.run(run())


def failure(url: str, mail: Mail = MAIL, seconds: float = 5.0, **others: Any) -> MailNotSent:
    with pytest.raises(MailNotSent) as raised:
        send(url, mail, seconds, **others)
    assert "t0ken" not in str(raised.value)
    return raised.value


def test_a_mail_arrives_as_text_and_html() -> None:
    with SmtpServer() as server:
        send(f"smtp://127.0.0.1:{server.port}")

    [message] = server.messages
    assert server.recipients == ["ann@shop.example"]
    assert {name: message[name] for name in ("From", "To", "Subject", "Auto-Submitted")} == {
        "From": SENDER,
        "To": "ann@shop.example",
        "Subject": "Grüße",
        "Auto-Submitted": "auto-generated",
    }
    assert message["Date"] == "Sat, 21 Nov 2026 00:00:00 +0000"
    assert message["Message-ID"].endswith("@shop.example>")
    parts = [message.get_body((kind,)) for kind in ("plain", "html")]
    assert [part and part.get_content() for part in parts] == [MAIL.text, MAIL.html + "\n"]


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_mail_is_sent_over_tls_after_a_login(scheme: str, tmp_path: Path) -> None:
    ours, others = Certificates(tmp_path / "ours"), Certificates(tmp_path / "others")
    password = tmp_path / "password"
    password.write_text("pass word\n")
    login = ("stats@shop.example", "pass word")
    with SmtpServer(ours, starts_with_tls=scheme == "smtps", login=login) as server:
        place = f"127.0.0.1:{server.port}"
        secrets: Any = {
            "smtp_password_file": str(password),
            "smtp_ca_file": str(ours.authority_file),
        }

        send(f"{scheme}://stats%40shop.example@{place}", **secrets)

        wrong_login = failure(f"{scheme}://ann@{place}", **secrets)
        secrets["smtp_ca_file"] = str(others.authority_file)
        wrong_authority = failure(f"{scheme}://stats%40shop.example@{place}", **secrets)

    assert len(server.messages) == 1
    assert isinstance(wrong_login, MailRefused)
    assert str(wrong_login) == f"{place} replied 535 5.7.8 Authentication credentials invalid"
    assert isinstance(wrong_authority, MailUnavailable)
    assert "certificate verify failed" in str(wrong_authority)


def test_nothing_is_sent_to_a_server_without_the_tls_that_is_needed(tmp_path: Path) -> None:
    authority = str(Certificates(tmp_path).authority_file)
    with SmtpServer() as server:
        error = failure(f"smtp://user@127.0.0.1:{server.port}", smtp_ca_file=authority)

    assert server.messages == []
    assert isinstance(error, MailRefused)
    assert "STARTTLS extension not supported" in str(error)


@pytest.mark.parametrize(
    ("command", "reply", "kind"),
    [
        ("RCPT", "550 5.1.1 no such user", MailRefused),
        ("RCPT", "451 4.7.1 greylisted", MailUnavailable),
        ("DATA", "554 5.7.1 spam", MailRefused),
        ("DATA", "452 4.3.1 disk full", MailUnavailable),
    ],
)
def test_a_refusal_says_whether_it_is_permanent(
    command: str, reply: str, kind: type[MailNotSent]
) -> None:
    with SmtpServer(replies={command: reply}) as server:
        error = failure(f"smtp://127.0.0.1:{server.port}")

    assert isinstance(error, kind)
    assert str(error) == f"127.0.0.1:{server.port} replied {reply}"


def test_a_reply_that_repeats_the_link_is_shown_without_it() -> None:
    with SmtpServer(replies={"DATA": f"554 bad link {LINK} found"}) as server:
        error = failure(f"smtp://127.0.0.1:{server.port}")

    assert str(error) == f"127.0.0.1:{server.port} replied 554 bad link … found"


def test_a_server_that_is_silent_or_away_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        waited = failure(f"smtp://127.0.0.1:{port}", seconds=0.2)
    away = failure(f"smtp://127.0.0.1:{(closed := free_port())}")

    assert isinstance(waited, MailUnavailable)
    assert str(waited) == f"127.0.0.1:{port} did not answer within 0.2 s"
    assert isinstance(away, MailUnavailable)
    assert str(away).startswith(f"127.0.0.1:{closed}: Error connecting")


@pytest.mark.parametrize(
    "to",
    [
        "",
        "ann",
        "ann@",
        "ann@[",
        "<ann@",
        "ann@shop.example\r\nBcc: bob@shop.example",
        "ann@shop.example, bob@shop.example",
        "ann@shop.example> SIZE=1",
    ],
)
def test_what_is_not_one_address_gets_no_mail(to: str) -> None:
    error = failure("smtp://127.0.0.1:1", Mail(to, "Hello", "text", "html"))

    assert isinstance(error, MailRefused)
    assert str(error) == "the address of the recipient is not valid"


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n"])
def test_a_subject_begins_no_header(line_break: str) -> None:
    mail = Mail("ann@shop.example", f"Hi{line_break}Bcc: bob@shop.example", "text", "html")
    sender, to = single_address(SENDER), single_address(mail.to)
    assert sender is not None
    assert to is not None

    with pytest.raises(ValueError, match="may not contain linefeed or carriage return"):
        build_message(mail, sender, to, datetime(2026, 11, 21, tzinfo=UTC))


def test_without_a_server_there_is_no_mailer() -> None:
    assert open_mailer(Settings()) is None


def test_a_server_that_takes_a_mail_and_hangs_up_has_it() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    replies = [b"250 a\r\n", b"250 ok\r\n", b"250 ok\r\n", b"354 go\r\n", b"250 queued\r\n"]

    def serve() -> None:
        connection, _ = listener.accept()
        connection.sendall(b"220 a\r\n")
        for reply in replies:
            text = b""
            end = b"\r\n.\r\n" if reply == replies[-1] else b"\r\n"
            while not text.endswith(end):
                text += connection.recv(65_536)
            if reply == replies[-1]:  # reset, not closed
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(reply)
        time.sleep(0.02)
        connection.close()

    with ThreadPoolExecutor(1) as threads:
        served = threads.submit(serve)
        send(f"smtp://127.0.0.1:{listener.getsockname()[1]}")
        served.result()
    listener.close()


@pytest.mark.parametrize("replies", [{"RCPT": "550 5.1.1 no such mailbox"}, None])
def test_tenants_are_told_no_host_of_the_mail_server(replies: dict[str, str] | None) -> None:
    if replies is None:
        error = failure(f"smtp://127.0.0.1:{free_port()}")
        assert error.public == "the mail server cannot be reached"
    else:
        with SmtpServer(replies=replies) as server:
            error = failure(f"smtp://127.0.0.1:{server.port}")
        assert error.public == "the mail server replied 550 5.1.1 no such mailbox"
    assert "127.0.0.1" in str(error)
    assert "127.0.0.1" not in error.public
