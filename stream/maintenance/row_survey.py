"""What is known of rows before they are sorted: how many each subject has, and where to divide.

Only the columns that bound portions are read for it.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from stream.maintenance.dictionaries import joined
from stream.maintenance.row_order import Numbers, RowOrder
from stream.maintenance.source_rows import SourceRows

SAMPLE_ROWS = 20_000

Bound = Sequence[int]
"""Numbers to sort by of the first row of a portion."""


class RowSurvey(Struct, frozen=True):
    """Subjects, their rows and the bounds of portions."""

    subjects: pa.Array
    """In order; without NULL, whose rows come last."""
    rows_by_subject: Sequence[int]
    """In that order, with NULL if it has rows."""
    bounds: Sequence[Bound]
    """Of each portion but the first."""


def survey(source: SourceRows, order: RowOrder, portion: int) -> RowSurvey:
    """Count the rows, and choose bounds for portions of about so many rows from a sample."""
    counts: Counter[str | None] = Counter()
    sample: list[pa.Table] = []
    step, seen = max(1, source.size[0] // SAMPLE_ROWS), 0
    for rows in source.batches(order.bound_columns):
        for found in pc.value_counts(rows[order.subject]).to_pylist():
            counts[found["values"]] += found["counts"]
        sample.append(rows.take(pa.array(np.arange(-seen % step, rows.num_rows, step))))
        seen += rows.num_rows
    names = sorted(name for name in counts if name is not None)
    subjects = pa.array(names, pa.string())
    by_subject = [counts[name] for name in (*names, None) if counts[name]]
    portions = -(-seen // portion)
    bounds = _bounds(order.bound_numbers(joined(sample), subjects), portions) if sample else []
    return RowSurvey(subjects, by_subject, bounds)


def _bounds(numbers: Sequence[Numbers], portions: int) -> Sequence[Bound]:
    """Numbers of the rows of a sample that divide it into so many parts, as far as rows differ."""
    ordered = np.lexsort(numbers[::-1])
    places = [ordered[len(ordered) * n // portions] for n in range(1, portions)]
    return sorted({tuple(int(number[place]) for number in numbers) for place in places})
