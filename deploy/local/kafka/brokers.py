"""Brokers of a Kafka cluster that do not answer, whatever the others say of them.

Without a quorum of controllers the metadata of the brokers that are left is old: it names leaders
that are gone. A broker that is frozen still accepts connections.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiokafka.conn import AIOKafkaConnection, collect_hosts, create_conn
from aiokafka.errors import KafkaConnectionError, KafkaError

from schemas.runtime.kafka_access import client_arguments
from schemas.runtime.settings import Settings

ANSWER_MS = 1_500
"""Within which a broker has to answer."""

Address = tuple[str, int]


@asynccontextmanager
async def any_broker(settings: Settings) -> AsyncIterator[AIOKafkaConnection]:
    """A connection to a broker that answers; KafkaConnectionError when none does.

    Clients send each request to some broker by chance, whether it answers or not.
    """
    for host, port, _family in collect_hosts(client_arguments(settings)["bootstrap_servers"]):
        if (connection := await _connected(settings, host, port)) is not None:
            try:
                yield connection
            finally:
                connection.close()
            return
    raise KafkaConnectionError("no broker answers")


async def silent_brokers(settings: Settings, brokers: Mapping[int, Address]) -> frozenset[int]:
    """The brokers, by number, of which none of our clients would get an answer."""
    answers = await asyncio.gather(*(_answers(settings, *each) for each in brokers.values()))
    return frozenset(
        number for number, answered in zip(brokers, answers, strict=True) if not answered
    )


async def _answers(settings: Settings, host: str, port: int) -> bool:
    if (connection := await _connected(settings, host, port)) is None:
        return False
    connection.close()
    return True


async def _connected(settings: Settings, host: str, port: int) -> AIOKafkaConnection | None:
    arguments = client_arguments(settings)
    del arguments["bootstrap_servers"]
    try:
        return await create_conn(host, port, request_timeout_ms=ANSWER_MS, **arguments)
    except (KafkaError, OSError, TimeoutError):
        return None
