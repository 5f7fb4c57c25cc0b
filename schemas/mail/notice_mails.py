"""The mail about an alert or a report: title, sentence and facts as a channel tells them."""

from collections.abc import Iterable

from schemas.mail.layout import MailBody, as_html, as_text
from schemas.mail.message import Mail

UNSUBSCRIBE = "Stop these mails"


def notice_mail(
    to: str,
    title: str,
    sentence: str,
    facts: Iterable[tuple[str, str]],
    link: str,
    *,
    website: str,
    delivery_id: str,
    unsubscribe: str = "",
    notes: tuple[str, ...] = (),
) -> Mail:
    """The mail of one delivery; sent again it has the same Message-ID.

    `unsubscribe` is the URL that ends such mails (a link, and RFC 8058); a test has none.
    """
    heading, domain = _one_line(title), _one_line(website)
    body = MailBody(
        heading=heading,
        sentences=(_one_line(sentence),) if sentence else (),
        button=f"Open {domain}",
        link=link,
        notes=notes,
        facts=tuple((_one_line(label), _one_line(value)) for label, value in facts),
        further_links=((UNSUBSCRIBE, unsubscribe),) if unsubscribe else (),
    )
    return Mail(
        to,
        heading,
        as_text(body),
        as_html(body),
        message_id=delivery_id,
        unsubscribe=unsubscribe,
    )


def _one_line(text: str) -> str:
    """A text that has names that people or visitors chose."""
    return " ".join(text.split())
