"""The layout of all mails: a heading, sentences, one button, notes, and where the mail is from.

Mail programs read little CSS, so the HTML is tables with inline styles. No image and nothing else
is loaded from a server. The text says the same, the link on a line of its own.
"""

from html import escape
from urllib.parse import urlsplit

from msgspec import Struct

PRODUCT = "Tidemark"
BRAND, INK, MUTED = "#0f5c7a", "#16232b", "#5b6b75"
LINE, PAPER, GROUND = "#dde4e8", "#ffffff", "#f3f6f7"
FONT = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
TABLE = 'role="presentation" cellpadding="0" cellspacing="0" border="0"'


class MailBody(Struct, frozen=True):
    """What a mail says; all texts are plain text."""

    heading: str
    sentences: tuple[str, ...]
    button: str
    link: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"MailBody({self.heading!r})"


def as_text(body: MailBody) -> str:
    """The mail as plain text."""
    parts = (
        body.heading,
        *body.sentences,
        f"{body.button}:\n{body.link}",
        *body.notes,
        f"-- \n{_origin(body)}",
    )
    return "\n\n".join(parts) + "\n"


def as_html(body: MailBody) -> str:
    """The mail as an HTML document."""
    link, heading = escape(body.link), escape(body.heading)
    sentences = "".join(_paragraph(text, f"font-size:16px;color:{INK}") for text in body.sentences)
    notes = "".join(_paragraph(text, f"font-size:14px;color:{MUTED}") for text in body.notes)
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<title>{heading}</title>
</head>
<body style="margin:0;padding:0;background:{GROUND}">
<table {TABLE} width="100%" bgcolor="{GROUND}">
<tr><td align="center" style="padding:32px 16px;font-family:{FONT}">
<table {TABLE} width="100%" style="max-width:560px">
<tr><td style="padding:0 4px 16px;font-size:16px;font-weight:600;color:{BRAND}">{PRODUCT}</td></tr>
<tr><td bgcolor="{PAPER}" style="padding:32px;border:1px solid {LINE};border-radius:8px">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3;color:{INK}">{heading}</h1>
{sentences}<table {TABLE} style="margin:24px 0">
<tr><td bgcolor="{BRAND}" style="border-radius:6px">
<a href="{link}" style="display:inline-block;padding:12px 20px;font-size:16px;font-weight:600;\
color:#ffffff;text-decoration:none">{escape(body.button)}</a>
</td></tr>
</table>
<p style="margin:0 0 16px;font-size:14px;line-height:1.5;color:{MUTED}">Or open this address:<br>
<a href="{link}" style="color:{BRAND};word-break:break-all">{link}</a></p>
{notes}</td></tr>
<tr><td style="padding:16px 4px 0;font-size:13px;color:{MUTED}">{escape(_origin(body))}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
"""


def _paragraph(text: str, style: str) -> str:
    return f'<p style="margin:0 0 16px;line-height:1.5;{style}">{escape(text)}</p>\n'


def _origin(body: MailBody) -> str:
    return f"{PRODUCT} at {urlsplit(body.link).netloc}"
