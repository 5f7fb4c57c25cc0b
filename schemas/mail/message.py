"""A mail as values, and as the message that a server takes."""

from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import make_msgid

from msgspec import Struct


class Mail(Struct, frozen=True):
    """One mail to one person, once as text and once as HTML."""

    to: str
    subject: str
    text: str
    html: str

    def __repr__(self) -> str:
        return f"Mail({self.subject!r})"


def build_message(mail: Mail, sender: Address, to: Address, now: datetime) -> EmailMessage:
    """The message; ValueError if the subject has a line break, which could begin a header.

    Names in it are no encoded words (RFC 2047), which could have one inside.
    It is marked as automatic (RFC 3834), so that nobody's absence notice answers it.
    """
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to
    message["Subject"] = mail.subject.replace("=?", "= ?")
    message["Date"] = now
    message["Message-ID"] = make_msgid(domain=sender.domain)
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    message.add_alternative(mail.html, subtype="html")
    return message
