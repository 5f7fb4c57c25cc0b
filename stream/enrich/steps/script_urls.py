"""URLs in error reports, without query and fragment: like those of pages, they may hold secrets."""

import re

from stream.enrich.rules.lookups import Lookups
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.row_batch import RowBatch

_WORD = re.compile(r"\S+")
_POSITION = re.compile(r"(?::\d{1,9}){1,2}\)?$|\)$")
"""Line and column at the end of a stack frame, and the parenthesis around it."""
MAX_POSITION_LENGTH = 21


@enrichment_step(reads=columns("filename", "stack"), repeatable=True)
def put_script_urls(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """`filename` and `stack` of errors, with URLs up to their query or fragment."""
    if rows.has_column("filename"):
        urls = rows.item_field("filename")
        rows.columns["filename"] = [url and without_query(url) for url in urls]
    if rows.has_column("stack"):
        stacks = rows.item_field("stack")
        rows.columns["stack"] = [stack and clean_stack(stack) for stack in stacks]


def clean_stack(stack: str) -> str:
    """A stack trace whose URLs have neither query nor fragment, but line and column."""
    if "?" not in stack and "#" not in stack:
        return stack
    return _WORD.sub(_clean_word, stack)


def _clean_word(match: re.Match[str]) -> str:
    word = match[0]
    if "://" not in word:
        return word
    clean = without_query(word)
    if clean == word:
        return word
    position = _POSITION.search(word[-MAX_POSITION_LENGTH:])
    return clean + (position[0] if position else "")


def without_query(url: str) -> str:
    """The URL up to its query or fragment."""
    return url.partition("?")[0].partition("#")[0]
