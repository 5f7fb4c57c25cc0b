"""Parts from columns written down in a test."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, ColumnRows
from query.prepared.joined_parts import JoinedParts
from query.prepared.numbering import ColumnNumbers, number
from query.prepared.part import SESSION_COLUMN, VISITOR_COLUMN, Part, make_part
from query.prepared.part_folder import PartKey

Values = Sequence[int] | Sequence[str | None]


def part_of(table: str, **columns: Values) -> Part:
    """A part of one table; a column of texts begins with `of_`."""
    return make_part({table: column_rows(columns)})


def join(parts: Sequence[Part], first: int, end: int) -> JoinedParts:
    """Parts with visitors and sessions numbered."""
    numbers = {}
    for column in (VISITOR_COLUMN, SESSION_COLUMN):
        numbering = number({PartKey("shop", str(i)): p.hashes[column] for i, p in enumerate(parts)})
        by_part = list(numbering.by_part.values())
        numbers[column] = ColumnNumbers(len(numbering.hashes), by_part)
    return JoinedParts(parts, numbers, first, end)


def column_rows(columns: Mapping[str, Values]) -> ColumnRows:
    """The rows of one table."""
    numbers, texts = {}, {}
    for name, values in columns.items():
        if name.startswith("of_"):
            texts[name] = sorted({str(value) for value in values if value is not None})
            values = [NO_TEXT if v is None else texts[name].index(str(v)) + 1 for v in values]
        numbers[name] = np.array(values, np.int64)
    return ColumnRows(numbers, texts)


def columns_of(row: type[Struct], rows: Sequence[Struct]) -> Mapping[str, Values]:
    """The fields of rows as columns."""
    return {name: [getattr(each, name) for each in rows] for name in row.__struct_fields__}
