"""Apostrophes that keep a spreadsheet from running text of a CSV file as a formula.

A formula begins with one of a few characters at the start of a cell, also after blanks that some
spreadsheets drop. Where the language of a spreadsheet separates cells by semicolons, quotes that
do not stand at the start of a line protect nothing: each semicolon, tab and line break of a text
may begin a cell of its own.
"""

import re

SIGNS = r"=+\-@\uff1d\uff0b\uff0d\uff20"
SEPARATORS = r";\t\r\n"
UNSEEN = (
    r"\x00-\x08\x0b\x0c\x0e-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0"
    r"\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
BLANKS = rf'"{UNSEEN}'
"""Sets of characters, as regular expressions write them.

A quote is a blank, as one behind a separator begins a cell with quotes.
"""
CELL_START = f"(?:^|(?<=[{SEPARATORS}]))"
DANGEROUS = rf"(?=[{BLANKS}]*[{SIGNS}]|[\t\r\n'])"
"""A formula, a blank that a text rarely begins with, or an apostrophe, which may be a guard."""
UNGUARDED = re.compile(f"{CELL_START}{DANGEROUS}")
GUARD = re.compile(f"{CELL_START}'{DANGEROUS}")
SUSPECT = re.compile(f"^[{SIGNS}{BLANKS}']|[{SEPARATORS}]")
"""Finds every dangerous text, and some others; quick to search."""


def guarded(text: str) -> str:
    """The text with an apostrophe wherever a spreadsheet might begin a formula."""
    return UNGUARDED.sub("'", text) if SUSPECT.search(text) else text


def unguarded(text: str) -> str:
    """The text whose guarded form this is."""
    return GUARD.sub("", text) if "'" in text else text
