"""Lost offset ranges are columns; rows from before these columns have them in their reason."""

from schemas.lake.lost_ranges import lost_messages_reason, lost_offsets, topic_recreated_reason


def test_the_columns_decide_whatever_the_reason_says() -> None:
    assert lost_offsets(5, 10, lost_messages_reason(1, 3)) == range(5, 10)
    assert lost_offsets(0, 1, "deleted") == range(1)


def test_a_row_without_the_columns_has_the_range_in_its_reason() -> None:
    assert lost_offsets(None, None, lost_messages_reason(5, 10)) == range(5, 10)


def test_other_rows_of_the_stage_have_no_range() -> None:
    assert lost_offsets(None, None, topic_recreated_reason(1, 7)) == range(0)
    assert lost_offsets(None, None, "5 rows of data file a were lost: accepted loss") == range(0)
