"""Files are skipped only where no row of the keys can be."""

from hypothesis import given
from hypothesis import strategies as st

from query.scope.key_spans import key_spans

INSTANTS = st.integers(0, 30)
RANGES = st.tuples(INSTANTS, INSTANTS).map(lambda both: (min(both), max(both)))
FIRST, END = 5, 25


def test_spans_are_in_order_and_those_that_meet_are_one() -> None:
    spans = key_spans([(20, 22), (7, 9), (10, 12), (8, 8)], FIRST, END)

    assert (spans.starts, spans.ends) == ((7, 20), (12, 22))


def test_nothing_is_between_spans_and_anything_outside_the_range() -> None:
    spans = key_spans([(10, 12), (20, 20)], FIRST, END)

    assert not spans.may_have_rows(5, 9)
    assert not spans.may_have_rows(13, 19)
    assert not spans.may_have_rows(21, 24)
    assert spans.may_have_rows(12, 19)
    assert spans.may_have_rows(20, 20)
    assert spans.may_have_rows(4, 9)
    assert spans.may_have_rows(21, 25)
    assert not key_spans([], FIRST, END).may_have_rows(5, 24)


@given(st.lists(RANGES, max_size=6), RANGES)
def test_a_file_with_an_instant_of_a_span_is_never_skipped(
    spans: list[tuple[int, int]], file: tuple[int, int]
) -> None:
    low, high = file
    meets = any(low <= last and first <= high for first, last in spans)
    is_outside = low < FIRST or high >= END

    assert key_spans(spans, FIRST, END).may_have_rows(low, high) is (meets or is_outside)
