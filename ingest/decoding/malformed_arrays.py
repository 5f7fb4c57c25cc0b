"""Arrays with items that are no JSON, as Python writes `NaN` and `Infinity`.

Such an array is split by its brackets and commas, so that the other items can be accepted.
"""

import re
from itertools import islice

from ingest.decoding.limits import MAX_BRACKETS, MAX_ITEMS

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.S)
"""A whole string, or what may end an item; each byte is looked at once."""
MAX_TOKENS = 100_000
"""More than 500 usual items have; splitting them takes some 30 ms."""


def split_malformed(array: bytes) -> list[bytes]:
    """The texts between the commas of an array; none where its brackets do not match.

    None either where it has more items, open brackets or tokens than a request may have.
    """
    texts: list[bytes] = []
    expected: list[bytes] = []
    """The closing brackets of those that are open."""
    start = 1
    for token in islice(_TOKEN.finditer(array), MAX_TOKENS):
        mark = token[0]
        if mark == b",":
            if len(expected) == 1:
                texts.append(array[start : token.start()].strip())
                start = token.end()
                if len(texts) > MAX_ITEMS:
                    return []
        elif mark == b"[" or mark == b"{":
            expected.append(b"]" if mark == b"[" else b"}")
            if len(expected) > MAX_BRACKETS:
                return []
        elif mark == b"]" or mark == b"}":
            if not expected or expected.pop() != mark:
                return []
            if not expected:
                texts.append(array[start : token.start()].strip())
                return [] if array[token.end() :].strip() else texts
    return []
