"""The browser's language, from the item, else the preferred one of `Accept-Language`.

Language, script, country and variant in their usual letters (`zh-Hant-TW`); extensions for
calendars and the like are left out, and codes that were replaced are the new ones (`he` for `iw`).
"""

import re

from schemas.envelope import Envelope
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.row_batch import RowBatch

_TAG = re.compile(
    r"(?P<language>[a-z]{2,3})"
    r"(?:-(?P<script>[a-z]{4}))?"
    r"(?:-(?P<country>[a-z]{2}|\d{3}))?"
    r"(?:-(?P<variant>[a-z]{5,8}|\d[a-z0-9]{3}))?"
    r"(?:-.*)?"
)
OLD_LANGUAGES = {"in": "id", "iw": "he", "ji": "yi", "jw": "jv", "mo": "ro"}
"""Codes that were replaced; Java and old Android still send them."""
UNDETERMINED = frozenset({"und", "zxx", "mul", "mis"})


@enrichment_step()
def put_language(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """The item's, else the preferred one of `Accept-Language`: `zh-Hant-TW`."""
    if rows.has_column("language"):
        sent = rows.distinct_field("language").mapped(lambda own: (own and _tags[own]) or None)
        accepted = rows.per_sender(accepted_language)
        if not any(sent.values) or all(sent.values):
            rows.columns["language"] = sent if all(sent.values) else accepted
            return
        rows.columns["language"] = [
            own or header for own, header in zip(sent, accepted, strict=True)
        ]


def accepted_language(envelope: Envelope) -> str | None:
    """The preferred tag of `Accept-Language`; None for items of a server."""
    if envelope.trusted:
        return None
    return _accepted[envelope.headers.get("accept-language", "")]


def parse_tag(text: str) -> str | None:
    """A language tag in its usual letters; None when it is invalid."""
    plain = text.strip().partition(".")[0].partition("@")[0]  # `de_DE.UTF-8@euro`
    match = _TAG.fullmatch(plain.replace("_", "-").lower())
    if match is None or match["language"] in UNDETERMINED:
        return None
    parts = (
        OLD_LANGUAGES.get(match["language"], match["language"]),
        (match["script"] or "").title(),
        (match["country"] or "").upper(),
        match["variant"],
    )
    return "-".join(part for part in parts if part)


def best_tag(header: str) -> str | None:
    """The tag with the highest weight; of equals the first."""
    listed = [weighted_tag(entry) for entry in header.split(",")]
    weight, tag = max(listed, key=lambda entry: entry[0])
    return tag if weight > 0 else None


def weighted_tag(entry: str) -> tuple[float, str | None]:
    """Weight and tag of one entry; weight 0 for an invalid one."""
    text, _, weight = entry.partition(";")
    tag = parse_tag(text)
    if tag is None:
        return 0.0, None
    try:
        return float(weight.strip().removeprefix("q=") or 1), tag
    except ValueError:
        return 1.0, tag


_tags: GenerationalCache[str, str | None] = GenerationalCache(parse_tag)
_accepted: GenerationalCache[str, str | None] = GenerationalCache(best_tag)
