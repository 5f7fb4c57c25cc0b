"""Terminal output: control characters escaped, aligned tables.

Visitors choose the names of events and the messages of errors; a terminal would execute control
sequences in them (change its title, its colours, or type input for the user).
"""

import codecs
import io
import re
from collections.abc import Iterable, Iterator, Sequence

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 and C1 control characters, and bidirectional text controls."""

CONTROLS_EXCEPT_NEWLINES = re.compile(r"[^\n\t -~\xa0-\u2029\u202f-\u2065\u206a-\U0010ffff]")
"""The same characters except line ends and tabs."""


def escape_line(text: str) -> str:
    """One line, with a replacement character for each control character."""
    return CONTROL_CHARACTERS.sub("\ufffd", text)


def escape_json(text: str) -> str:
    """Equivalent JSON with all control characters escaped; encoders leave some unescaped."""
    return CONTROLS_EXCEPT_NEWLINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decode UTF-8 chunks for a terminal; characters may be split between chunks."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), True)
    for chunk in chunks:
        yield CONTROLS_EXCEPT_NEWLINES.sub("\ufffd", decoder.decode(chunk)).encode()
    yield CONTROLS_EXCEPT_NEWLINES.sub("\ufffd", decoder.decode(b"", final=True)).encode()


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The header and the rows as lines, each column as wide as its widest cell."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return [
        "  ".join(f"{word:{width}}" for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
