"""Parts from columns written down in a test."""

from collections.abc import Sequence

import numpy as np

from query.engine.column_rows import NO_TEXT, ColumnRows
from query.prepared.part import Part, make_part


def part_of(table: str, **columns: Sequence[int] | Sequence[str | None]) -> Part:
    """A part of one table; a column of texts begins with `of_`."""
    numbers, texts = {}, {}
    for name, values in columns.items():
        if name.startswith("of_"):
            texts[name] = sorted({str(value) for value in values if value is not None})
            values = [NO_TEXT if v is None else texts[name].index(str(v)) + 1 for v in values]
        numbers[name] = np.array(values, np.int64)
    return make_part({table: ColumnRows(numbers, texts)})
