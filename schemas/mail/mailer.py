"""Mailer: sends one mail over SMTP, or says why it could not.

A connection is made for each mail: they are few, and a connection that stays would have to be
watched. Errors name the server and its reply, never the content of the mail.
"""

import asyncio
import re
from contextlib import suppress
from datetime import UTC, datetime

from aiosmtplib import SMTP
from aiosmtplib.errors import SMTPException, SMTPRecipientsRefused, SMTPResponseException

from schemas.mail.message import Mail, build_message
from schemas.runtime.clock import Clock, now_ms
from schemas.runtime.mail_access import MailServer, mail_server, single_address
from schemas.runtime.settings import Settings

SEND_SECONDS = 15.0
QUIT_SECONDS = 1.0
MAX_REPLY_LENGTH = 200
SERVER = "the mail server"
PERMANENT = range(500, 600)
"""Replies after which the same mail is refused again (RFC 5321, 4.2.1)."""

_LINK = re.compile(r"\S+://\S+")


class MailNotSent(Exception):
    """The server did not take the mail; the text may be shown to an administrator.

    `public` may be shown to anybody: it does not name the server.
    """

    def __init__(self, problem: str, public: str = "") -> None:
        super().__init__(problem)
        self.public = public or problem


class MailRefused(MailNotSent):
    """It will not take it: wrong recipient, login or settings."""


class MailUnavailable(MailNotSent):
    """It may take it later."""


class Mailer:
    """Sends mails to one server."""

    def __init__(
        self, server: MailServer, clock: Clock = now_ms, send_seconds: float = SEND_SECONDS
    ) -> None:
        self._server = server
        self._clock = clock
        self._send_seconds = send_seconds

    async def send(self, mail: Mail) -> None:
        """Return when the server has taken the mail; MailRefused or MailUnavailable."""
        recipient = single_address(mail.to)
        if recipient is None:
            raise MailRefused("the address of the recipient is not valid")
        now = datetime.fromtimestamp(self._clock() / 1000, UTC)
        message = build_message(mail, self._server.sender, recipient, now)
        client = self._client()
        try:
            async with asyncio.timeout(self._send_seconds):
                await client.connect()
                await client.send_message(message)
            with suppress(SMTPException):
                await client.quit(timeout=QUIT_SECONDS)
        except (SMTPException, OSError) as error:
            raise self._not_sent(error) from None
        finally:
            client.close()

    def _client(self) -> SMTP:
        """The name that it greets with is the sender's domain: that of a container is none."""
        server = self._server
        return SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            local_hostname=server.sender.domain,
            use_tls=server.starts_with_tls,
            start_tls=server.tls is not None and not server.starts_with_tls,
            tls_context=server.tls,
            timeout=self._send_seconds,
        )

    def _not_sent(self, error: SMTPException | OSError) -> MailNotSent:
        place = f"{self._server.host}:{self._server.port}"
        if isinstance(error, SMTPRecipientsRefused):
            error = error.recipients[0]
        if isinstance(error, SMTPResponseException):
            kind = MailRefused if error.code in PERMANENT else MailUnavailable
            reply = f"replied {error.code} {_shown(error.message)}"
            return kind(f"{place} {reply}", f"{SERVER} {reply}")
        if isinstance(error, TimeoutError):
            silence = f"did not answer within {self._send_seconds:g} s"
            return MailUnavailable(f"{place} {silence}", f"{SERVER} {silence}")
        if isinstance(error, OSError):
            return MailUnavailable(f"{place}: {_shown(str(error))}", f"{SERVER} cannot be reached")
        return MailRefused(f"{place}: {_shown(error.message)}", f"{SERVER} cannot be used")


def open_mailer(settings: Settings) -> Mailer | None:
    """The mailer of the settings; None if they name no server."""
    server = mail_server(settings)
    return Mailer(server) if server else None


def _shown(reply: str) -> str:
    """A reply in one line, without links: a filter may repeat those of the mail."""
    return " ".join(_LINK.sub("…", reply).split())[:MAX_REPLY_LENGTH]
