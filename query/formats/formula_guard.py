"""Apostrophes that keep a spreadsheet from running text of a CSV file as a formula.

A formula begins with one of a few characters at the start of a cell, also after blanks that some
spreadsheets drop. Where the language of a spreadsheet separates cells by semicolons, quotes that
do not stand at the start of a line protect nothing: each semicolon, tab and line break of a text
may begin a cell of its own.
"""

import re

SIGNS = r"=+\-@\uff1d\uff0b\uff0d\uff20"
BLANKS = r" \u00a0\u200b\ufeff\x0b\x0c"
SEPARATORS = r";\t\r\n"
"""Sets of characters, as regular expressions write them."""
CELL_START = f"(?:^|(?<=[{SEPARATORS}]))"
DANGEROUS = rf"(?=[{BLANKS}]*[{SIGNS}]|[\t\r\n'])"
"""A formula, a blank that a text rarely begins with, or an apostrophe, which may be a guard."""
UNGUARDED = re.compile(f"{CELL_START}{DANGEROUS}")
GUARD = re.compile(f"{CELL_START}'{DANGEROUS}")
SUSPECT = re.compile(f"^[{SIGNS}{BLANKS}']|[{SEPARATORS}]")
"""What texts without any danger do not have; quick to look for."""


def guarded(text: str) -> str:
    """The text with an apostrophe wherever a spreadsheet might begin a formula."""
    return UNGUARDED.sub("'", text) if SUSPECT.search(text) else text


def unguarded(text: str) -> str:
    """The text whose guarded form this is."""
    return GUARD.sub("", text) if "'" in text else text
