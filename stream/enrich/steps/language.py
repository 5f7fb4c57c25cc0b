"""The browser's language: the item's, else the one that the browser likes best.

Language, script, country and variant in their usual letters (`zh-Hant-TW`); what follows tells
calendars and the like, and is left out.
"""

import re

from schemas.envelope import Envelope
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import RowBatch

_TAG = re.compile(
    r"(?P<language>[a-z]{2,3})"
    r"(?:-(?P<script>[a-z]{4}))?"
    r"(?:-(?P<country>[a-z]{2}|\d{3}))?"
    r"(?:-(?P<variant>[a-z]{5,8}|\d[a-z0-9]{3}))?"
    r"(?:-.*)?"
)
UNDETERMINED = frozenset({"und", "zxx", "mul", "mis"})


def put_language(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    if rows.has_column("language"):
        accepted = rows.per_envelope(accepted_language)
        rows.columns["language"] = [
            (own and _tags[own]) or header
            for own, header in zip(rows.item_field("language"), accepted, strict=True)
        ]


def accepted_language(envelope: Envelope) -> str | None:
    """The best of `Accept-Language`; a server's is its own."""
    if envelope.trusted:
        return None
    return _accepted[envelope.headers.get("accept-language", "")]


def parse_tag(said: str) -> str | None:
    """A language tag in its usual letters; None for what is none."""
    plain = said.strip().partition(".")[0].partition("@")[0]  # `de_DE.UTF-8@euro`
    found = _TAG.fullmatch(plain.replace("_", "-").lower())
    if found is None or found["language"] in UNDETERMINED:
        return None
    parts = (
        found["language"],
        (found["script"] or "").title(),
        (found["country"] or "").upper(),
        found["variant"],
    )
    return "-".join(part for part in parts if part)


def best_tag(header: str) -> str | None:
    """The tag with the highest weight; of equals the first."""
    listed = [weighted_tag(entry) for entry in header.split(",")]
    weight, found = max(listed, key=lambda entry: entry[0])
    return found if weight > 0 else None


def weighted_tag(entry: str) -> tuple[float, str | None]:
    """Weight and tag of one entry; nothing for one that is no tag."""
    said, _, weight = entry.partition(";")
    found = parse_tag(said)
    if found is None:
        return 0.0, None
    try:
        return float(weight.strip().removeprefix("q=") or 1), found
    except ValueError:
        return 1.0, found


_tags: GenerationalCache[str, str | None] = GenerationalCache(parse_tag)
_accepted: GenerationalCache[str, str | None] = GenerationalCache(best_tag)
