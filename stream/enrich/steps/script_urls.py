"""URLs in error reports, without query, fragment and user: like those of pages, they may hold
secrets, and they would split groups of errors that are the same.
"""

import re

from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.urls import MAX_URL_LENGTH
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.row_batch import RowBatch

_HEAD = r"[^\s\"<>`\\?#]+"
_WORD = re.compile(rf"(?<=\"){_HEAD}(?:[?#][^\s\"]*)?|{_HEAD}(?:[?#]\S*)?")
"""Text without characters that no URL contains, and its query to a space or the closing quote."""
_USER = re.compile(r"(?<!\bwebpack:)(?<!\bwebpack-internal:)//[^\s/?#\"<>`\\]+@")
"""User and password before a host; the `@` in a webpack name belongs to a package."""
_PATH = re.compile(r"(?:^|[@(\[{=:,'])\.{0,2}/")
"""Beginning of a path, in a stack frame also behind the name of the function."""
_PARAMETER = re.compile(r"\?[\w.~%+\[\]-]+=")
_END = re.compile(r"(?::\d{1,9}){0,2}[)\]},.;:!?'\">]*$")
"""Line and column at the end of a URL, and the punctuation of the text around it."""
MAX_END_LENGTH = 32


@enrichment_step(reads=columns("filename", "message", "stack"), repeatable=True)
def put_script_urls(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """`message`, `filename` and `stack` of errors, with URLs up to their query or fragment."""
    if not rows.has_column("stack"):
        return
    urls = rows.item_field("filename")
    rows.columns["filename"] = [url and clean_url(url) for url in urls]
    for name in ("message", "stack"):
        texts = rows.item_field(name)
        rows.columns[name] = [text and clean_text(text) for text in texts]


def clean_url(url: str) -> str:
    """The URL without user, up to its query or fragment."""
    url = _USER.sub("//", url) if "@" in url else url
    return url.partition("?")[0].partition("#")[0][:MAX_URL_LENGTH]


def clean_text(text: str) -> str:
    """A message or stack trace whose URLs have no user, query and fragment, but line and column."""
    if "@" in text and "//" in text:
        text = _USER.sub("//", text)
    return _WORD.sub(_clean_word, text) if "?" in text or "#" in text else text


def _clean_word(match: re.Match[str]) -> str:
    word = match[0]
    head = word.partition("?")[0].partition("#")[0]
    tail = word[len(head) :]
    if not tail or not _is_url(head, tail):
        return word
    end = _END.search(tail[-MAX_END_LENGTH:])
    return head + (end[0] if end else "")


def _is_url(head: str, tail: str) -> bool:
    """Whether a word is a URL: by its scheme, else by its path, else by a parameter's name."""
    if "://" in head or _PATH.search(head):
        return True
    return ("/" in head or "." in head) and _PARAMETER.match(tail) is not None
