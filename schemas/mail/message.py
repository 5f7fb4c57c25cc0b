"""A mail as values, and as the message that a server takes."""

import re
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import Policy
from email.utils import make_msgid

from msgspec import Struct

MAX_LINE_BYTES = 998
"""RFC 5322, 2.1.1."""
_ID = re.compile(r"[A-Za-z0-9_.-]{1,120}")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+")
_URL = re.compile(r"https?://[\x21-\x3b\x3d\x3f-\x7e]+")
_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


class InlineImage(Struct, frozen=True):
    """An image that the HTML shows as `<img src="cid:…">`."""

    cid: str
    """Letters, digits and `_.-`; unique in the mail."""
    png: bytes

    def __repr__(self) -> str:
        return f"InlineImage({self.cid!r}, {len(self.png)} bytes)"


class Attachment(Struct, frozen=True):
    """A file that comes with a mail."""

    name: str
    """Other characters than ASCII letters, digits and `._-` become `-`, for all mail programs."""
    media_type: str
    """Without parameters, as `application/pdf`; text is UTF-8."""
    content: bytes

    def __repr__(self) -> str:
        return f"Attachment({self.name!r}, {len(self.content)} bytes)"


class Mail(Struct, frozen=True):
    """One mail to one person, once as text and once as HTML."""

    to: str
    subject: str
    text: str
    html: str
    message_id: str = ""
    """What stands before the `@` of the Message-ID, so that a mail which is sent again is
    recognized: letters, digits and `_.-`; empty: a random one."""
    unsubscribe: str = ""
    """URL whose POST ends mails like this one (RFC 8058), for the button of mail programs."""
    images: tuple[InlineImage, ...] = ()
    attachments: tuple[Attachment, ...] = ()

    def __repr__(self) -> str:
        return f"Mail({self.subject!r})"


class UnfoldedHeader(str):
    """A header whose value stays in one line: `email` encodes long words, and URLs are not read so.

    It has what the policies of `email` expect of a header: name, defects and `fold`.
    """

    name: str
    defects: tuple[Exception, ...] = ()
    max_count = 1

    def __new__(cls, name: str, value: str) -> "UnfoldedHeader":
        header = super().__new__(cls, value)
        header.name = name
        return header

    def fold(self, *, policy: Policy) -> str:
        """The line of the message."""
        return f"{self.name}: {self}{policy.linesep}"


def build_message(mail: Mail, sender: Address, to: Address, now: datetime) -> EmailMessage:
    """The message; ValueError if the subject has a line break, which could begin a header.

    Names in it are no encoded words (RFC 2047), which could have one inside.
    It is marked as automatic (RFC 3834), so that nobody's absence notice answers it.
    The same error if an id, media type or URL is not as `Mail` says.
    """
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to
    message["Subject"] = mail.subject.replace("=?", "= ?")
    message["Date"] = now
    message["Message-ID"] = _message_id(mail.message_id, sender.domain)
    message["Auto-Submitted"] = "auto-generated"
    if mail.unsubscribe:
        for header in _unsubscribe_headers(mail.unsubscribe):
            message[header.name] = header
    message.set_content(mail.text)
    message.add_alternative(mail.html, subtype="html")
    if mail.images:
        _add_images(message, mail.images)
    for attachment in mail.attachments:
        _add_attachment(message, attachment)
    return message


def _message_id(local_part: str, domain: str) -> str:
    if not local_part:
        return make_msgid(domain=domain)
    return f"<{_matched(_ID, local_part, 'message id')}@{domain}>"


def _unsubscribe_headers(url: str) -> tuple[UnfoldedHeader, UnfoldedHeader]:
    header = UnfoldedHeader("List-Unsubscribe", f"<{_matched(_URL, url, 'URL')}>")
    if len(header.name) + len(header) + 2 > MAX_LINE_BYTES:
        raise ValueError("the URL is longer than a line of a mail")
    return header, UnfoldedHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")


def _add_images(message: EmailMessage, images: tuple[InlineImage, ...]) -> None:
    """Beside the HTML, as parts of one `multipart/related`."""
    *_, html = message.iter_parts()
    for image in images:
        cid = _matched(_ID, image.cid, "content id")
        html.add_related(
            image.png,
            maintype="image",
            subtype="png",
            cid=f"<{cid}>",
            filename=f"{cid}.png",
            disposition="inline",
        )


def _add_attachment(message: EmailMessage, attachment: Attachment) -> None:
    media_type = _matched(_MEDIA_TYPE, attachment.media_type, "media type")
    maintype, _, subtype = media_type.partition("/")
    message.add_attachment(
        attachment.content,
        maintype=maintype,
        subtype=subtype,
        filename=_NOT_IN_FILE_NAMES.sub("-", attachment.name),
        params={"charset": "utf-8"} if maintype == "text" else None,
    )


def _matched(pattern: re.Pattern[str], text: str, name: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(f"not a valid {name} of a mail: {text[:80]!r}")
    return text
