"""Characters of stored texts that nobody sees: a null character, and texts of nothing else.

Raises Malformed with the place and the rule.
"""

import re
from collections.abc import Mapping, Sequence

from schemas.errors import Malformed

UNSEEN = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""White space, control and format characters, fillers, and variants of the character before.

The dashboard names most of them where they stand in a text: `UNSEEN` of query/web/src/isolate.ts,
without the white space and the joiners that belong to letters and emoji.
"""


def require_seen(place: str, text: str) -> str:
    """The text; Malformed if it has characters, but none that is seen."""
    if UNSEEN.fullmatch(text):
        raise Malformed(
            f"'{place}' has no character that is seen, only {_code_points(text)}; give it one"
        )
    return text


def refuse_null(place: str, value: object) -> None:
    """Malformed with the place of a null character in a text or in JSON values.

    SQLite stores it, PostgreSQL does not.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise Malformed(f"'{place}' has a null character; remove it")
    elif isinstance(value, Mapping):
        for name, member in value.items():
            refuse_null(place, name)
            refuse_null(f"{place}.{name}" if place else name, member)
    elif isinstance(value, Sequence):
        for index, element in enumerate(value):
            refuse_null(f"{place}[{index}]", element)


def _code_points(text: str) -> str:
    """`U+200B, U+3164`: the first different ones."""
    return ", ".join(f"U+{ord(character):04X}" for character in list(dict.fromkeys(text))[:5])
