"""Messages that wait to be stored: bounded by bytes, and fair by topic partition."""

import asyncio
from collections.abc import Sequence

from msgspec import structs

from stream.consumer.fetch_budget import FetchBudget
from stream.consumer.message_queue import (
    MANY_ITEMS,
    MESSAGE_OVERHEAD_BYTES,
    BatchLimits,
    MessageQueue,
)
from stream.rows.kafka_message import KafkaMessage
from tests.stream.builders import a_message

SMALL = 10
FULL = 4 * (SMALL + MESSAGE_OVERHEAD_BYTES)
"""Memory of four small messages."""
LARGE = FULL * 6 // 10 - MESSAGE_OVERHEAD_BYTES
"""Two of these are more than a batch."""
SIZE = BatchLimits(bytes=FULL, items=1000, seconds=1.0)


def a_queue(*messages: KafkaMessage, generation: int = 1) -> MessageQueue:
    queue = MessageQueue(SIZE)
    for message in messages:
        queue.add(message, generation)
    return queue


def message(partition: int, offset: int, size: int = SMALL, items: int = 1) -> KafkaMessage:
    return structs.replace(a_message(offset, partition=partition), size=size, items=items)


def places(taken: Sequence[KafkaMessage]) -> list[tuple[int, int]]:
    return [(m.partition, m.offset) for m in taken]


def test_a_flooded_partition_delays_the_others_by_one_batch_at_most() -> None:
    flood = [message(0, offset) for offset in range(100)]

    queue = a_queue(*flood, message(1, 7), message(2, 8))

    assert places(queue.take(1)) == [(0, 0), (1, 7), (2, 8), (0, 1)]
    assert places(queue.take(1)) == [(0, 2), (0, 3), (0, 4), (0, 5)]


def test_requests_of_500_items_take_no_more_than_their_share_of_a_batch() -> None:
    flood = [message(0, offset, items=500) for offset in range(4)]
    single = [message(1, offset) for offset in range(2)]

    queue = a_queue(*flood, *single)

    assert places(queue.take(1)) == [(0, 0), (1, 0), (1, 1), (0, 1)]  # 1,002 items: full
    assert places(queue.take(1)) == [(0, 2), (0, 3)]


def test_a_partition_without_a_turn_is_first_in_the_next_batch() -> None:
    queue = a_queue(*[message(partition, n, LARGE) for partition in range(4) for n in (0, 1)])

    assert places(queue.take(1)) == [(0, 0), (1, 0)]
    assert places(queue.take(1)) == [(2, 0), (3, 0)]
    assert sorted(places(queue.take(1))) == [(0, 1), (1, 1)]


def test_a_batch_is_full_by_bytes_with_their_overhead_or_by_items() -> None:
    assert not a_queue(message(0, 0, FULL - MESSAGE_OVERHEAD_BYTES - 1)).batch_ready.is_set()
    assert a_queue(message(0, 0, FULL - MESSAGE_OVERHEAD_BYTES)).batch_ready.is_set()
    assert not a_queue(*[message(0, offset) for offset in range(3)]).batch_ready.is_set()
    assert a_queue(*[message(0, offset) for offset in range(4)]).batch_ready.is_set()
    assert a_queue(message(0, 0, items=1000)).batch_ready.is_set()

    queue = a_queue(message(0, 0, LARGE), message(0, 1, LARGE), message(0, 2, LARGE))
    assert places(queue.take(1)) == [(0, 0), (0, 1)]
    assert (queue.messages, queue.batch_ready.is_set()) == (1, False)


def test_many_small_messages_are_one_batch() -> None:
    queue = MessageQueue(BatchLimits(bytes=16 << 20, items=20_000, seconds=1.0))
    for offset in range(4_000):
        queue.add(message(offset % 8, offset // 8), 1)

    assert not queue.batch_ready.is_set()
    assert len(queue.take(1)) == 4_000


def test_a_batch_of_many_items_does_not_wait_for_the_whole_time() -> None:
    async def due(items: int, seconds: float) -> bool:
        queue = MessageQueue(BatchLimits(bytes=16 << 20, items=20_000, seconds=seconds))
        waiting = asyncio.create_task(queue.wait())
        await asyncio.sleep(0)
        queue.add(message(0, 0, items=items), 1)
        return await asyncio.wait_for(waiting, 60.0)

    assert asyncio.run(due(MANY_ITEMS, 0.1))
    assert not asyncio.run(due(MANY_ITEMS - 1, 0.1))
    assert asyncio.run(due(20_000, 3600.0))


def test_messages_fetched_for_an_earlier_assignment_are_discarded() -> None:
    queue = a_queue(message(0, 0), message(1, 5), generation=1)

    assert a_queue(message(0, 0), generation=1).take(2) == []
    queue.add(message(1, 3), 2)
    assert places(queue.take(2)) == [(1, 3)]


def test_a_partition_of_large_messages_is_bounded_and_does_not_block_others() -> None:
    budget = FetchBudget(total=1000, minimum=100)

    budget.fetched("flood", [(0, 600), (1, 600)])
    assert not budget.allows("flood")
    assert budget.allows("other")
    budget.fetched("other", [(7, 100)])
    assert not budget.allows("other")

    budget.stored({"flood": 1})
    assert (budget.bytes, budget.allows("flood"), budget.allows("other")) == (700, True, True)


def test_the_budget_is_empty_after_a_seek() -> None:
    budget = FetchBudget(total=1000, minimum=100)
    budget.fetched("a", [(5, 2000)])

    budget.clear()
    budget.stored({"a": 9, "b": 3})
    assert (budget.bytes, budget.allows("a")) == (0, True)


def test_waiting_for_the_budget_ends_when_something_is_stored() -> None:
    budget = FetchBudget(total=1000, minimum=100)
    budget.fetched("a", [(5, 2000)])

    async def waiting() -> bool:
        room = asyncio.create_task(budget.room(30.0))
        await asyncio.sleep(0)
        assert not room.done()
        budget.stored({"a": 6})
        await asyncio.wait_for(room, 5.0)
        return budget.allows("a")

    assert asyncio.run(waiting())
