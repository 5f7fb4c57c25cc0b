"""The layout of all mails: heading, sentences, facts, one button, notes, where the mail is from.

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
    facts: tuple[tuple[str, str], ...] = ()
    """Label and value of each row of a small table."""
    further_links: tuple[tuple[str, str], ...] = ()
    """Text and URL of links below the notes."""

    def __repr__(self) -> str:
        return f"MailBody({self.heading!r})"


def as_text(body: MailBody) -> str:
    """The mail as plain text."""
    facts = "\n".join(f"{label}: {value}" for label, value in body.facts)
    parts = (
        body.heading,
        *body.sentences,
        *([facts] if facts else []),
        f"{body.button}:\n{body.link}",
        *body.notes,
        *(f"{text}:\n{url}" for text, url in body.further_links),
        f"-- \n{_origin(body)}",
    )
    return "\n\n".join(parts) + "\n"


def as_html(body: MailBody) -> str:
    """The mail as an HTML document."""
    link, heading = escape(body.link), escape(body.heading)
    sentences = "".join(_paragraph(text, f"font-size:16px;color:{INK}") for text in body.sentences)
    notes = "".join(_paragraph(text, f"font-size:14px;color:{MUTED}") for text in body.notes)
    further_links = "".join(_further_link(text, url) for text, url in body.further_links)
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
{sentences}{_facts(body.facts)}<table {TABLE} style="margin:24px 0">
<tr><td bgcolor="{BRAND}" style="border-radius:6px">
<a href="{link}" style="display:inline-block;padding:12px 20px;font-size:16px;font-weight:600;\
color:#ffffff;text-decoration:none">{escape(body.button)}</a>
</td></tr>
</table>
<p style="margin:0 0 16px;font-size:14px;line-height:1.5;color:{MUTED}">Or open this address:<br>
<a href="{link}" style="color:{BRAND};word-break:break-all">{link}</a></p>
{notes}{further_links}</td></tr>
<tr><td style="padding:16px 4px 0;font-size:13px;color:{MUTED}">{escape(_origin(body))}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
"""


def _paragraph(text: str, style: str) -> str:
    return f'<p style="margin:0 0 16px;line-height:1.5;{style}">{escape(text)}</p>\n'


def _facts(facts: tuple[tuple[str, str], ...]) -> str:
    """A table of two columns; nothing where there are no facts."""
    if not facts:
        return ""
    cell = f"padding:8px 0;border-top:1px solid {LINE};font-size:15px;line-height:1.4"
    rows = "".join(
        f'<tr><td valign="top" style="{cell};color:{MUTED};padding-right:16px">{escape(label)}</td>'
        f'<td valign="top" style="{cell};color:{INK}">{escape(value)}</td></tr>\n'
        for label, value in facts
    )
    return f'<table {TABLE} width="100%" style="border-bottom:1px solid {LINE}">\n{rows}</table>\n'


def _further_link(text: str, url: str) -> str:
    return (
        f'<p style="margin:0 0 8px;font-size:14px;line-height:1.5">'
        f'<a href="{escape(url)}" style="color:{BRAND}">{escape(text)}</a></p>\n'
    )


def _origin(body: MailBody) -> str:
    return f"{PRODUCT} at {urlsplit(body.link).netloc}"
