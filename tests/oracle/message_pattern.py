"""The pattern of an error's message, by its definition in words."""

import re
from functools import cache

QUERY_PART = re.compile(r"""\?[\w.~%-]+=[^ \t\r\n"'<>]*""", re.ASCII)
ADDRESS = re.compile(r"[\w.%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*", re.ASCII | re.I)
ID = re.compile(
    r"""(?<![^\W_])(?:
        [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
      | 0x[0-9a-f]
      | (?=[a-f]*[0-9])[0-9a-f]{8}
    )[^\W_]*""",
    re.ASCII | re.VERBOSE | re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![^\W_])\d+(?:[.,]\d+)*(?:[a-z]+\d[^\W_]*)?", re.ASCII | re.IGNORECASE)


@cache
def pattern_of(message: str) -> str:
    """The message with `#` for query parts, then addresses, ids and numbers."""
    without_addresses = ADDRESS.sub("#", QUERY_PART.sub("?#", message))
    return NUMBER.sub("#", ID.sub("#", without_addresses))
