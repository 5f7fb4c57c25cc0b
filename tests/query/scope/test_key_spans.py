"""Files are skipped only where no row of the keys can be."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from query.scope.key_spans import MOST_NAMED, key_spans

INSTANTS = st.integers(0, 30)
RANGES = st.tuples(INSTANTS, INSTANTS).map(lambda both: (min(both), max(both)))
FIRST, END = 5, 25
FAR = 1_000


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


def meets(condition: tuple[str, Mapping[str, int]], ts: int) -> bool:
    """Whether a row of this time meets a condition."""
    text, values = condition
    python = text.replace("AND", "and").replace("OR", "or").replace("$", "")
    return bool(eval(python, {}, {**values, "ts": ts}))


@given(st.lists(RANGES, max_size=40), st.sampled_from([(FIRST, END), (0, 40), (-FAR, FAR)]))
def test_the_condition_keeps_every_row_that_spans_may_have(
    ranges: list[tuple[int, int]], read: tuple[int, int]
) -> None:
    spans = key_spans(ranges, FIRST, END)
    condition = spans.condition(*read)

    if condition[0]:
        kept = {ts for ts in range(*read) if meets(condition, ts)}
        assert kept == {ts for ts in range(*read) if spans.may_have_rows(ts, ts)}


def test_most_spans_are_named_with_little_between_them() -> None:
    spans = key_spans([(i * 10_000 + i % 3 * 100, i * 10_000 + 300) for i in range(200)], 0, 10**7)

    condition = spans.condition(0, 10**7)

    assert len(condition[1]) == 2 * MOST_NAMED
    assert all(meets(condition, start) for start in spans.starts)
    assert all(meets(condition, last) for last in spans.ends)


def test_spans_of_most_of_the_time_are_no_condition() -> None:
    assert not key_spans([(0, 700)], 0, FAR).condition(0, FAR)[0]
    assert not key_spans([], 0, FAR).condition(0, FAR)[0]
    assert key_spans([(0, 70)], 0, FAR).condition(0, FAR)[0]


def test_the_number_of_values_has_few_shapes() -> None:
    counts = set()
    for number in range(1, 200):
        spans = key_spans([(i * 1_000, i * 1_000 + 1) for i in range(number)], 0, 10**6)
        counts.add(len(spans.condition(0, 10**6)[1]))

    assert counts == {2, 4, 8, 16, 32, 64}
