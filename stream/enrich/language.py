"""The browser's language: the item's, else the first that the browser accepts."""

from schemas.envelope import Envelope
from stream.enrich.lookups import Lookups
from stream.rows import Rows

LETTERS = 64


def put_language(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if rows.wants("language"):
        accepted = rows.per_envelope(first_accepted)
        rows.columns["language"] = [
            own or header for own, header in zip(rows.given("language"), accepted, strict=True)
        ]


def first_accepted(envelope: Envelope) -> str | None:
    """First tag of `Accept-Language`; a server's is its own."""
    if envelope.trusted:
        return None
    header = envelope.headers.get("accept-language", "")
    tag = header.partition(",")[0].partition(";")[0].strip()
    return tag[:LETTERS] if tag and tag != "*" else None
