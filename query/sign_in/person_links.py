"""Links for people: invitations and new passwords, mailed, or shown to whoever made them."""

import hashlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct

from schemas.mail.mailer import Mailer, MailNotSent
from schemas.mail.message import Mail
from schemas.mail.sign_in_mails import invitation_mail, password_reset_mail
from schemas.registry import Account, Member
from schemas.registry.signed_tokens import SignedToken, TokenKind
from schemas.runtime.clock import format_instant

log = logging.getLogger(__name__)

RESET_MS = 3_600_000
INVITATION_MS = 7 * 24 * 3_600_000
MAILED = "mailed"
"""Ends the subject of a link that was mailed: whoever has it reads mail at that address."""
INVITATION_PATH, PASSWORD_PATH = "/invitation", "/sign-in/password"


class SentLink(Struct, rename="camel"):
    """A link that works once: mailed, or to be passed on."""

    link: Annotated[str | None, Meta(description="null when it was mailed; it is not shown again")]
    mailed: bool
    problem: Annotated[str | None, Meta(description="why it was not mailed, though mail is set up")]
    expires: str


class PersonLinks(Struct, frozen=True):
    """Makes links for people, and mails them where there is a mailer."""

    query_url: str
    sign: Callable[[SignedToken], str]
    mailer: Mailer | None = None

    async def invite(self, member: Member, organization: str, now_ms: int) -> SentLink:
        """The invitation of a member to the organization of that name.

        The link says whether it was mailed: whoever opens such a one reads mail at that address.
        """
        ends_at = now_ms + INVITATION_MS

        def link(is_mailed: bool) -> str:
            subject = f"{member.id}-{MAILED}" if is_mailed else member.id
            token = SignedToken(TokenKind.INVITATION, str(member.invitation), subject, ends_at)
            return self._address(INVITATION_PATH, token)

        def mail(address: str, end: datetime) -> Mail:
            return invitation_mail(member.email, organization, member.invited_by, address, end)

        return await self._send(ends_at, link, mail)

    async def reset_password(self, account: Account, now_ms: int) -> SentLink:
        """A link that sets a new password once: it names the present one."""
        ends_at = now_ms + RESET_MS

        def link(is_mailed: bool) -> str:
            subject = f"{account.id}-{MAILED}" if is_mailed else account.id
            kind = TokenKind.PASSWORD_RESET
            token = SignedToken(kind, password_mark(account), subject, ends_at)
            return self._address(PASSWORD_PATH, token)

        def mail(address: str, end: datetime) -> Mail:
            return password_reset_mail(account.email, address, end)

        return await self._send(ends_at, link, mail)

    def _address(self, path: str, token: SignedToken) -> str:
        return f"{self.query_url}{path}#{self.sign(token)}"

    async def _send(
        self,
        ends_at: int,
        link: Callable[[bool], str],
        mail: Callable[[str, datetime], Mail],
    ) -> SentLink:
        problem, expires = None, str(format_instant(ends_at))
        if self.mailer is not None:
            try:
                end = datetime.fromtimestamp(ends_at / 1000, UTC)
                await self.mailer.send(mail(link(True), end))
            except MailNotSent as error:
                problem = str(error)
                log.warning("mail not sent", extra={"reason": problem})
            else:
                return SentLink(None, True, None, expires)
        return SentLink(link(False), False, problem, expires)


def password_mark(account: Account) -> str:
    """Tells the password of an account from the ones that it had before."""
    return hashlib.sha256((account.password_hash or "").encode()).hexdigest()[:32]
