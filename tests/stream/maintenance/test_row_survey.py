"""A survey counts the rows of each subject and divides them into similar portions."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from schemas.tables import EVENTS
from stream.maintenance import row_survey
from stream.maintenance.row_order import row_order
from stream.maintenance.row_survey import survey
from stream.maintenance.source_rows import SourceRows
from tests.stream.maintenance.rows_to_merge import MIDNIGHT, made_rows, written


def test_rows_are_counted_by_subject_in_order_and_those_of_none_last(tmp_path: Path) -> None:
    rows = made_rows(600)
    source = SourceRows(EVENTS, written(tmp_path, rows))

    known = survey(source, row_order(EVENTS), 1_000)

    counts = Counter(row["website_id"] for row in rows)
    names = [*sorted(name for name in counts if name), None]
    assert known.subjects.to_pylist() == names[:-1]
    assert list(known.rows_by_subject) == [counts[name] for name in names]
    assert not known.bounds


@pytest.mark.parametrize("sample", [20_000, 150])
def test_bounds_divide_the_rows_into_similar_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: int
) -> None:
    monkeypatch.setattr(row_survey, "SAMPLE_ROWS", sample)
    rows = made_rows(600)
    order, source = row_order(EVENTS), SourceRows(EVENTS, written(tmp_path, rows))

    known = survey(source, order, 150)

    assert len(known.bounds) == 3
    found: Counter[int] = Counter()
    for batch in source.batches():
        numbers = np.stack(order.bound_numbers(batch, known.subjects), axis=1)
        found.update(sum(tuple(b) <= tuple(row) for b in known.bounds) for row in numbers.tolist())
    assert sum(found.values()) == 600
    assert all(75 <= count <= 225 for count in found.values())


def test_no_rows_have_no_subjects_and_no_bounds(tmp_path: Path) -> None:
    source = SourceRows(EVENTS, written(tmp_path, made_rows(9)), MIDNIGHT, MIDNIGHT)

    known = survey(source, row_order(EVENTS), 1)

    assert (len(known.subjects), known.rows_by_subject, known.bounds) == (0, [], [])
