"""Fetches gather messages while messages arrive, and respond at once after a pause."""

from stream.consumer.aiokafka_fetch import AT_ONCE, GATHERED, RECENT_SECONDS, FetchPace


def test_the_first_messages_after_a_pause_do_not_wait_for_others() -> None:
    now = 100.0
    pace = FetchPace(lambda: now)

    first = pace.next_wait()
    pace.note_messages()
    second = pace.next_wait()
    now += RECENT_SECONDS
    after_pause = pace.next_wait()

    assert (first, second, after_pause) == (AT_ONCE, GATHERED, AT_ONCE)
    assert AT_ONCE.min_bytes == 1


def test_fetches_gather_as_long_as_messages_arrive() -> None:
    now = 100.0
    pace = FetchPace(lambda: now)
    waits = []
    for _ in range(10):
        pace.note_messages()
        now += RECENT_SECONDS * 0.9
        waits.append(pace.next_wait())

    assert waits == [GATHERED] * 10
