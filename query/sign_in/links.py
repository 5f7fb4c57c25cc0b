"""Links for people: invitations and new passwords, mailed, or shown to whoever made them."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct
from schemas.mail.mailer import MailNotSent
from schemas.mail.message import Mail
from schemas.mail.sign_in_mails import invitation_mail, password_reset_mail

from query.dependencies import QueryDependencies
from query.sign_in.person_sign_in import INVITATION_MS, MAILED, reset_token
from schemas.registry import Account, Member
from schemas.registry.signed_tokens import SignedToken, TokenKind
from schemas.runtime.clock import format_instant

log = logging.getLogger(__name__)

INVITATION_PATH, PASSWORD_PATH = "/invitation", "/sign-in/password"


class SentLink(Struct, rename="camel"):
    """A link that works once: mailed, or to be passed on."""

    link: Annotated[str | None, Meta(description="null when it was mailed; it is not shown again")]
    mailed: bool
    problem: Annotated[str | None, Meta(description="why it was not mailed, though mail is set up")]
    expires: str


async def send_invitation(dependencies: QueryDependencies, member: Member) -> SentLink:
    """Mail the invitation of a member, or show it.

    The link says whether it was mailed: whoever opens such a one reads mail at that address.
    """
    organization = dependencies.registry.organizations[member.organization_id]
    ends_at = dependencies.clock() + INVITATION_MS

    def link(is_mailed: bool) -> str:
        subject = f"{member.id}-{MAILED}" if is_mailed else member.id
        token = SignedToken(TokenKind.INVITATION, str(member.invitation), subject, ends_at)
        return _address(dependencies, INVITATION_PATH, token)

    def mail(address: str, end: datetime) -> Mail:
        return invitation_mail(member.email, organization.name, member.invited_by, address, end)

    return await _send(dependencies, ends_at, link, mail)


async def send_reset(dependencies: QueryDependencies, account: Account) -> SentLink:
    """Mail a link that sets a new password, or show it."""
    token = reset_token(account, dependencies.clock())

    def mail(address: str, end: datetime) -> Mail:
        return password_reset_mail(account.email, address, end)

    return await _send(
        dependencies,
        token.ends_at,
        lambda _is_mailed: _address(dependencies, PASSWORD_PATH, token),
        mail,
    )


def _address(dependencies: QueryDependencies, path: str, token: SignedToken) -> str:
    return f"{dependencies.access.query_url}{path}#{dependencies.sign_ins.sign(token)}"


async def _send(
    dependencies: QueryDependencies,
    ends_at: int,
    link: Callable[[bool], str],
    mail: Callable[[str, datetime], Mail],
) -> SentLink:
    mailer, problem = dependencies.access.mailer, None
    expires = str(format_instant(ends_at))
    if mailer is not None:
        try:
            await mailer.send(mail(link(True), datetime.fromtimestamp(ends_at / 1000, UTC)))
        except MailNotSent as error:
            problem = str(error)
            log.warning("mail not sent", extra={"reason": problem})
        else:
            return SentLink(None, True, None, expires)
    return SentLink(link(False), False, problem, expires)
