"""Terminal output: what others sent is shown, and obeyed by no terminal.

Visitors choose the names of events and the messages of errors; a terminal takes control characters
among them for orders (a title, a colour, an answer typed for the user).
"""

import codecs
import io
import re
from collections.abc import Iterable, Iterator, Sequence

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 and C1 controls, and what turns the direction of writing."""

CONTROLS_EXCEPT_NEWLINES = re.compile(r"[^\n\t -~\xa0-\u2029\u202f-\u2065\u206a-\U0010ffff]")
"""The same but for the ends of lines and tabs."""


def escape_line(text: str) -> str:
    """One line, with a sign in place of each control character."""
    return CONTROL_CHARACTERS.sub("\ufffd", text)


def escape_json(text: str) -> str:
    """JSON of the same meaning whose controls are escaped; encoders leave some as they are."""
    return CONTROLS_EXCEPT_NEWLINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def escape_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The UTF-8 text of the pieces for a terminal, wherever they are cut."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), True)
    for piece in pieces:
        yield CONTROLS_EXCEPT_NEWLINES.sub("\ufffd", decoder.decode(piece)).encode()
    yield CONTROLS_EXCEPT_NEWLINES.sub("\ufffd", decoder.decode(b"", final=True)).encode()


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The header and the rows, each column as wide as its widest word."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return [
        "  ".join(f"{word:{width}}" for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
