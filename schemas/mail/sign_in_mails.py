"""Mails about signing in: the invitation to an organization, and the link for a new password."""

from datetime import UTC, datetime

from schemas.mail.layout import MailBody, as_html, as_text
from schemas.mail.message import Mail


def invitation_mail(
    to: str, organization: str, invited_by: str, link: str, expires: datetime
) -> Mail:
    """Whoever has the link becomes a member of the organization."""
    inviter, name = _one_line(invited_by), _one_line(organization)
    body = MailBody(
        heading=f"Join {name} on Tidemark",
        sentences=(f"{inviter} invites you to the web analytics of {name}.",),
        button="Accept the invitation",
        link=link,
        notes=(
            f"The link works once, until {_instant(expires)}. It is yours alone: please do not "
            "forward it.",
            "If you did not expect this invitation, ignore this mail.",
        ),
    )
    return _mail(to, f"{inviter} invites you to {name} on Tidemark", body)


def password_reset_mail(to: str, link: str, expires: datetime) -> Mail:
    """Whoever has the link sets the password of the account."""
    body = MailBody(
        heading="Set a new password",
        sentences=(f"A new password was requested for {_one_line(to)}.",),
        button="Set a new password",
        link=link,
        notes=(
            f"The link works once, until {_instant(expires)}. It is yours alone: please do not "
            "forward it.",
            "If you did not request it, ignore this mail: your password stays as it is.",
        ),
    )
    return _mail(to, "Set a new password for Tidemark", body)


def _mail(to: str, subject: str, body: MailBody) -> Mail:
    return Mail(to, subject, as_text(body), as_html(body))


def _one_line(name: str) -> str:
    """A name that people chose, for a subject."""
    return " ".join(name.split())


def _instant(at: datetime) -> str:
    """As `7 December 2026, 10:30 UTC`."""
    utc = at.astimezone(UTC)
    return f"{utc.day} {utc:%B %Y, %H:%M} UTC"
