"""Parts from columns written down in a test."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, ColumnRows
from query.prepared.part import Part, make_part

Values = Sequence[int] | Sequence[str | None]


def part_of(table: str, **columns: Values) -> Part:
    """A part of one table; a column of texts begins with `of_`."""
    return make_part({table: column_rows(columns)})


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
