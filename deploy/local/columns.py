"""Rows of words as lines with aligned columns."""

from collections.abc import Iterable, Sequence


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The header and the rows, each column as wide as its widest word."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return [
        "  ".join(f"{word:{width}}" for word, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
