"""ExportFormat: how the export of a product is recognized, and what its lines become.

Beside it what several formats need to read their lines.
"""

import ast
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from deploy.importer.formats.cell_values import InvalidLine, parse_json

Columns = Mapping[str, Any]
"""The cells of one line by column."""

UTM_NAMES = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


class ExportFormat(Struct, frozen=True):
    """The export of a product."""

    product: str
    columns: frozenset[str]
    """All of them are in each line."""
    to_columns: Callable[[Columns], Columns] = dict
    """The line with columns that `fields.py` knows; InvalidLine if it is no event."""
    refusal: str = ""
    """Why no line can be imported, and what to do instead; empty if they can."""
    is_exact: bool = False
    """Whether lines have no further columns."""
    note: str = ""
    """What whoever imports it should know."""
    has_log_visitors: bool = False
    """Whether visitors and visits are made of address and user agent."""

    def matches(self, names: frozenset[str]) -> bool:
        """Whether lines with these columns are of this format."""
        return self.columns == names if self.is_exact else self.columns <= names

    def convert(self, line: Columns) -> Columns:
        """The line with known columns; InvalidLine if it is no event or is damaged."""
        try:
            return self.to_columns(line)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            reason = f"the line is not as {self.product} exports it"
            raise InvalidLine(f"{reason}: {type(error).__name__}: {error}") from None


def refuse_own_event(product: str, name: Any, own_events: frozenset[str]) -> None:
    """InvalidLine for an event that the product's library sends by itself."""
    if name in own_events:
        raise InvalidLine(f"this is no event of a visitor: {product} adds '{name}' by itself")


def refuse_unknown_kind(product: str, kind: Any) -> InvalidLine:
    """The error for a kind of lines that is neither a page view nor an event of the product."""
    return InvalidLine(f"'{str(kind)[:60]}' is no kind of {product} that is known as an event")


def as_object(cell: Any) -> dict[str, Any]:
    """A record, also from JSON text; empty for anything else."""
    value = parse_json(cell) if isinstance(cell, str) and cell else cell
    return dict(value) if isinstance(value, dict) else {}


def as_list(cell: Any) -> list[Any]:
    """A list, also as ClickHouse writes one into CSV: `['plan','size']`."""
    if not isinstance(cell, str) or not cell.startswith("["):
        return cell if isinstance(cell, list) else []
    try:
        value = ast.literal_eval(cell)
    except (SyntaxError, MemoryError, RecursionError):  # the last two: nested too deeply
        raise ValueError("a list cannot be read") from None
    return value if isinstance(value, list) else []


def screen_size(width: Any, height: Any) -> str | None:
    """`1440x900`."""
    return f"{round(float(width))}x{round(float(height))}" if width and height else None
