"""The pattern of an error's message: `#` in place of numbers, ids, addresses and query parts.

Messages that differ in these alone have one pattern: `Cannot load order #`. A word is a run of
ASCII letters and digits; one that begins with a letter stays as it is (`utf8`, `h1`, `e2e`) unless
it is a hexadecimal id. Text in quotes is no exception.
"""

from typing import NamedTuple

MESSAGE_PATTERN = "message_pattern"
"""The name that filters, dimensions and options have for it."""


class _Replacement(NamedTuple):
    """Every match of a regular expression becomes another text."""

    pattern: str
    text: str


_HEX, _HEX_LETTER, _WORD = "[0-9a-fA-F]", "[a-fA-F]", "[A-Za-z0-9]"
_WORD_START = "(^|[^A-Za-z0-9])"
"""`\\b` is about ASCII in some engines and about Unicode in others."""
_HEX_ID = "|".join(
    (
        # Eight digits with a decimal one among them: engines have no look-ahead in common.
        *(f"{_HEX_LETTER}{{{letters}}}[0-9]{_HEX}{{{7 - letters}}}" for letters in range(8)),
        f"{_HEX_LETTER}{{8}}{_HEX_LETTER}*[0-9]",
    )
)
_UUID = f"{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"

_REPLACEMENTS = (
    # /search?q=shoes&page=2 → /search?#, but `a?.b` and `is it?` stay
    _Replacement(r"""[?][A-Za-z0-9_.~%-]+=[^ \t\r\n"'<>]*""", "?#"),
    # no account for anna.b+x@shop.example → no account for #, but `react@18.2` is no address
    _Replacement("[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+([.][A-Za-z0-9-]+)*[.][A-Za-z][A-Za-z0-9-]*", "#"),
    # 6ba7b810-9dad-11d1-80b4-00c04fd430c8 → #, 0x1F → #, user_deadbee1 → user_#; `deadbeef` stays
    _Replacement(rf"{_WORD_START}({_UUID}|0[xX]{_HEX}+|{_HEX_ID}){_WORD}*", r"\1#"),
    # 1,234.50 → #, 5000ms → #ms; a word with digits behind letters is an id: 01ARZ3NDEKTSV4 → #
    _Replacement(rf"{_WORD_START}[0-9]+([.,][0-9]+)*([A-Za-z]+[0-9]{_WORD}*)?", r"\1#"),
)
"""In this order, since each would find its numbers in what the one before replaces."""


def message_pattern(message: str) -> str:
    """Portable SQL of the pattern of a message."""
    for pattern, text in _REPLACEMENTS:
        quoted = pattern.replace("'", "''")
        message = f"REPLACE_MATCHES({message}, '{quoted}', '{text}')"
    return message
