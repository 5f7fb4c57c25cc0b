"""A mail server on loopback that keeps what it is sent, with TLS, login and replies as told."""

import ssl
from collections.abc import Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage
from types import TracebackType
from typing import Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.installation import free_port
from tests.tls_proxy import Certificates

TAKEN = "250 OK"


class SmtpServer:
    """Takes every mail, unless `replies` has another reply to RCPT or DATA.

    With certificates it requires STARTTLS, or speaks TLS from the start with `starts_with_tls`;
    with a login it requires that.
    """

    def __init__(
        self,
        certificates: Certificates | None = None,
        starts_with_tls: bool = False,
        login: tuple[str, str] | None = None,
        replies: Mapping[str, str] | None = None,
    ) -> None:
        self.port = free_port()
        self.messages: list[EmailMessage] = []
        self.recipients: list[str] = []
        self._replies = replies or {}
        self._login = login
        tls = None
        if certificates is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificates.server_file)
        self._controller = Controller(
            self,
            hostname="127.0.0.1",
            port=self.port,
            ssl_context=tls if starts_with_tls else None,
            tls_context=None if starts_with_tls else tls,
            require_starttls=tls is not None and not starts_with_tls,
            auth_require_tls=tls is not None and not starts_with_tls,
            authenticator=self._authenticate,
        )

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._controller.stop()

    async def handle_MAIL(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self._login and not session.authenticated:
            return "530 5.7.0 Authentication required"
        envelope.mail_from = address
        return TAKEN

    async def handle_RCPT(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = self._replies.get("RCPT", TAKEN)
        if reply == TAKEN:
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        reply = self._replies.get("DATA", TAKEN)
        if reply == TAKEN:
            assert isinstance(envelope.content, bytes)
            message = message_from_bytes(
                envelope.content.replace(b"\r\n", b"\n"), policy=policy.default
            )
            assert isinstance(message, EmailMessage)
            self.messages.append(message)
            self.recipients += envelope.rcpt_tos
        return reply

    def _authenticate(
        self,
        server: SMTP,
        session: Session,
        envelope: Envelope,
        mechanism: str,
        login: object,
    ) -> AuthResult:
        assert isinstance(login, LoginPassword)
        given = (login.login.decode(), login.password.decode())
        return AuthResult(success=given == self._login, handled=False)
