"""Until when a table has everything of a partition."""

from query.engine.end_offsets import MAX_SAMPLES, EndOffsets


def sampled(*samples: tuple[int, int]) -> EndOffsets:
    ends = EndOffsets()
    for at_ms, end in samples:
        ends.add(at_ms, end)
    return ends


def test_a_table_is_complete_until_the_last_end_that_it_has_reached() -> None:
    ends = sampled((1_000, 5), (2_000, 9), (3_000, 12))

    assert ends.stored_until(4) is None
    assert ends.stored_until(5) == 1_000
    assert ends.stored_until(11) == 2_000
    assert ends.stored_until(12) == 3_000


def test_while_nothing_arrives_it_stays_complete_until_now() -> None:
    assert sampled((1_000, 5), (2_000, 5), (9_000, 5)).stored_until(5) == 9_000


def test_the_ends_of_a_topic_that_was_deleted_do_not_count() -> None:
    ends = sampled((1_000, 500), (2_000, 3))

    assert ends.stored_until(2) is None
    assert ends.stored_until(3) == 2_000


def test_a_long_backlog_makes_the_watermark_coarser_and_never_later() -> None:
    count = 5 * MAX_SAMPLES
    ends = sampled(*((second * 1_000, second * 10) for second in range(count)))

    found = ends.stored_until(7_000)

    assert found is not None
    assert 0 <= found <= 700_000
    assert ends.stored_until(count * 10) == (count - 1) * 1_000
