"""The index of places: the text of each session, and rows one by one where there is none."""

from query.prepared.rollup_tables import FACTS
from query.prepared.session_attributes import index_attributes, session_attributes
from tests.query.prepared.rollups import join
from tests.query.prepared.test_row_filters import NOBODY, rollup

MIXED = rollup(
    [(10, 1, 11, "DE"), (10, 2, 12, "FR"), (11, 3, 13, None), (12, 8, NOBODY, "DE")],
    [(11, 2, 12, "FR"), (12, 3, 13, "DE")],
)


def test_sessions_have_their_text_and_others_their_rows() -> None:
    joined = join([MIXED], 0, 2**31)
    index = index_attributes(joined, "country")
    texts = [index.texts[i] for i in index.of_sessions[1:3].tolist()]
    rows = zip(index.quarters.tolist(), index.of_rows.tolist(), strict=True)

    assert texts == ["DE", "FR"]
    assert index.has_several
    assert sorted((quarter, index.texts[i] or "") for quarter, i in rows) == [
        (11, ""),
        (12, "DE"),
        (12, "DE"),
    ]


def test_one_text_in_every_row_needs_no_rows() -> None:
    index = index_attributes(
        join([rollup([(10, 1, 11, "DE")], [(11, 1, 11, "DE")])], 0, 20), "country"
    )

    assert not index.has_several
    assert not len(index.of_rows)
    assert index.size > 0


def test_without_stored_parts_there_is_no_index() -> None:
    assert FACTS.name in {*MIXED.tables}
    assert session_attributes(join([MIXED], 10, 20), "country") is None
    assert session_attributes(join([MIXED], 10, 20, stored=1), "country") is not None
